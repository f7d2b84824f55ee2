package guard

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

const (
	// hubsAtOnce is how many hubs are looked at together, so that one with many jobs holds up no other.
	hubsAtOnce = 4
	// retryAfter and retryAtMost bound the wait after a look that failed: a job that must stop is not left alone for long.
	retryAfter, retryAtMost = 100 * time.Millisecond, 5 * time.Second
)

// Options are what a guard needs beyond its manager.
type Options struct {
	// Namespace is the program's, in which the leases are. The manager's cache must not look for leases elsewhere.
	Namespace string
	Clock     clock.WithTicker
	Registry  prometheus.Registerer
	// Takeover is how long it may take until another program leads when the leading one has died.
	Takeover time.Duration
	// Rate is how many calls a second the manager's client makes at most; zero or less if it is not limited.
	Rate float64
	// Workloads and Jobs are how many of them the controllers look at together, of the kind of job of which they are fewest.
	Workloads, Jobs int
	// Kinds are the kinds of job that are looked at for whether jobs stop when they are told to.
	Kinds *FollowedKinds
}

// Setup adds the guard to a manager: the controller and the fence's own lease.
func Setup(ctx context.Context, mgr ctrl.Manager, o Options) error {
	metrics, err := NewMetrics(o.Registry)
	if err != nil {
		return err
	}
	r := &Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder(switchyard.FenceLease),
		Clock: o.Clock, Metrics: metrics,
	}
	if err := r.SetupWithManager(ctx, mgr, o.Namespace); err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name the holder of the fence's lease: %w", err)
	}
	watch := &guaranteeTracker{
		stopEstimate: stopEstimate{Options: o, reader: mgr.GetClient()}, kinds: o.Kinds, clock: o.Clock, recorder: r.Recorder, metrics: metrics,
	}
	return mgr.Add(&LeaseHolder{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Synced: mgr.GetCache().WaitForCacheSync, Clock: o.Clock,
		Namespace: o.Namespace, Identity: host + "_" + string(uuid.NewUUID()),
		Guarantee: watch.observe,
	})
}

// SetupWithManager adds the controller and its index to the manager.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, namespace string) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &kueue.Workload{}, leaseIndex, leaseIndexValues); err != nil {
		return fmt.Errorf("index Workloads by the lease they depend on: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &kueue.Workload{}, releaseIndex, releaseIndexValues); err != nil {
		return fmt.Errorf("index Workloads that have been told to stop: %w", err)
	}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("fence").
		Watches(&coordinationv1.Lease{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(predicate.NewPredicateFuncs(isHubLease))).
		Watches(&kueue.Workload{}, handler.EnqueueRequestsFromMapFunc(dependsOn(namespace))).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: hubsAtOnce,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryAfter, retryAtMost),
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the fence: %w", err)
	}
	return nil
}

// dependsOn asks for a look at the lease that a Workload depends on.
func dependsOn(namespace string) handler.MapFunc {
	return func(_ context.Context, wl client.Object) []reconcile.Request {
		var requests []reconcile.Request
		for _, lease := range leaseNames(wl) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: lease}})
		}
		return requests
	}
}
