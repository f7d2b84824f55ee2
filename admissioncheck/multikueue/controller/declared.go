package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/controller/jobkind"
	"switchyard.dev/worker/job"
)

// DeclaredKinds are the kinds of job that JobKinds declare, as the dispatcher knows them: they come and go while the program runs. The zero
// value knows nothing yet.
type DeclaredKinds struct {
	mu sync.Mutex
	// known tells that the JobKinds were looked at.
	known bool
	// declared are the kinds that a JobKind declares, and former those that one did since the program started.
	declared, former map[schema.GroupKind]bool
	served           map[schema.GroupKind]servedKind
	// reconciler and controller are nil before the check is set up.
	reconciler *WorkloadReconciler
	controller ctrlcontroller.Controller
}

var _ jobkind.Listener = (*DeclaredKinds)(nil)

// servedKind is a kind whose jobs are looked after on the hub.
type servedKind struct {
	kind job.Integration
	// jobs reads the hub's jobs of the kind. It must not be asked before they are listed: who asks would wait for as long as that takes.
	jobs   client.Reader
	listed *atomic.Bool
}

// attach sets what the kinds are for.
func (d *DeclaredKinds) attach(r *WorkloadReconciler, c ctrlcontroller.Controller) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reconciler, d.controller = r, c
}

// lookup returns the kind of that group and name if it is served, and the hub's jobs of it are listed.
func (d *DeclaredKinds) lookup(gk schema.GroupKind) (servedKind, bool) {
	if d == nil {
		return servedKind{}, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	is, found := d.served[gk]
	return is, found && is.listed.Load()
}

// isAwaited tells of a kind that is not served whether it may come: a JobKind declares it or did, or it is not known yet which do.
func (d *DeclaredKinds) isAwaited(gk schema.GroupKind) bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.known || d.declared[gk] || d.former[gk]
}

// list returns the kinds that are served and can be mirrored, by name.
func (d *DeclaredKinds) list() []job.Integration {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var kinds []job.Integration
	for _, is := range d.served {
		if is.kind.Mirrorable() {
			kinds = append(kinds, is.kind)
		}
	}
	slices.SortFunc(kinds, func(a, b job.Integration) int { return strings.Compare(a.Name(), b.Name()) })
	return kinds
}

// SetDeclared implements jobkind.Listener.
func (d *DeclaredKinds) SetDeclared(kinds []schema.GroupKind) {
	next := map[schema.GroupKind]bool{}
	for _, kind := range kinds {
		next[kind] = true
	}
	d.mu.Lock()
	all, before := !d.known, d.declared
	if d.former == nil {
		d.former = map[schema.GroupKind]bool{}
	}
	maps.Copy(d.former, next)
	d.known, d.declared = true, next
	d.mu.Unlock()
	if all || !maps.Equal(before, next) {
		d.requeue(func(kind schema.GroupKind) bool { return all || before[kind] != next[kind] })
	}
}

// Start implements jobkind.Listener. A kind whose JobKind does not say how its jobs run elsewhere is followed on no worker.
func (d *DeclaredKinds) Start(ctx context.Context, mgr ctrl.Manager, kind job.Integration) error {
	is := servedKind{kind, mgr.GetClient(), &atomic.Bool{}}
	r, c := d.serve(is)
	ofKind := func(other schema.GroupKind) bool { return other == kind.GVK().GroupKind() }
	if r == nil || !kind.Mirrorable() {
		is.listed.Store(true)
		d.requeue(ofKind)
		return nil
	}
	followed := jobFleetKind(kind, &JobNameLookup{Reconciler: r})
	followed.OnKnown = func() { d.requeue(ofKind) }
	r.Fleet.AddKind(followed)
	err := c.Watch(declaredSource(ctx, mgr, r.jobHubWatch(kind, true)))
	if err == nil {
		err = mgr.Add(listedAnnouncer(mgr.GetCache(), kind.New(), func() {
			is.listed.Store(true)
			d.requeue(ofKind)
		}))
	}
	if err != nil {
		d.Stop(kind.GVK())
		return fmt.Errorf("watch jobs of %s for the dispatcher: %w", kind.GVK().Kind, err)
	}
	return nil
}

// serve adds a kind, and returns what kinds are served for.
func (d *DeclaredKinds) serve(is servedKind) (*WorkloadReconciler, ctrlcontroller.Controller) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.served == nil {
		d.served = map[schema.GroupKind]servedKind{}
	}
	d.served[is.kind.GVK().GroupKind()] = is
	return d.reconciler, d.controller
}

// listedAnnouncer calls listed once the cache has all objects of a kind, and then lasts until it is stopped.
func listedAnnouncer(jobs cache.Cache, object client.Object, listed func()) manager.Runnable {
	return manager.RunnableFunc(func(ctx context.Context) error {
		informer, err := jobs.GetInformer(ctx, object)
		if err != nil {
			return fmt.Errorf("follow %T: %w", object, err)
		}
		if toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			listed()
		}
		<-ctx.Done()
		return nil
	})
}

// declaredSource feeds a controller, which goes on, with the hub's jobs of a kind until ctx ends.
func declaredSource(ctx context.Context, mgr ctrl.Manager, w hubWatch) source.Source {
	jobs := source.Kind(mgr.GetCache(), w.object, handler.EnqueueRequestsFromMapFunc(w.mapFunc), w.predicate)
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		return jobs.Start(ctx, queue)
	})
}

// Stop implements jobkind.Listener. Workloads of the kind, and what there is of them on workers, stay as they are.
func (d *DeclaredKinds) Stop(kind schema.GroupVersionKind) {
	d.mu.Lock()
	delete(d.served, kind.GroupKind())
	r := d.reconciler
	d.mu.Unlock()
	if r != nil {
		r.Fleet.RemoveKind(kind)
	}
}

// requeue has those Workloads looked at that are being dispatched or wait for a cluster, and whose jobs are of certain kinds that are not
// compiled in.
func (d *DeclaredKinds) requeue(concerns func(schema.GroupKind) bool) {
	d.mu.Lock()
	r := d.reconciler
	d.mu.Unlock()
	if r == nil {
		return
	}
	keys := r.index.listInDispatch(context.Background(), func(wl *kueue.Workload) bool {
		own, ok := hubworkload.LookupOwner(wl)
		return ok && r.Kinds.lookup(own.GVK.GroupKind()) == nil && concerns(own.GVK.GroupKind())
	})
	for _, key := range keys {
		r.Fleet.WorkloadRequests().Enqueue(key, 0)
	}
}
