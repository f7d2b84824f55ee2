package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericfilters "k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	openapicommon "k8s.io/kube-openapi/pkg/common"
	ctrl "sigs.k8s.io/controller-runtime"

	"switchyard.dev/worker/listener"
	"switchyard.dev/worker/manager"
)

// CertDir is where the certificate is mounted if the program does not manage it (contract: kueue-api.md 1.17).
const CertDir = "/visibility"

// limits: API servers open a connection for each request that is under way, and for each that streams.
var limits = listener.Limits{Total: 2048, Remote: 1024}

const (
	// name is that of the server in logs and metrics.
	name = "visibility"
	// exchangeTimeout is how long a request and its answer may take, unless it is long-running.
	exchangeTimeout = time.Minute
	// maxBody is the largest body that a handler of a group decodes, in bytes.
	maxBody = 1 << 20
	// requestsInFlight are how many requests may be under way, besides long-running ones. Priority and fairness divides them.
	requestsInFlight = 200
	// resync is how often informers say again what they know.
	resync = 10 * time.Minute
)

// Group is an API group that the server serves.
type Group struct {
	*genericapiserver.APIGroupInfo
	// Definitions describe its types in OpenAPI; those of the kinds of metav1 are known.
	Definitions openapicommon.GetOpenAPIDefinitions
}

// NewGroup makes a group for a manager, whose clients and caches it may use.
type NewGroup func(context.Context, ctrl.Manager) (Group, error)

// longRunning tells requests that take as long as the client wants: watches, and those that are passed on to another server.
func longRunning() apirequest.LongRunningRequestCheck {
	return genericfilters.BasicLongRunningRequestCheck(sets.NewString("watch"), sets.NewString("proxy"))
}

// Part is the server as a part of a program; what it serves are the groups. It is none if there are no groups.
func Part(s manager.Settings, groups []NewGroup) manager.Part {
	return manager.Part{Name: "apiserver", Add: func(ctx context.Context, mgr ctrl.Manager) error {
		var made []Group
		for _, newGroup := range groups {
			group, err := newGroup(ctx, mgr)
			if err != nil {
				return err
			}
			made = append(made, group)
		}
		return add(ctx, mgr, s, made)
	}}
}

// add has the manager serve the groups.
func add(ctx context.Context, mgr ctrl.Manager, s manager.Settings, groups []Group) error {
	client, err := kubernetes.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("make the client of the API server: %w", err)
	}
	server, err := New(client, mgr.GetLogger().WithName(name), groups...)
	if err != nil {
		return err
	}
	if err := mgr.Add(server); err != nil {
		return err
	}
	return manager.SecureServer{
		Name: name, Host: s.VisibilityServer.BindAddress, Port: *s.VisibilityServer.BindPort, Limits: limits, CertDir: CertDir,
		Handler: server.Handler(),
	}.AddTo(ctx, mgr, s)
}

// Server is the API server without its port. Whoever serves its Handler passes the certificates of clients on to it.
type Server struct {
	generic    *genericapiserver.GenericAPIServer
	identities *identities
}

// New makes a server of these groups. The client is one of the cluster that is asked who clients are, and what they may do.
func New(client kubernetes.Interface, log logr.Logger, groups ...Group) (*Server, error) {
	identities, err := newIdentities(client, log)
	if err != nil {
		return nil, err
	}
	generic, err := newGeneric(client, identities, groups)
	if err != nil {
		return nil, err
	}
	return &Server{generic: generic, identities: identities}, nil
}

// Handler answers requests. Without Start it knows no front proxy and no certificates.
func (s *Server) Handler() http.Handler { return withDeadline(s.generic.Handler) }

// NeedLeaderElection is false: every replica serves.
func (*Server) NeedLeaderElection() bool { return false }

// Start does what the server does besides serving, until the context ends.
func (s *Server) Start(ctx context.Context) error {
	s.generic.RunPostStartHooks(ctx)
	s.identities.follow(ctx)
	s.generic.Destroy()
	return nil
}

// newGeneric makes the generic server and installs the groups. It listens on nothing: its handler is served as all others of the
// program are.
func newGeneric(client kubernetes.Interface, identities *identities, groups []Group) (*genericapiserver.GenericAPIServer, error) {
	c := genericapiserver.NewConfig(serializer.NewCodecFactory(Scheme()))
	authorizer, err := newAuthorizer(client)
	if err != nil {
		return nil, err
	}
	c.Authentication, c.Authorization.Authorizer = identities.info, authorizer
	watched := informers.NewSharedInformerFactory(client, resync)
	c.FlowControl = flowcontrol.New(watched, client.FlowcontrolV1(), requestsInFlight)
	c.LongRunningFunc = longRunning()
	c.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		return genericapiserver.DefaultBuildHandlerChain(withLimits(handler, c.LongRunningFunc), c)
	}
	c.RequestTimeout, c.MaxRequestBodyBytes = exchangeTimeout, maxBody
	c.EnableIndex, c.EnableProfiling, c.EnableMetrics = false, false, false
	c.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	c.ExternalAddress = "localhost:443"     // nobody asks for it: clients come by the aggregation layer's address
	c.LoopbackClientConfig = &rest.Config{} // no hook of ours calls the server
	describe(c, groups)
	server, err := c.Complete(watched).New(name, genericapiserver.NewEmptyDelegate())
	if err != nil {
		return nil, fmt.Errorf("make the API server: %w", err)
	}
	for _, group := range groups {
		if err := server.InstallAPIGroup(group.APIGroupInfo); err != nil {
			return nil, fmt.Errorf("serve the API group %s: %w", group.PrioritizedVersions[0].Group, err)
		}
	}
	server.PrepareRun()
	return server, nil
}

// Scheme has what every API server answers with, whatever its groups. A group's own scheme has these as well.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	AddToScheme(scheme)
	return scheme
}

// AddToScheme adds to the scheme of a group what every API server answers with.
func AddToScheme(scheme *runtime.Scheme) {
	unversioned := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, unversioned)
	scheme.AddUnversionedTypes(unversioned, &metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{}, &metav1.APIGroup{}, &metav1.APIResourceList{})
}
