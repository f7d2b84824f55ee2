package memory

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Server is one API server. Its methods may be called at any time and from any goroutine.
type Server struct {
	// Name of the cluster.
	Name string

	http      *httptest.Server
	resources []*collection
	versions  atomic.Uint64
	latency   atomic.Int64
	codecs    serializer.CodecFactory
	over      chan struct{}
	intercept atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]

	mu       sync.Mutex
	requests map[Request]int
	follow   []func(Change)
}

// Request is a kind of request. Reads by watch count as watch, or as list if they begin with all there is.
type Request struct {
	// User is the bearer of a kubeconfig made for that name.
	User string
	// Verb is get, list, watch, create, update, patch or delete; Resource "<resource>[/<subresource>][.<group>]".
	Verb, Resource string
	// Selector is the label selector of a list, as it was asked for; empty for other verbs.
	Selector string
	// Failed marks answers with a status of 400 or above.
	Failed bool
}

// Start starts a server for the resources on a loopback port of its own. If it serves namespaces, kube-system is there, by whose UID
// a cluster is known.
func Start(name string, resources ...Resource) *Server {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		panic(err) // client-go's own types
	}
	s := &Server{Name: name, codecs: serializer.NewCodecFactory(scheme), requests: map[Request]int{}, over: make(chan struct{})}
	for _, r := range resources {
		s.resources = append(s.resources, newCollection(r, &s.versions))
	}
	s.establish()
	s.http = httptest.NewUnstartedServer(s)
	s.http.EnableHTTP2 = true
	s.http.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that leave in the middle of a handshake
	s.http.StartTLS()
	return s
}

// establish makes what every API server has.
func (s *Server) establish() {
	for _, c := range s.resources {
		if c.Plural != "namespaces" {
			continue
		}
		if err := s.Put(c.Plural, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem}}); err != nil {
			panic(err) // the first object of a server that nobody knows yet
		}
	}
}

// Addr is where it listens, "127.0.0.1:port".
func (s *Server) Addr() string { return s.http.Listener.Addr().String() }

// Stop ends the server and all watches.
func (s *Server) Stop() {
	close(s.over)
	s.http.CloseClientConnections()
	s.http.Close()
}

// SetLatency makes every request but watches wait so long before it is served.
func (s *Server) SetLatency(d time.Duration) { s.latency.Store(int64(d)) }

// Intercept has requests answered by a function, which returns false for those that the server is to serve. They are not
// counted.
func (s *Server) Intercept(answer func(http.ResponseWriter, *http.Request) bool) {
	s.intercept.Store(&answer)
}

// Kubeconfig is one by which the server knows its bearer as the user. An address, if not empty, is where the server is found.
func (s *Server) Kubeconfig(user, address string) ([]byte, error) {
	if address == "" {
		address = s.Addr()
	}
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw})
	config := clientcmdapi.NewConfig()
	config.Clusters[s.Name] = &clientcmdapi.Cluster{Server: "https://" + address, CertificateAuthorityData: authority}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: user}
	config.Contexts[s.Name] = &clientcmdapi.Context{Cluster: s.Name, AuthInfo: user}
	config.CurrentContext = s.Name
	data, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig of %s: %w", s.Name, err)
	}
	return data, nil
}

// Requests are how often each kind of request was made. Leases are left out: they measure time, not work.
func (s *Server) Requests() map[Request]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.requests)
}

// Subscribe has every change told, in order for each resource, after it was made and before its writer is answered. The function
// must not block and must not write.
func (s *Server) Subscribe(tell func(Change)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow = append(s.follow, tell)
	for _, c := range s.resources {
		c.tell = s.notifySubscribers
	}
}

func (s *Server) notifySubscribers(c Change) {
	s.mu.Lock()
	followers := s.follow
	s.mu.Unlock()
	for _, tell := range followers {
		tell(c)
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if answer := s.intercept.Load(); answer != nil && (*answer)(w, r) {
		return
	}
	user := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if s.discovery(w, r.URL.Path) {
		return
	}
	call, err := s.parse(r)
	if err != nil {
		writeError(w, err)
		return
	}
	if call.verb != verbWatch && !s.pause(r.Context()) {
		return
	}
	err = s.serve(w, r, call)
	s.count(user, call, err != nil)
	if err != nil {
		writeError(w, err)
	}
}

// pause lets the latency pass; false if the caller has gone.
func (s *Server) pause(ctx context.Context) bool {
	d := time.Duration(s.latency.Load())
	if d == 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-s.over:
	}
	return false
}

func (s *Server) count(user string, c request, failed bool) {
	if c.of.Group == "coordination.k8s.io" {
		return
	}
	verb, resource := c.verb, c.of.Plural
	if c.sub != "" {
		resource += "/" + c.sub
	}
	if c.of.Group != "" {
		resource += "." + c.of.Group
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	request := Request{User: user, Verb: verb, Resource: resource, Failed: failed}
	if verb == verbList {
		request.Selector = c.query.Get("labelSelector")
	}
	s.requests[request]++
}
