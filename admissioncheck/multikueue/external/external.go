// Package external reads the hub's jobs of kinds that only the dispatcher knows. The hub may not serve such a kind, or its account may not list
// it; nothing else waits for it then.
package external

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
	// FirstListTimeout is how long reads wait for the first list of a kind, counted from the first one; afterwards they fail at once.
	FirstListTimeout = 2 * time.Second
	// kindPollInterval is the longest time between two looks for a kind that is not served.
	kindPollInterval = 10 * time.Second
	// syncPollInterval is how often to look whether the first list is there.
	syncPollInterval = 10 * time.Millisecond
)

// Cache is the hub's sight of the jobs of an external kind. Each has a cache of its own: the hub may not serve such a kind, or
// its account may not list it, and then neither the controllers, which wait for all of the manager's cache, nor Workloads of
// other kinds may wait with it.
type Cache struct {
	kind  job.Integration
	cache cache.Cache

	mu          sync.Mutex
	firstReadAt time.Time // when a read first met a cache without a list
}

// Caches are the caches of the external kinds.
type Caches map[schema.GroupVersionKind]*Cache

// NewCaches returns a cache for each of the external kinds among the given ones, added to the manager.
func NewCaches(mgr ctrl.Manager, kinds []job.Integration) (Caches, error) {
	list := Caches{}
	for _, kind := range kinds {
		if !job.IsExternal(kind) {
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
		list[kind.GVK()] = &Cache{kind: kind, cache: own}
	}
	return list, nil
}

// hasSynced tells whether all jobs of the kind are seen. An error says that the hub does not serve the kind.
func (o *Cache) hasSynced(ctx context.Context) (bool, error) {
	informer, err := o.cache.GetInformer(ctx, o.kind.New(), cache.BlockUntilSynced(false))
	if err != nil {
		return false, err
	}
	return informer.HasSynced(), nil
}

// Get reads a job, and waits for the first list only while the program has just started.
func (o *Cache) Get(ctx context.Context, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
	for {
		isClear, err := o.hasSynced(ctx)
		if err != nil {
			return err
		}
		if isClear {
			return o.cache.Get(ctx, key, obj, options...)
		}
		if time.Since(o.markFirstRead()) > FirstListTimeout {
			return o.unsyncedError()
		}
		select {
		case <-ctx.Done():
			return o.unsyncedError()
		case <-time.After(syncPollInterval):
		}
	}
}

func (o *Cache) markFirstRead() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.firstReadAt.IsZero() {
		o.firstReadAt = time.Now()
	}
	return o.firstReadAt
}

func (o *Cache) unsyncedError() error {
	return fmt.Errorf("the hub cannot see %s: its account may not list and watch them, or its API server does not answer", o.kind.GVK().GroupKind())
}

// Client reads jobs of external kinds from their caches, and everything else as before.
type Client struct {
	client.Client
	Caches Caches
}

// Get implements client.Reader.
func (c Client) Get(ctx context.Context, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		if o := c.Caches[u.GroupVersionKind()]; o != nil {
			return o.Get(ctx, key, u, options...)
		}
	}
	return c.Client.Get(ctx, key, obj, options...)
}

// Watch feeds a controller with the jobs of an external kind. It begins once the jobs are seen.
type Watch struct {
	Controller ctrlcontroller.Controller
	Cache      *Cache
	// MapFunc returns what to reconcile for a job.
	MapFunc handler.MapFunc
	// Predicate selects the events; late says that the jobs came into sight after reads of them had failed.
	Predicate func(late bool) predicate.Predicate
}

var _ manager.LeaderElectionRunnable = (*Watch)(nil)

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (w *Watch) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable. If the jobs come into sight late, their Workloads were tried in vain and are looked at
// again.
func (w *Watch) Start(ctx context.Context) error {
	began := time.Now()
	if !w.waitForSync(ctx) {
		return nil
	}
	return w.Controller.Watch(source.Kind(w.Cache.cache, w.Cache.kind.New(), handler.EnqueueRequestsFromMapFunc(w.MapFunc),
		w.Predicate(time.Since(began) > FirstListTimeout)))
}

// waitForSync returns when the jobs are seen; false if ctx ends first. It says once why it has to wait for long.
func (w *Watch) waitForSync(ctx context.Context) bool {
	logger, pause := ctrl.LoggerFrom(ctx).WithValues("kind", w.Cache.kind.GVK()), syncPollInterval
	for told := false; ; {
		isClear, err := w.Cache.hasSynced(ctx)
		if isClear {
			return true
		}
		if pause *= 2; pause > FirstListTimeout && !told {
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
