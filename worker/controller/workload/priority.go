package workload

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/workload"
)

// classOf is the WorkloadPriorityClass whose value the Workload's priority follows; empty for none. The value of a pod
// PriorityClass cannot change, and the priority of a copy from a hub is the hub's to say.
func classOf(wl *kueue.Workload) string {
	ref := wl.Spec.PriorityClassRef
	if ref == nil || ref.Kind != kueue.WorkloadPriorityClassKind || workload.IsCopy(wl) {
		return ""
	}
	return ref.Name
}

// classPriority returns the value of the Workload's class; nil without class, or when it does not exist any more.
func (r *Reconciler) classPriority(ctx context.Context, wl *kueue.Workload) (*int32, error) {
	name := classOf(wl)
	if name == "" {
		return nil, nil
	}
	class := &kueue.WorkloadPriorityClass{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, class); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read WorkloadPriorityClass %s: %w", name, err)
	}
	return &class.Value, nil
}

// changesValue passes what can change the priority of a Workload.
func changesValue() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			was, ok := e.ObjectOld.(*kueue.WorkloadPriorityClass)
			is, ok2 := e.ObjectNew.(*kueue.WorkloadPriorityClass)
			return !ok || !ok2 || was.Value != is.Value
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// ofClass lists the Workloads, waiting or running, that follow the value of a class.
func (r *Reconciler) ofClass(ctx context.Context, class client.Object) []reconcile.Request {
	list := &kueue.WorkloadList{}
	err := r.Client.List(ctx, list, client.MatchingFields{byClass: class.GetName()}, client.UnsafeDisableDeepCopy)
	return r.requests(ctx, list, err, func(*kueue.Workload) bool { return true })
}
