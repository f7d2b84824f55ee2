package capacity

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// Setup adds the controller to the manager; only the leader publishes.
func (r *Reconciler) Setup(mgr ctrl.Manager) error {
	b := ctrl.NewControllerManagedBy(mgr).Named("capacity")
	for _, s := range r.sources() {
		b = b.WatchesRawSource(s)
	}
	if err := b.Complete(r); err != nil {
		return fmt.Errorf("set up the capacity controller: %w", err)
	}
	return nil
}

// sources tell of all that the report is about.
func (r *Reconciler) sources() []source.Source {
	return []source.Source{
		r.follow(r.view.ClusterQueues(), func(name types.NamespacedName) { r.changed.queues[name.Name] = true }),
		r.follow(r.view.LocalQueues(), func(name types.NamespacedName) { r.changed.locals[name] = true }),
		r.follow(r.view.Flavors(), func(types.NamespacedName) {}), // Flavors are read anew for each report.
	}
}

// follow notes what a source tells of, and has it all end in one request: there is but one report.
func (r *Reconciler) follow(of source.Source, note func(types.NamespacedName)) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		return of.Start(ctx, funnel{TypedRateLimitingInterface: queue, note: func(name types.NamespacedName) {
			r.mu.Lock()
			defer r.mu.Unlock()
			note(name)
		}})
	})
}

// funnel is a queue that notes every name and adds but one.
type funnel struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	note func(types.NamespacedName)
}

// settling is how long the first news waits for those that come with it: who makes a flavor and its queues makes them one after
// the other, and a report without the last of them would stand for an Interval.
const settling = 100 * time.Millisecond

// Add notes the name before the request is made, so that whoever handles the request finds it.
func (f funnel) Add(request reconcile.Request) {
	f.note(request.NamespacedName)
	f.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Name: switchyard.CapacityReportName}}, settling)
}
