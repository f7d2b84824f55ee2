package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"switchyard.dev/worker/job"
)

const (
	// firstListTimeout is how long reads wait for the first list of a kind, counted from the first one; afterwards they fail at once.
	firstListTimeout = 2 * time.Second
	// syncPollInterval is how often to look whether the first list is there.
	syncPollInterval = 10 * time.Millisecond
)

// externalCache is the hub's sight of the jobs of an external kind. Each has a cache of its own: the hub may not serve such a kind, or
// its account may not list it, and then neither the controllers, which wait for all of the manager's cache, nor Workloads of
// other kinds may wait with it.
type externalCache struct {
	kind  job.Integration
	cache cache.Cache

	mu          sync.Mutex
	firstReadAt time.Time // when a read first met a cache without a list
}

// isExternal tells a kind that has no Go type.
func isExternal(kind job.Integration) bool {
	_, ok := kind.New().(*unstructured.Unstructured)
	return ok
}

// supportsFencing tells whether a worker's fence can promise that jobs of a kind stop when the hub is missed. Workloads of an external
// kind it can deactivate like all others; but whether the pods go then is up to controllers that nobody here knows. No stamp is
// put on those, so that nothing counts on it: under run-once they wait for a cluster that is out of reach (fencing: none).
func supportsFencing(kind job.Integration) bool { return kind == nil || !isExternal(kind) }

// capacityReportKind is the kind's name in capacity reports; empty if they cannot have it. Of an external kind a worker's engine knows
// nothing: that its API is served there is all that can be asked for.
func capacityReportKind(kind job.Integration) string {
	if isExternal(kind) {
		return ""
	}
	gvk := kind.GVK()
	return gvk.Kind + "." + gvk.Version + "." + gvk.Group
}

// newExternalCaches returns the outlooks of the external kinds among the given ones, added to the manager.
func newExternalCaches(mgr ctrl.Manager, kinds []job.Integration) (map[schema.GroupVersionKind]*externalCache, error) {
	list := map[schema.GroupVersionKind]*externalCache{}
	for _, kind := range kinds {
		if !isExternal(kind) {
			continue
		}
		own, err := cache.New(mgr.GetConfig(), cache.Options{
			HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
			DefaultTransform: cache.TransformStripManagedFields(),
		})
		if err != nil {
			return nil, fmt.Errorf("make a cache of %s: %w", kind.GVK().Kind, err)
		}
		if err := mgr.Add(manager.RunnableFunc(own.Start)); err != nil {
			return nil, fmt.Errorf("add the cache of %s: %w", kind.GVK().Kind, err)
		}
		list[kind.GVK()] = &externalCache{kind: kind, cache: own}
	}
	return list, nil
}

// hasSynced tells whether all jobs of the kind are seen. An error says that the hub does not serve the kind.
func (o *externalCache) hasSynced(ctx context.Context) (bool, error) {
	informer, err := o.cache.GetInformer(ctx, o.kind.New(), cache.BlockUntilSynced(false))
	if err != nil {
		return false, err
	}
	return informer.HasSynced(), nil
}

// get reads a job, and waits for the first list only while the program has just started.
func (o *externalCache) get(ctx context.Context, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
	for {
		isClear, err := o.hasSynced(ctx)
		if err != nil {
			return err
		}
		if isClear {
			return o.cache.Get(ctx, key, obj, options...)
		}
		if time.Since(o.markFirstRead()) > firstListTimeout {
			return o.unsyncedError()
		}
		select {
		case <-ctx.Done():
			return o.unsyncedError()
		case <-time.After(syncPollInterval):
		}
	}
}

func (o *externalCache) markFirstRead() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.firstReadAt.IsZero() {
		o.firstReadAt = time.Now()
	}
	return o.firstReadAt
}

func (o *externalCache) unsyncedError() error {
	return fmt.Errorf("the hub cannot see %s: its account may not list and watch them, or its API server does not answer", o.kind.GVK().GroupKind())
}

// externalKindClient is a client that reads jobs of external kinds by their outlooks, and everything else as before.
type externalKindClient struct {
	client.Client
	caches map[schema.GroupVersionKind]*externalCache
}

// Get implements client.Reader.
func (c externalKindClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		if o := c.caches[u.GroupVersionKind()]; o != nil {
			return o.get(ctx, key, u, options...)
		}
	}
	return c.Client.Get(ctx, key, obj, options...)
}

// externalJobWatch is jobWatch for an external kind: it begins once the jobs are seen.
type externalJobWatch struct {
	controller    ctrlcontroller.Controller
	reconciler    *WorkloadReconciler
	externalCache *externalCache
}

var _ manager.LeaderElectionRunnable = (*externalJobWatch)(nil)

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (w *externalJobWatch) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable. If the jobs come into sight late, their Workloads were tried in vain and are looked at
// again.
func (w *externalJobWatch) Start(ctx context.Context) error {
	began := time.Now()
	if !w.waitForSync(ctx) {
		return nil
	}
	return w.controller.Watch(source.Kind(w.externalCache.cache, w.externalCache.kind.New(),
		handler.EnqueueRequestsFromMapFunc(w.reconciler.requestsForJob(w.externalCache.kind)), jobEventPredicate(time.Since(began) > firstListTimeout)))
}

// jobEventPredicate passes what jobWatch does and, if it begins late, all that is there.
func jobEventPredicate(late bool) predicate.Predicate {
	changes := predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, onlyDeletions())
	if late {
		return changes
	}
	return predicate.And(skipInitialList(), changes)
}

// waitForSync returns when the jobs are seen; false if ctx ends first. It says once why it has to wait for long.
func (w *externalJobWatch) waitForSync(ctx context.Context) bool {
	logger, pause := ctrl.LoggerFrom(ctx).WithValues("kind", w.externalCache.kind.GVK()), syncPollInterval
	for told := false; ; {
		isClear, err := w.externalCache.hasSynced(ctx)
		if isClear {
			return true
		}
		if pause *= 2; pause > firstListTimeout && !told {
			told = true
			logger.Info("Cannot see jobs of an external kind: the hub has to serve it, and its account to be allowed to list and watch it", "error", err)
		}
		pause = min(pause, kindPollInterval)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pause):
		}
	}
}
