package controller

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/workload"
)

// observeSiblings says what the other Workloads of the same owner mean for this one: an owner with several Workloads, which bear
// their indexes, has all of them on one cluster. The first chooses it, the others wait for that (contract: multikueue.md 4
// case 8): the one with the lowest index, or the first name where indexes are equal or no numbers. A sibling that has finished or is
// going has no say.
func (r *WorkloadReconciler) observeSiblings(ctx context.Context, wl *kueue.Workload, l *dispatch.Local) {
	index, component := componentIndex(wl)
	if !component {
		return
	}
	siblings, err := r.listSiblings(ctx, wl)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "List the workloads of an owner")
		l.Siblings.Awaited = true
		return
	}
	first, here := true, decodeState(wl)
	for i := range siblings {
		other := &siblings[i]
		at, _ := componentIndex(other)
		if state := decodeState(other); state.Bound != "" && !state.Retreating() && (l.Siblings.Pin == "" || state.Bound < l.Siblings.Pin) {
			l.Siblings.Pin = state.Bound
		}
		l.Siblings.Left = l.Siblings.Left || hasLeft(other, here.Bound)
		first = first && (index < at || index == at && wl.Name < other.Name)
	}
	l.Siblings.Awaited = l.Siblings.Pin == "" && !first
}

// hasLeft reports whether a Workload has been given up on a cluster.
func hasLeft(wl *kueue.Workload, cluster string) bool {
	return slices.ContainsFunc(decodeState(wl).Debts, func(d dispatch.Debt) bool { return d.Cluster == cluster })
}

// listSiblings are the other Workloads of the same owner that bear an index, have not finished and are not going. They are the
// cache's own.
func (r *WorkloadReconciler) listSiblings(ctx context.Context, wl *kueue.Workload) ([]kueue.Workload, error) {
	own, ok := lookupJobOwner(wl)
	if _, component := componentIndex(wl); !ok || !component {
		return nil, nil
	}
	list := &kueue.WorkloadList{}
	err := r.Client.List(ctx, list, client.InNamespace(wl.Namespace), client.MatchingFields{byOwner: jobOwnerKey(own)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list the workloads of %s %s: %w", own.gvk.Kind, own.name, err)
	}
	return slices.DeleteFunc(list.Items, func(other kueue.Workload) bool {
		_, component := componentIndex(&other)
		return other.Name == wl.Name || !component || !isActiveSibling(&other)
	}), nil
}

// componentIndex is a Workload's place among those of its owner; false if its owner has only one.
func componentIndex(wl *kueue.Workload) (int, bool) {
	text, ok := wl.Annotations[kueue.ComponentWorkloadIndexAnnotation]
	if !ok {
		return 0, false
	}
	index, err := strconv.Atoi(text)
	if err != nil {
		return math.MaxInt, true
	}
	return index, true
}

// requestsForSiblings lists the Workloads that wait, or may wait, for a Workload of the same owner.
func (r *WorkloadReconciler) requestsForSiblings(ctx context.Context, obj client.Object) []reconcile.Request {
	wl, ok := obj.(*kueue.Workload)
	if !ok {
		return nil
	}
	siblings, err := r.listSiblings(ctx, wl)
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

// siblingChanged passes what changes the say of one of several Workloads of an owner: which clusters it is bound to and has left, and
// that it is over, whoever has seen to that. It comes with what is in the cache, so that whoever is told sees it.
func siblingChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		DeleteFunc: func(e event.DeleteEvent) bool { return isComponent(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			was, ok := e.ObjectOld.(*kueue.Workload)
			is, okay := e.ObjectNew.(*kueue.Workload)
			if !ok || !okay || !isComponent(is) {
				return false
			}
			before, after := decodeState(was), decodeState(is)
			return before.Bound != after.Bound || !slices.EqualFunc(before.Debts, after.Debts, isSameDebtCluster) || isActiveSibling(was) != isActiveSibling(is)
		},
	}
}

func isSameDebtCluster(a, b dispatch.Debt) bool { return a.Cluster == b.Cluster }

func isComponent(obj client.Object) bool {
	_, ok := obj.GetAnnotations()[kueue.ComponentWorkloadIndexAnnotation]
	return ok
}

// isActiveSibling reports whether siblings heed a Workload: whether it is neither over nor going.
func isActiveSibling(wl *kueue.Workload) bool {
	return !workload.IsFinished(wl) && wl.DeletionTimestamp.IsZero()
}
