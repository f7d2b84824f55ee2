package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// workloadIndex finds Workloads in the hub's cache.
type workloadIndex struct{ client client.Reader }

// listIndexed lists the Workloads that hubworkload.ByCluster has under a value.
func (w *workloadIndex) listIndexed(value string) []types.NamespacedName {
	requests := w.listRequests(context.Background(), client.MatchingFields{hubworkload.ByCluster: value})
	keys := make([]types.NamespacedName, len(requests))
	for i := range requests {
		keys[i] = requests[i].NamespacedName
	}
	return keys
}

// listRequests lists Workloads of the hub's cache. A failure is only told: what is missed is found by the next event.
func (w *workloadIndex) listRequests(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	list := &kueue.WorkloadList{}
	if err := w.client.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		log.FromContext(ctx).Error(err, "List workloads")
		return nil
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// requestsInDispatch lists all Workloads that are being dispatched or wait for a cluster still.
func (w *workloadIndex) requestsInDispatch(ctx context.Context, _ client.Object) []reconcile.Request {
	return w.listRequests(ctx, client.MatchingFields{hubworkload.ByCluster: hubworkload.InDispatchValue})
}

// requestsForClusterQueue lists those of them that are subject to a ClusterQueue.
func (w *workloadIndex) requestsForClusterQueue(ctx context.Context, queue client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, key := range w.listInDispatch(ctx, func(wl *kueue.Workload) bool { return w.lookupClusterQueue(ctx, wl) == queue.GetName() }) {
		requests = append(requests, reconcile.Request{NamespacedName: key})
	}
	return requests
}

// listInDispatch lists those Workloads that are being dispatched or wait for a cluster still, and that are wanted.
func (w *workloadIndex) listInDispatch(ctx context.Context, wanted func(*kueue.Workload) bool) []types.NamespacedName {
	list := &kueue.WorkloadList{}
	if err := w.client.List(ctx, list, client.MatchingFields{hubworkload.ByCluster: hubworkload.InDispatchValue}, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "List workloads in dispatch")
		return nil
	}
	var keys []types.NamespacedName
	for i := range list.Items {
		if wanted(&list.Items[i]) {
			keys = append(keys, client.ObjectKeyFromObject(&list.Items[i]))
		}
	}
	return keys
}

// requestsForJob lists the Workloads of a job of the given kind.
func (w *workloadIndex) requestsForJob(kind job.Integration) func(context.Context, client.Object) []reconcile.Request {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		key := hubworkload.Owner{GVK: kind.GVK(), Name: obj.GetName()}.IndexValue()
		return w.listRequests(ctx, client.InNamespace(obj.GetNamespace()), client.MatchingFields{hubworkload.ByOwner: key})
	}
}

// requestsForSiblings lists the Workloads that wait, or may wait, for a Workload of the same owner.
func (w *workloadIndex) requestsForSiblings(ctx context.Context, obj client.Object) []reconcile.Request {
	wl, ok := obj.(*kueue.Workload)
	if !ok {
		return nil
	}
	siblings, err := hubworkload.ListSiblings(ctx, w.client, wl)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "List the workloads of an owner")
		return nil
	}
	requests := make([]reconcile.Request, 0, len(siblings))
	for i := range siblings {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&siblings[i])})
	}
	return requests
}

// lookupClusterQueue is the ClusterQueue that has given the Workload quota or, before and after that, the one that its LocalQueue points to:
// what runs is subject to a policy until it has ended, and that may be after the quota was released. Empty if there is none.
func (w *workloadIndex) lookupClusterQueue(ctx context.Context, wl *kueue.Workload) string {
	if name := reservedClusterQueue(wl); name != "" {
		return name
	}
	local := &kueue.LocalQueue{}
	key := client.ObjectKey{Namespace: wl.Namespace, Name: string(wl.Spec.QueueName)}
	if err := w.client.Get(ctx, key, local, client.UnsafeDisableDeepCopy); err != nil {
		return "" // nobody points anywhere
	}
	return string(local.Spec.ClusterQueue)
}
