package jobkind

import (
	"context"
	"fmt"
	"sync"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"switchyard.dev/worker/job"
	"switchyard.dev/worker/stream"
)

// managerRunner runs kinds beside the program's manager.
type managerRunner struct {
	mgr     ctrl.Manager
	options job.Options
	indexes *sharedIndexes
	// changed is called when a kind has ended by itself.
	changed func()
}

// start starts what looks after jobs of a kind. Before that it calls first, with the manager as the kind sees it.
func (r *managerRunner) start(ctx context.Context, kind job.Integration, first func(context.Context, ctrl.Manager) error) (instance, error) {
	informers, err := stream.Informers(r.mgr.GetConfig(), r.mgr.GetScheme())
	if err != nil {
		return nil, fmt.Errorf("make informers of %s: %w", kind.GVK().Kind, err)
	}
	own, err := cache.New(r.mgr.GetConfig(), cache.Options{
		HTTPClient: r.mgr.GetHTTPClient(), Scheme: r.mgr.GetScheme(), Mapper: r.mgr.GetRESTMapper(),
		DefaultTransform: cache.TransformStripManagedFields(), NewInformer: informers,
	})
	if err != nil {
		return nil, fmt.Errorf("make the cache of %s: %w", kind.GVK().Kind, err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	is := &managedInstance{cancel: cancel, changed: r.changed, shared: &kindCache{Cache: r.mgr.GetCache(), own: own, indexes: r.indexes}}
	is.run(ctx, own)
	m := &kindManager{Manager: r.mgr, cache: is.shared, run: func(what manager.Runnable) { is.run(ctx, what) }}
	err = first(ctx, m)
	if err == nil {
		err = kind.Setup(m, r.options)
	}
	if err != nil {
		is.stop()
		return nil, err
	}
	return is, nil
}

// managedInstance is what runs for one kind.
type managedInstance struct {
	cancel  context.CancelFunc
	changed func()
	shared  *kindCache
	running sync.WaitGroup

	mu  sync.Mutex
	err error
}

// run runs a part until the kind is stopped.
func (i *managedInstance) run(ctx context.Context, part manager.Runnable) {
	i.running.Go(func() {
		err := part.Start(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = fmt.Errorf("a part of it has ended: %T", part)
		}
		log.FromContext(ctx).Error(err, "A configured kind of job is not served any more")
		i.mu.Lock()
		i.err = err
		i.mu.Unlock()
		i.changed()
	})
}

// stop implements instance.
func (i *managedInstance) stop() {
	i.cancel()
	i.running.Wait()
	i.shared.close()
}

// failure implements instance.
func (i *managedInstance) failure() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.err
}
