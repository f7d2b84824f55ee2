package access

import (
	"bufio"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

const (
	namespace = "team"
	origin    = "multikueue"
	hubUID    = "hub-uid"
	system    = "kueue-system"
)

var jobKind = batchv1.SchemeGroupVersion.WithKind("Job")

// fakeWorker is the API server of a worker, as far as the hub asks it.
type fakeWorker struct {
	*httptest.Server

	mu      sync.Mutex
	objects map[string]map[string]any
	// requests are the headers and the query of what was proxied, paths all that was asked for.
	requests []*http.Request
	paths    []string
	// answer, if set, is asked first.
	answer func(w http.ResponseWriter, r *http.Request) bool
	events chan string
}

func newFakeWorker(tb testing.TB) *fakeWorker {
	tb.Helper()
	w := &fakeWorker{objects: map[string]map[string]any{}, events: make(chan string, 16)}
	w.Server = httptest.NewUnstartedServer(w)
	w.EnableHTTP2 = true
	w.StartTLS()
	tb.Cleanup(func() {
		w.CloseClientConnections()
		w.Close()
	})
	return w
}

// kubeconfig is that of the hub's account.
func (w *fakeWorker) kubeconfig(tb testing.TB) []byte {
	tb.Helper()
	c := clientcmdapi.NewConfig()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.Certificate().Raw})
	c.Clusters["w"] = &clientcmdapi.Cluster{Server: w.URL, CertificateAuthorityData: ca}
	c.AuthInfos["w"] = &clientcmdapi.AuthInfo{Token: "the-hubs-own"}
	c.Contexts["w"] = &clientcmdapi.Context{Cluster: "w", AuthInfo: "w"}
	c.CurrentContext = "w"
	raw, err := clientcmd.Write(*c)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

// add puts an object at the path of its resource.
func (w *fakeWorker) add(tb testing.TB, resource schema.GroupVersionResource, obj client.Object) {
	tb.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		tb.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.objects["/"+strings.Join(resourceParts(resource, obj.GetNamespace(), obj.GetName()), "/")] = fields
}

// ServeHTTP implements http.Handler.
func (w *fakeWorker) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.paths = append(w.paths, r.URL.Path)
	answer := w.answer
	w.mu.Unlock()
	if answer != nil && answer(out, r) {
		return
	}
	switch base := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]; {
	case base == "log":
		w.keep(r)
		out.Header().Set("Content-Type", "text/html")
		out.Header().Set("Set-Cookie", "a=b")
		_, _ = io.WriteString(out, "hello\n")
	case base == "exec" || base == "attach" || base == "portforward":
		w.keep(r)
		echo(out)
	case r.URL.Query().Get("watch") == "true":
		w.stream(out, r)
	default:
		w.read(out, r)
	}
}

func (w *fakeWorker) keep(r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests = append(w.requests, r.Clone(context.Background()))
}

// echo upgrades the connection, and says what it hears.
func echo(out http.ResponseWriter) {
	conn, buffered, err := http.NewResponseController(out).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
	line, _ := bufio.NewReader(buffered).ReadString('\n')
	_, _ = fmt.Fprintf(conn, "heard %s", line)
}

func (w *fakeWorker) stream(out http.ResponseWriter, r *http.Request) {
	flusher := http.NewResponseController(out)
	_ = flusher.Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case line := <-w.events:
			_, _ = io.WriteString(out, line+"\n")
			_ = flusher.Flush()
		}
	}
}

