package quota

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"switchyard.dev/admissioncheck/multikueue/checkconfig"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

// byClusterQueue finds LocalQueues by their ClusterQueue.
const byClusterQueue = "multikueue.clusterqueue"

// quotaBatchDelay is how long changes on workers are collected before the quotas are looked at again: their objects change with
// every admission, their quotas hardly ever.
const quotaBatchDelay = 2 * time.Second

// WithWatchedQueues adds to the kinds that a fleet follows those that quota automation needs, on every cluster and as a whole.
// Changed is told of every change.
func WithWatchedQueues(kinds []fleet.WatchedKind, changed *fleet.RequestSource) []fleet.WatchedKind {
	tell := func(client.Object) []types.NamespacedName {
		changed.Enqueue(types.NamespacedName{}, quotaBatchDelay)
		return nil
	}
	nobody := func(client.Object) (types.NamespacedName, bool) { return types.NamespacedName{}, false }
	for _, needed := range []fleet.WatchedKind{
		{
			GVK: checkconfig.ClusterQueueGVK(), AllOrigins: true, WorkloadKey: nobody, RelatedWorkloads: tell,
			New:     func() client.Object { return &kueue.ClusterQueue{} },
			NewList: func() client.ObjectList { return &kueue.ClusterQueueList{} },
		},
		{
			GVK: checkconfig.LocalQueueGVK(), AllOrigins: true, WorkloadKey: nobody, RelatedWorkloads: tell,
			New:     func() client.Object { return &kueue.LocalQueue{} },
			NewList: func() client.ObjectList { return &kueue.LocalQueueList{} },
		},
	} {
		kinds = mergeKind(kinds, needed)
	}
	return kinds
}

// mergeKind adds a kind, or makes the one that is there be followed on every cluster and tell the needed one's followers, too.
func mergeKind(kinds []fleet.WatchedKind, needed fleet.WatchedKind) []fleet.WatchedKind {
	for i := range kinds {
		if kinds[i].GVK != needed.GVK {
			continue
		}
		if here, also := needed.RelatedWorkloads, kinds[i].RelatedWorkloads; also != nil {
			needed.RelatedWorkloads = func(obj client.Object) []types.NamespacedName { return append(here(obj), also(obj)...) }
		}
		needed.IsUrgent = kinds[i].IsUrgent
		kinds[i] = needed
		return kinds
	}
	return append(kinds, needed)
}

// Setup adds the controller of quotas. Grace is how long the quota of a worker that cannot be reached still counts; requests are told of
// changes on workers, see [WithWatchedQueues].
func Setup(ctx context.Context, mgr ctrl.Manager, f *fleet.Fleet, grace time.Duration, requests *fleet.RequestSource) error {
	ofQueue := kube.TypedIndexer(func(q *kueue.LocalQueue) []string { return []string{string(q.Spec.ClusterQueue)} })
	if err := mgr.GetFieldIndexer().IndexField(ctx, &kueue.LocalQueue{}, byClusterQueue, ofQueue); err != nil {
		return fmt.Errorf("index LocalQueues by their ClusterQueue: %w", err)
	}
	r := &Reconciler{Client: mgr.GetClient(), Fleet: f, Clock: clock.RealClock{}, Grace: grace, Requests: requests}
	all := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{}}
	})
	err := ctrl.NewControllerManagedBy(mgr).
		Named("multikueue_clusterqueue").
		For(&kueue.ClusterQueue{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&kueue.LocalQueue{}, handler.EnqueueRequestsFromMapFunc(requestsForLocalQueue), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&kueue.MultiKueueConfig{}, all, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&kueue.AdmissionCheck{}, all, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&kueue.MultiKueueCluster{}, all, builder.WithPredicates(checkconfig.ClusterActiveChanged())).
		WatchesRawSource(r.Requests.Source()).
		WithOptions(kube.ControllerOptions()).
		Complete(r)
	if err != nil {
		return fmt.Errorf("controller of quotas: %w", err)
	}
	return nil
}

// requestsForLocalQueue is the ClusterQueue of a LocalQueue, which never changes.
func requestsForLocalQueue(_ context.Context, obj client.Object) []reconcile.Request {
	local, ok := obj.(*kueue.LocalQueue)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: string(local.Spec.ClusterQueue)}}}
}
