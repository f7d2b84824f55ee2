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
	byReservation = "lifecycle.reservedIn"
	byLocalQueue  = "lifecycle.localQueue"
	byTarget      = "lifecycle.clusterQueue"
	byClass       = "lifecycle.priorityClass"
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
		Watches(&kueue.LocalQueue{}, handler.EnqueueRequestsFromMapFunc(r.ofLocalQueue), builder.WithPredicates(stopsOrStarts())).
		Watches(&kueue.ClusterQueue{}, handler.EnqueueRequestsFromMapFunc(r.ofClusterQueue), builder.WithPredicates(stopsOrStarts())).
		Watches(&kueue.WorkloadPriorityClass{}, handler.EnqueueRequestsFromMapFunc(r.ofClass), builder.WithPredicates(changesValue())).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the workload controller: %w", err)
	}
	return nil
}

func addIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for _, index := range []struct {
		of    client.Object
		name  string
		value client.IndexerFunc
	}{
		{&kueue.Workload{}, byReservation, func(o client.Object) []string {
			if wl, ok := o.(*kueue.Workload); ok && wl.Status.Admission != nil && !workload.IsFinished(wl) {
				return []string{string(wl.Status.Admission.ClusterQueue)}
			}
			return nil
		}},
		{&kueue.Workload{}, byLocalQueue, func(o client.Object) []string {
			if wl, ok := o.(*kueue.Workload); ok && !workload.IsFinished(wl) {
				return []string{string(wl.Spec.QueueName)}
			}
			return nil
		}},
		{&kueue.Workload{}, byClass, func(o client.Object) []string {
			if wl, ok := o.(*kueue.Workload); ok && !workload.IsFinished(wl) && classOf(wl) != "" {
				return []string{classOf(wl)}
			}
			return nil
		}},
		{&kueue.LocalQueue{}, byTarget, func(o client.Object) []string {
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

// stopsOrStarts passes the changes of a queue that can change what becomes of a Workload that holds quota in it, or that it
// has evicted: never the counters in its status, which move with every admission.
func stopsOrStarts() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, is := standing(e.ObjectOld), standing(e.ObjectNew)
		return was.state != is.state || was.active != is.active || !equality.Semantic.DeepEqual(was.checks, is.checks)
	}}
}

type queueStanding struct {
	state  lifecycle.QueueState
	checks *kueue.AdmissionChecksStrategy
	active bool
}

func standing(queue client.Object) queueStanding {
	switch q := queue.(type) {
	case *kueue.LocalQueue:
		return queueStanding{state: localQueueState(q)}
	case *kueue.ClusterQueue:
		return queueStanding{
			state: clusterQueueState(q), checks: q.Spec.AdmissionChecksStrategy,
			active: meta.IsStatusConditionTrue(q.Status.Conditions, kueue.ClusterQueueActive),
		}
	default:
		return queueStanding{}
	}
}

// ofLocalQueue lists the Workloads of a LocalQueue that hold quota or wait for it to restart.
func (r *Reconciler) ofLocalQueue(ctx context.Context, queue client.Object) []reconcile.Request {
	list := &kueue.WorkloadList{}
	err := r.Client.List(ctx, list, client.InNamespace(queue.GetNamespace()), client.MatchingFields{byLocalQueue: queue.GetName()}, client.UnsafeDisableDeepCopy)
	return r.requests(ctx, list, err, concerned)
}

// ofClusterQueue lists the Workloads that hold quota in a ClusterQueue or wait for it to restart.
func (r *Reconciler) ofClusterQueue(ctx context.Context, queue client.Object) []reconcile.Request {
	holding := &kueue.WorkloadList{}
	err := r.Client.List(ctx, holding, client.MatchingFields{byReservation: queue.GetName()}, client.UnsafeDisableDeepCopy)
	requests := r.requests(ctx, holding, err, concerned)
	queues := &kueue.LocalQueueList{}
	if err := r.Client.List(ctx, queues, client.MatchingFields{byTarget: queue.GetName()}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "List LocalQueues of a ClusterQueue", "clusterQueue", queue.GetName())
	}
	for i := range queues.Items {
		requests = append(requests, r.ofLocalQueue(ctx, &queues.Items[i])...)
	}
	return requests
}

// concerned tells whether a Workload's fate depends on its queues.
func concerned(wl *kueue.Workload) bool {
	return wl.Status.Admission != nil || workload.IsEvicted(wl)
}

func (r *Reconciler) requests(ctx context.Context, list *kueue.WorkloadList, err error, want func(*kueue.Workload) bool) []reconcile.Request {
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
