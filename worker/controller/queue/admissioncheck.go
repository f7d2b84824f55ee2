package queue

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=admissionchecks,verbs=list;watch;patch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=clusterqueues,verbs=list;watch

// checkNameIndex is the name of the index that finds the ClusterQueues that ask for a check.
const checkNameIndex = "admissioncheck.name"

// conflictDelay is how long to let the cache catch up after a conflict with another writer. Waiting for its event would not
// do: the status of a check is written by others and is no event here.
const conflictDelay = 100 * time.Millisecond

// AdmissionCheckReconciler keeps the resource-in-use finalizer of AdmissionChecks: it is there from the beginning, and goes when the
// check is being deleted and no ClusterQueue asks for it (contract: kueue-api.md 2.3).
type AdmissionCheckReconciler struct {
	Client client.Client
}

// Reconcile sets or removes the finalizer of one check.
func (r *AdmissionCheckReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	check := &kueue.AdmissionCheck{}
	if err := r.Client.Get(ctx, req.NamespacedName, check); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	used, err := r.inUse(ctx, check.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	next := check.DeepCopy()
	if needsFinalizer(check, used) {
		controllerutil.AddFinalizer(next, kueue.ResourceInUseFinalizer)
	} else {
		controllerutil.RemoveFinalizer(next, kueue.ResourceInUseFinalizer)
	}
	switch _, err := kube.Patch(ctx, r.Client, check, next); {
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: conflictDelay}, nil
	case client.IgnoreNotFound(err) != nil:
		return ctrl.Result{}, fmt.Errorf("write the finalizer of AdmissionCheck %s: %w", check.Name, err)
	}
	return ctrl.Result{}, nil
}

// needsFinalizer tells whether the finalizer must be there. To an object that is being deleted none can be added.
func needsFinalizer(check *kueue.AdmissionCheck, used bool) bool {
	if check.DeletionTimestamp.IsZero() {
		return true
	}
	return used && controllerutil.ContainsFinalizer(check, kueue.ResourceInUseFinalizer)
}

// inUse reports whether a ClusterQueue names the check: then it keeps its finalizer.
func (r *AdmissionCheckReconciler) inUse(ctx context.Context, name string) (bool, error) {
	queues := &kueue.ClusterQueueList{}
	if err := r.Client.List(ctx, queues, client.MatchingFields{checkNameIndex: name}, client.Limit(1)); err != nil {
		return false, fmt.Errorf("list the ClusterQueues that use AdmissionCheck %s: %w", name, err)
	}
	return len(queues.Items) > 0, nil
}

// SetupWithManager adds the controller and its index to the manager.
func (r *AdmissionCheckReconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	err := mgr.GetFieldIndexer().IndexField(ctx, &kueue.ClusterQueue{}, checkNameIndex, checkNames)
	if err != nil {
		return fmt.Errorf("index ClusterQueues by %s: %w", checkNameIndex, err)
	}
	err = ctrl.NewControllerManagedBy(mgr).
		Named("admissioncheck").
		For(&kueue.AdmissionCheck{}, builder.WithPredicates(predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
			return !slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers()) || !e.ObjectNew.GetDeletionTimestamp().IsZero()
		}})).
		Watches(&kueue.ClusterQueue{}, handler.EnqueueRequestsFromMapFunc(checkRequests), builder.WithPredicates(predicate.Funcs{
			CreateFunc: func(event.CreateEvent) bool { return false }, // a new user keeps what is kept anyway
			UpdateFunc: func(e event.UpdateEvent) bool { return !slices.Equal(checkNames(e.ObjectOld), checkNames(e.ObjectNew)) },
		})).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the admission check controller: %w", err)
	}
	return nil
}

// checkNames lists the checks that a ClusterQueue asks for, sorted.
func checkNames(o client.Object) []string {
	queue, ok := o.(*kueue.ClusterQueue)
	if !ok || queue.Spec.AdmissionChecksStrategy == nil {
		return nil
	}
	var names []string
	for _, rule := range queue.Spec.AdmissionChecksStrategy.AdmissionChecks {
		names = append(names, string(rule.Name))
	}
	slices.Sort(names)
	return names
}

func checkRequests(_ context.Context, o client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, name := range checkNames(o) {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Name: name}})
	}
	return requests
}
