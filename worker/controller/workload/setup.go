package workload

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/workload"
)

// Names of the cache's indexes that find the Workloads of a queue.
const (
	reservationIndex   = "lifecycle.reservedIn"
	localQueueIndex    = "lifecycle.localQueue"
	clusterQueueIndex  = "lifecycle.clusterQueue"
	priorityClassIndex = "lifecycle.priorityClass"
)

// SetupWithManager adds the controller and its indexes to the manager. Its number of workers comes from the manager's
// group kind concurrency.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	if err := addIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("workload").
		For(&kueue.Workload{}).
		Watches(&kueue.LocalQueue{}, handler.EnqueueRequestsFromMapFunc(r.requestsForLocalQueue), builder.WithPredicates(queueStateChanged())).
		Watches(&kueue.ClusterQueue{}, handler.EnqueueRequestsFromMapFunc(r.requestsForClusterQueue), builder.WithPredicates(queueStateChanged())).
		Watches(&kueue.WorkloadPriorityClass{}, handler.EnqueueRequestsFromMapFunc(r.requestsForPriorityClass), builder.WithPredicates(priorityValueChanged())).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the workload controller: %w", err)
	}
	return nil
}

// addIndexes adds the indexes by which the Workloads of a queue are found. Finished Workloads are in none.
func addIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for _, index := range []struct {
		of    client.Object
		name  string
		value client.IndexerFunc
	}{
		{&kueue.Workload{}, reservationIndex, func(o client.Object) []string {
			if wl, ok := o.(*kueue.Workload); ok && wl.Status.Admission != nil && !workload.IsFinished(wl) {
				return []string{string(wl.Status.Admission.ClusterQueue)}
			}
			return nil
		}},
		{&kueue.Workload{}, localQueueIndex, func(o client.Object) []string {
			if wl, ok := o.(*kueue.Workload); ok && !workload.IsFinished(wl) {
				return []string{string(wl.Spec.QueueName)}
			}
			return nil
		}},
		{&kueue.Workload{}, priorityClassIndex, func(o client.Object) []string {
			if wl, ok := o.(*kueue.Workload); ok && !workload.IsFinished(wl) && priorityClassName(wl) != "" {
				return []string{priorityClassName(wl)}
			}
			return nil
		}},
		{&kueue.LocalQueue{}, clusterQueueIndex, func(o client.Object) []string {
			if lq, ok := o.(*kueue.LocalQueue); ok {
				return []string{string(lq.Spec.ClusterQueue)}
			}
			return nil
		}},
	} {
		if err := indexer.IndexField(ctx, index.of, index.name, index.value); err != nil {
			return fmt.Errorf("index %T by %s: %w", index.of, index.name, err)
		}
	}
	return nil
}

// queueStateChanged passes the changes of a queue that can change what becomes of a Workload that holds quota in it, or that it
// has evicted: never the counters in its status, which move with every admission.
func queueStateChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, is := queueStateOf(e.ObjectOld), queueStateOf(e.ObjectNew)
		return was.state != is.state || was.active != is.active || !equality.Semantic.DeepEqual(was.checks, is.checks)
	}}
}

type queueState struct {
	state  lifecycle.QueueState
	checks *kueue.AdmissionChecksStrategy
	active bool
}

// queueStateOf returns the part of a queue whose change requeues its Workloads.
func queueStateOf(queue client.Object) queueState {
	switch q := queue.(type) {
	case *kueue.LocalQueue:
		return queueState{state: localQueueState(q)}
	case *kueue.ClusterQueue:
		return queueState{
			state: clusterQueueState(q), checks: q.Spec.AdmissionChecksStrategy,
			active: meta.IsStatusConditionTrue(q.Status.Conditions, kueue.ClusterQueueActive),
		}
	default:
		return queueState{}
	}
}

// requestsForLocalQueue lists the Workloads of a LocalQueue that hold quota or wait for it to restart.
func (r *Reconciler) requestsForLocalQueue(ctx context.Context, queue client.Object) []reconcile.Request {
	list := &kueue.WorkloadList{}
	err := r.Client.List(ctx, list, client.InNamespace(queue.GetNamespace()), client.MatchingFields{localQueueIndex: queue.GetName()}, client.UnsafeDisableDeepCopy)
	return r.buildRequests(ctx, list, err, dependsOnQueues)
}

// requestsForClusterQueue lists the Workloads that hold quota in a ClusterQueue or wait for it to restart.
func (r *Reconciler) requestsForClusterQueue(ctx context.Context, queue client.Object) []reconcile.Request {
	holding := &kueue.WorkloadList{}
	err := r.Client.List(ctx, holding, client.MatchingFields{reservationIndex: queue.GetName()}, client.UnsafeDisableDeepCopy)
	requests := r.buildRequests(ctx, holding, err, dependsOnQueues)
	queues := &kueue.LocalQueueList{}
	if err := r.Client.List(ctx, queues, client.MatchingFields{clusterQueueIndex: queue.GetName()}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "List LocalQueues of a ClusterQueue", "clusterQueue", queue.GetName())
	}
	for i := range queues.Items {
		requests = append(requests, r.requestsForLocalQueue(ctx, &queues.Items[i])...)
	}
	return requests
}

// dependsOnQueues tells whether a Workload's fate depends on its queues.
func dependsOnQueues(wl *kueue.Workload) bool {
	return wl.Status.Admission != nil || workload.IsEvicted(wl)
}

// buildRequests returns requests for the Workloads of a list that are wanted. An error of listing is logged, and requests
// nothing.
func (r *Reconciler) buildRequests(ctx context.Context, list *kueue.WorkloadList, err error, want func(*kueue.Workload) bool) []reconcile.Request {
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "List the Workloads of a queue")
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if want(&list.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}
