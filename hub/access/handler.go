package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// Config is what a Handler needs.
type Config struct {
	// Reader reads the program's cache of Workloads (by the indexes of the dispatcher), MultiKueueClusters, and Secrets of Namespace. Live
	// reads the API server.
	Reader, Live client.Reader
	// Namespace is that of the hub's program.
	Namespace string
	// Origin is the hub's multiKueue.origin.
	Origin string
	// Jobs are the kinds of job that the hub dispatches; Declared, optional, returns those that JobKinds declare.
	Jobs     []schema.GroupVersionKind
	Declared func() []schema.GroupVersionKind
	// Authorizer says what callers may do on the hub: see NewAuthorizer.
	Authorizer authorizer.Authorizer
	// Version is the version that the hub's API server says.
	Version func() (*version.Info, error)
	// Recorder records an event on a job whenever somebody connects to one of its containers.
	Recorder events.EventRecorder
	Log      logr.Logger
	Clock    clock.WithTicker
}

// Handler answers requests for what is below proxy. It is safe for concurrent use.
type Handler struct {
	clusters   *clusters
	placement  placement
	kinds      *kinds
	authorizer authorizer.Authorizer
	limits     *limits
	live       client.Reader
	origin     string
	version    func() (*version.Info, error)
	recorder   events.EventRecorder
	log        logr.Logger
	clock      clock.WithTicker

	mu  sync.Mutex
	uid types.UID
}

// NewHandler returns the Handler of a hub.
func NewHandler(c Config) *Handler {
	return &Handler{
		clusters: &clusters{
			reader: c.Reader, namespace: c.Namespace, memory: semaphore.NewWeighted(maxAnswers), known: map[string]*worker{},
		},
		placement: placement{c.Reader}, kinds: newKinds(c.Jobs, c.Declared), authorizer: c.Authorizer,
		limits: newLimits(), live: c.Live, origin: c.Origin, version: c.Version, recorder: c.Recorder, log: c.Log, clock: c.Clock,
	}
}

// newKinds returns the kinds of a hub. Pods are found on any worker, also those that are jobs themselves.
func newKinds(jobs []schema.GroupVersionKind, declared func() []schema.GroupVersionKind) *kinds {
	others := slices.DeleteFunc(slices.Clone(jobs), func(kind schema.GroupVersionKind) bool { return kind == podKind })
	return &kinds{jobs: others, owners: betweenKinds(), declared: declared}
}

// betweenKinds are the kinds that stand between a job and its pods and may be no jobs themselves, pods and copies included.
func betweenKinds() []schema.GroupVersionKind {
	apps := schema.GroupVersion{Group: "apps", Version: "v1"}
	return []schema.GroupVersionKind{
		podKind, copyKind, apps.WithKind("ReplicaSet"), apps.WithKind("Deployment"), apps.WithKind("StatefulSet"),
		{Group: "batch", Version: "v1", Kind: "Job"},
		{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"},
		{Group: "ray.io", Version: "v1", Kind: "RayCluster"},
		{Group: "leaderworkerset.x-k8s.io", Version: "v1", Kind: "LeaderWorkerSet"},
	}
}

// errNoUser says that nobody has told who the caller is.
var errNoUser = errors.New("the caller is not known")

// serve answers a request for what is below proxy of a cluster, or of all.
func (h *Handler) serve(w http.ResponseWriter, req *http.Request, cluster, below string) {
	began := h.clock.Now()
	r, err := parseRequest(req.Method, below, req.URL.RawQuery, h.kinds)
	who, known := genericrequest.UserFrom(req.Context())
	switch {
	case err != nil:
	case !known:
		err = errNoUser
	default:
		err = h.answer(w, req, r, who, cluster, began)
	}
	if err != nil {
		writeError(w, err)
	}
}

// answer answers a request that was understood.
func (h *Handler) answer(w http.ResponseWriter, req *http.Request, r request, who user.Info, cluster string, began time.Time) error {
	switch r.target {
	case targetDiscovery:
		return h.discover(w, r.path)
	case targetReview:
		return h.answerReview(w, req, who)
	case targetObjects, targetLog, targetConnect:
	}
	ctx := req.Context()
	if err := h.authorize(ctx, r, who); err != nil {
		h.audit(r, who, req, nil, began, err)
		return err
	}
	if r.target == targetObjects && r.verb != "watch" {
		if r.name != "" {
			return h.get(ctx, w, req, r, cluster)
		}
		return h.list(ctx, w, req, r, cluster)
	}
	leave, err := h.limits.streams.enter(who.GetName())
	if err != nil {
		return err
	}
	defer leave()
	if r.verb == "watch" {
		return h.watch(ctx, w, req, r, cluster)
	}
	at, err := h.locate(ctx, request{target: r.target, resource: r.resource, namespace: r.namespace, name: r.name}, cluster)
	if err == nil && r.target == targetConnect && at.worker.level == workeraccess.LevelLogs {
		err = newStatus(http.StatusForbidden, metav1.StatusReasonForbidden, fmt.Sprintf(
			"the hub's account on cluster %q may read logs, and not connect to containers; an administrator of both clusters can grant it: "+
				"switchctl cluster register %s --access exec", at.worker.name, at.worker.name))
	}
	if r.target == targetConnect || err != nil {
		h.audit(r, who, req, at, began, err)
	}
	if err != nil {
		return err
	}
	if r.target == targetConnect {
		h.recordEvent(ctx, r, who, at)
	}
	return h.stream(w, req, r, at)
}

// get answers with one object.
func (h *Handler) get(ctx context.Context, w http.ResponseWriter, req *http.Request, r request, cluster string) error {
	accept, ok := negotiate(req.Header.Get("Accept"), false)
	if !ok {
		return notAcceptable()
	}
	found, err := h.locate(ctx, r, cluster)
	if err != nil {
		return err
	}
	query, err := selection(r, req.URL.Query())
	if err != nil {
		return err
	}
	raw, release, err := found.worker.fetch(ctx, found.worker.url(query, resourceParts(r.resource, r.namespace, r.name)...), accept, maxObject)
	if err != nil {
		return err
	}
	defer release()
	meta, err := metadataOf(raw)
	if err != nil {
		return found.worker.garbled(err)
	}
	if meta.UID != found.uid { // another has taken its place
		return missing(r, []string{found.worker.name})
	}
	if isTable(raw) {
		if raw, err = addClusterToTable(raw, found.worker.name); err != nil {
			return found.worker.garbled(err)
		}
	}
	w.Header().Set("Content-Type", acceptJSON)
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(raw) // the caller may have left
	return nil
}

// identity is how copies are known for this hub's.
func (h *Handler) identity(ctx context.Context) (hubIdentity, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.uid == "" {
		system := &corev1.Namespace{}
		if err := h.live.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, system); err != nil {
			return hubIdentity{}, fmt.Errorf("find out which hub this is: %w", err)
		}
		h.uid = system.UID
	}
	return hubIdentity{origin: h.origin, uid: h.uid}, nil
}

// servedVersion is the version of a resource that is served.
func (h *Handler) servedVersion(resource schema.GroupResource) string {
	for _, kind := range h.kinds.jobKinds() {
		if plural(kind).GroupResource() == resource {
			return kind.Version
		}
	}
	return "v1"
}

// workload returns the hub's Workload; nil if it is gone.
func (h *Handler) workload(ctx context.Context, key types.NamespacedName) *kueue.Workload {
	wl := &kueue.Workload{}
	if err := h.placement.reader.Get(ctx, key, wl); err != nil {
		return nil
	}
	return wl
}
