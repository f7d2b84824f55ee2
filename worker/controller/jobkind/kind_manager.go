package jobkind

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// kindManager is the program's manager as the reconciler of one kind sees it. What is added to it runs until the kind is stopped; objects
// without a Go type, which are jobs of the kind, are in a cache of the kind's own; and what it leaves in the shared cache is taken out
// when it stops.
type kindManager struct {
	ctrl.Manager
	cache *kindCache
	run   func(manager.Runnable)
}

// Add implements manager.Manager.
func (m *kindManager) Add(r manager.Runnable) error {
	m.run(r)
	return nil
}

// GetClient implements cluster.Cluster.
func (m *kindManager) GetClient() client.Client {
	return kindClient{Client: m.Manager.GetClient(), cache: m.cache}
}

// GetCache implements cluster.Cluster.
func (m *kindManager) GetCache() cache.Cache { return m.cache }

// GetFieldIndexer implements cluster.Cluster.
func (m *kindManager) GetFieldIndexer() client.FieldIndexer { return m.cache }

// kindCache has jobs of one kind in a cache of its own, and everything else in the shared one.
type kindCache struct {
	cache.Cache // the shared one
	own         cache.Cache
	indexes     *sharedIndexes

	mu      sync.Mutex
	closed  bool
	removes []func() error
}

// cacheOf returns the cache that has the objects.
func (c *kindCache) cacheOf(obj runtime.Object) cache.Cache {
	if _, ok := obj.(runtime.Unstructured); ok {
		return c.own
	}
	return c.Cache
}

// Get implements client.Reader.
func (c *kindCache) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return c.cacheOf(obj).Get(ctx, key, obj, opts...)
}

// List implements client.Reader.
func (c *kindCache) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return c.cacheOf(list).List(ctx, list, opts...)
}

// IndexField implements client.FieldIndexer. An index of the shared cache stays when the kind stops, and serves it when it starts again.
func (c *kindCache) IndexField(ctx context.Context, obj client.Object, field string, values client.IndexerFunc) error {
	if at := c.cacheOf(obj); at != c.Cache {
		return at.IndexField(ctx, obj, field, values)
	}
	return c.indexes.add(fmt.Sprintf("%T/%s", obj, field), func() error { return c.Cache.IndexField(ctx, obj, field, values) })
}

// GetInformer implements cache.Informers.
func (c *kindCache) GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	at := c.cacheOf(obj)
	informer, err := at.GetInformer(ctx, obj, opts...)
	if err != nil || at != c.Cache {
		return informer, err
	}
	return sharedInformer{Informer: informer, cache: c}, nil
}

// WaitForCacheSync implements cache.Informers.
func (c *kindCache) WaitForCacheSync(ctx context.Context) bool {
	return c.own.WaitForCacheSync(ctx) && c.Cache.WaitForCacheSync(ctx)
}

// keep notes how to take a handler out again. It does so at once if the kind has stopped meanwhile.
func (c *kindCache) keep(remove func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		_ = remove() // of an informer that has stopped, which the shared ones do with the program only
		return
	}
	c.removes = append(c.removes, remove)
}

// close takes all handlers out of the shared cache.
func (c *kindCache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, remove := range c.removes {
		_ = remove()
	}
	c.removes = nil
}

// sharedInformer notes the handlers that a kind adds to an informer which is not its own.
type sharedInformer struct {
	cache.Informer
	cache *kindCache
}

// AddEventHandlerWithOptions implements cache.Informer.
func (i sharedInformer) AddEventHandlerWithOptions(
	handler toolscache.ResourceEventHandler, options toolscache.HandlerOptions,
) (toolscache.ResourceEventHandlerRegistration, error) {
	registration, err := i.Informer.AddEventHandlerWithOptions(handler, options)
	if err == nil {
		i.cache.keep(func() error { return i.Informer.RemoveEventHandler(registration) })
	}
	return registration, err
}

// sharedIndexes are the indexes that kinds have added to the shared cache, each once for the life of the program. The zero value are none.
type sharedIndexes struct {
	mu    sync.Mutex
	added map[string]bool
}

// add adds an index unless it was added before.
func (s *sharedIndexes) add(name string, add func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.added[name] {
		return nil
	}
	if err := add(); err != nil {
		return err
	}
	if s.added == nil {
		s.added = map[string]bool{}
	}
	s.added[name] = true
	return nil
}
