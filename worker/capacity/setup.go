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
		r.trackSource(r.view.ClusterQueueRequests(), func(name types.NamespacedName) { r.changed.clusterQueues[name.Name] = true }),
		r.trackSource(r.view.LocalQueueRequests(), func(name types.NamespacedName) { r.changed.localQueues[name] = true }),
		r.trackSource(r.view.FlavorRequests(), func(types.NamespacedName) {}), // Flavors are read anew for each report.
	}
}

// trackSource notes what a source tells of, and has it all end in one request: there is but one report.
func (r *Reconciler) trackSource(of source.Source, note func(types.NamespacedName)) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		return of.Start(ctx, singleRequestQueue{TypedRateLimitingInterface: queue, onName: func(name types.NamespacedName) {
			r.mu.Lock()
			defer r.mu.Unlock()
			note(name)
		}})
	})
}

// singleRequestQueue is a queue that notes every name and adds but one.
type singleRequestQueue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	onName func(types.NamespacedName)
}

// firstChangeDelay is how long the first change waits for those that come with it: a flavor and its queues are made one after
// the other, and a report without the last of them would stand for an Interval.
const firstChangeDelay = 100 * time.Millisecond

// Add records the name before the request is made, so that the handler of the request finds it.
func (f singleRequestQueue) Add(request reconcile.Request) {
	f.onName(request.NamespacedName)
	f.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Name: switchyard.CapacityReportName}}, firstChangeDelay)
}