func (w *fakeWorker) read(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if obj := w.objects[r.URL.Path]; obj != nil {
		_ = json.NewEncoder(out).Encode(shape(obj, r))
		return
	}
	var names []string
	for path := range w.objects {
		if rest, ok := strings.CutPrefix(path, r.URL.Path+"/"); ok && !strings.Contains(rest, "/") {
			names = append(names, path)
		}
	}
	if len(names) == 0 && !strings.HasSuffix(r.URL.Path, "s") {
		out.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(out, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"not found","reason":"NotFound","code":404}`)
		return
	}
	slices.Sort(names)
	selector, _ := labels.Parse(r.URL.Query().Get("labelSelector"))
	items := []any{}
	for _, name := range names {
		u := unstructured.Unstructured{Object: w.objects[name]}
		if selector.Matches(labels.Set(u.GetLabels())) {
			items = append(items, w.objects[name])
		}
	}
	list := map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": "7"}, "items": items}
	if strings.Contains(r.Header.Get("Accept"), "as=Table") {
		rows := []any{}
		for _, item := range items {
			object := item
			if fields, ok := item.(map[string]any); ok && r.URL.Query().Get("includeObject") != "Object" {
				object = map[string]any{"kind": "PartialObjectMetadata", "metadata": fields["metadata"]}
			}
			rows = append(rows, map[string]any{"cells": []any{"a cell"}, "object": object})
		}
		list = map[string]any{
			"apiVersion": "meta.k8s.io/v1", "kind": "Table", "metadata": map[string]any{"resourceVersion": "7"},
			"columnDefinitions": []any{map[string]any{"name": "Name", "type": "string"}}, "rows": rows,
		}
	}
	_ = json.NewEncoder(out).Encode(list)
}

func shape(obj map[string]any, r *http.Request) any {
	if strings.Contains(r.Header.Get("Accept"), "as=Table") {
		return map[string]any{
			"apiVersion": "meta.k8s.io/v1", "kind": "Table", "columnDefinitions": []any{map[string]any{"name": "Name"}},
			"rows": []any{map[string]any{"cells": []any{"a cell"}, "object": obj}},
		}
	}
	return obj
}

// hub is a Handler with all around it.
type hub struct {
	*Handler

	client  client.Client
	workers map[string]*fakeWorker
	events  *events.FakeRecorder
	// rights are "user verb resource[/subresource] namespace".
	mu     sync.Mutex
	rights map[string]bool
}

func newHub(tb testing.TB, workers ...string) *hub {
	tb.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, kueue.AddToScheme, switchyard.AddToScheme} {
		if err := add(scheme); err != nil {
			tb.Fatal(err)
		}
	}
	h := &hub{workers: map[string]*fakeWorker{}, rights: map[string]bool{}, events: events.NewFakeRecorder(16)}
	builder := fakeclient.NewClientBuilder().WithScheme(scheme).WithIndex(&kueue.Workload{}, hubworkload.ByOwner, func(o client.Object) []string {
		return hubworkload.OwnerIndexValues(o.(*kueue.Workload))
	}).WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: hubUID}})
	h.client = builder.Build()
	for _, name := range workers {
		w := newFakeWorker(tb)
		h.workers[name] = w
		h.create(tb, &kueue.MultiKueueCluster{ObjectMeta: metav1.ObjectMeta{Name: name}})
		h.create(tb, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: workeraccess.ViewerSecretName(name), Labels: map[string]string{workeraccess.LevelLabel: string(workeraccess.LevelExec)}},
			Data:       map[string][]byte{kueue.MultiKueueConfigSecretKey: w.kubeconfig(tb)},
		})
	}
	rights := authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		resource := a.GetResource()
		if a.GetSubresource() != "" {
			resource += "/" + a.GetSubresource()
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.rights[strings.Join([]string{a.GetUser().GetName(), a.GetVerb(), resource, a.GetNamespace()}, " ")] {
			return authorizer.DecisionAllow, "", nil
		}
		return authorizer.DecisionNoOpinion, "", nil
	})
	h.Handler = NewHandler(Config{
		Reader: h.client, Live: h.client, Namespace: system, Origin: origin, Jobs: []schema.GroupVersionKind{jobKind, podKind},
		Authorizer: rights, Version: func() (*version.Info, error) { return &version.Info{GitVersion: "v1.37.0"}, nil },
		Recorder: h.events, Log: logr.Discard(), Clock: clocktesting.NewFakeClock(metav1.Now().Time),
	})
	return h
}

func (h *hub) create(tb testing.TB, obj client.Object) {
	tb.Helper()
	if err := h.client.Create(context.Background(), obj); err != nil {
		tb.Fatal(err)
	}
}

// allow gives a user a right in the namespace of the team, as "verb resource".
func (h *hub) allow(who string, rights ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, right := range rights {
		h.rights[who+" "+right+" "+namespace] = true
	}
}

// run makes a job run on a worker: the hub's Workload, the copy, the remote job and a pod of it, which is called as the job with "-0".
func (h *hub) run(tb testing.TB, name, cluster string) {
	tb.Helper()
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "job-" + name, UID: uid("workload-" + name),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: name, UID: uid("hub-job-" + name), Controller: ptr.To(true)}},
	}}
	h.create(tb, wl)
	wl.Status.ClusterName = ptr.To(cluster)
	if err := h.client.Update(context.Background(), wl); err != nil {
		tb.Fatal(err)
	}
	w := h.workers[cluster]
	job := h.remoteJob(name)
	w.add(tb, batchv1.SchemeGroupVersion.WithResource("jobs"), job)
	w.add(tb, workloadsResource, h.copyOf(name, job))
	w.add(tb, podsV1, podOf(name+"-0", job))
}

func uid(text string) types.UID { return types.UID(text) }

func (h *hub) remoteJob(name string) *batchv1.Job {
	return &batchv1.Job{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}, ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: uid("remote-job-" + name),
		Labels:      map[string]string{kueue.MultiKueueOriginLabel: origin},
		Annotations: map[string]string{switchyard.HubUIDAnnotation: hubUID, switchyard.OwnerUIDAnnotation: "workload-" + name},
	}}
}

func (h *hub) copyOf(name string, job client.Object) *kueue.Workload {
	return &kueue.Workload{TypeMeta: metav1.TypeMeta{APIVersion: kueue.GroupVersion.String(), Kind: "Workload"}, ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "job-" + name, UID: uid("copy-" + name),
		Labels:          map[string]string{kueue.MultiKueueOriginLabel: origin},
		Annotations:     map[string]string{switchyard.HubUIDAnnotation: hubUID, switchyard.OwnerUIDAnnotation: "workload-" + name},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: job.GetName(), UID: job.GetUID(), Controller: ptr.To(true)}},
	}}
}

func podOf(name string, owner client.Object) *corev1.Pod {
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: uid("pod-" + name), Labels: map[string]string{"app": "x"},
	}}
	if owner != nil {
		gvk := owner.GetObjectKind().GroupVersionKind()
		pod.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Name: owner.GetName(), UID: owner.GetUID(), Controller: ptr.To(true),
		}}
	}
	return pod
}

// server serves the Handler to one user.
func (h *hub) server(tb testing.TB, who string) *httptest.Server {
	tb.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(genericrequest.WithUser(r.Context(), &user.DefaultInfo{Name: who}))
		cluster, below, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		h.serve(w, r, cluster, below)
	}))
	tb.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// ask sends a request as a user, to all clusters, and returns status and body.
func (h *hub) ask(tb testing.TB, who, method, path string, header ...string) (int, string, http.Header) {
	tb.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, h.server(tb, who).URL+"/all"+path, http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return resp.StatusCode, string(raw), resp.Header
}

func secretOf(cluster string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: workeraccess.ViewerSecretName(cluster)}}
}

func keyOf(obj client.Object) client.ObjectKey { return client.ObjectKeyFromObject(obj) }

// bind binds the Workload of a job to another worker.
func (h *hub) bind(tb testing.TB, name, cluster string) {
	tb.Helper()
	wl := &kueue.Workload{}
	if err := h.client.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: "job-" + name}, wl); err != nil {
		tb.Fatal(err)
	}
	wl.Status.ClusterName = ptr.To(cluster)
	if err := h.client.Update(context.Background(), wl); err != nil {
		tb.Fatal(err)
	}
}

func mustParse(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		panic(err)
	}
	return u
}

func trimEmpty(parts ...string) []string {
	return slices.DeleteFunc(parts, func(part string) bool { return part == "" })
}
