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

// priorityClassName is the WorkloadPriorityClass whose value the Workload's priority follows; empty for none. The value of a pod
// PriorityClass cannot change, and the priority of a copy from a hub is the hub's to say.
func priorityClassName(wl *kueue.Workload) string {
	ref := wl.Spec.PriorityClassRef
	if ref == nil || ref.Kind != kueue.WorkloadPriorityClassKind || workload.IsRemoteCopy(wl) {
		return ""
	}
	return ref.Name
}

// classPriority returns the value of the Workload's class; nil without class, or when it does not exist any more.
func (r *Reconciler) classPriority(ctx context.Context, wl *kueue.Workload) (*int32, error) {
	name := priorityClassName(wl)
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

// priorityValueChanged passes what can change the priority of a Workload.
func priorityValueChanged() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			was, ok := e.ObjectOld.(*kueue.WorkloadPriorityClass)
			is, ok2 := e.ObjectNew.(*kueue.WorkloadPriorityClass)
			return !ok || !ok2 || was.Value != is.Value
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// requestsForPriorityClass lists the Workloads, waiting or running, that follow the value of a class.
func (r *Reconciler) requestsForPriorityClass(ctx context.Context, class client.Object) []reconcile.Request {
	list := &kueue.WorkloadList{}
	err := r.Client.List(ctx, list, client.MatchingFields{priorityClassIndex: class.GetName()}, client.UnsafeDisableDeepCopy)
	return r.buildRequests(ctx, list, err, func(*kueue.Workload) bool { return true })
}
