package hubworkload

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/workload"
)

// ListSiblings returns the other Workloads of the same owner that bear an index, have not finished and are not going. They are the
// cache's own.
func ListSiblings(ctx context.Context, c client.Reader, wl *kueue.Workload) ([]kueue.Workload, error) {
	own, ok := LookupOwner(wl)
	if _, component := ComponentIndex(wl); !ok || !component {
		return nil, nil
	}
	list := &kueue.WorkloadList{}
	err := c.List(ctx, list, client.InNamespace(wl.Namespace), client.MatchingFields{ByOwner: own.IndexValue()}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list the workloads of %s %s: %w", own.GVK.Kind, own.Name, err)
	}
	return slices.DeleteFunc(list.Items, func(other kueue.Workload) bool {
		_, component := ComponentIndex(&other)
		return other.Name == wl.Name || !component || !isActiveSibling(&other)
	}), nil
}

// ComponentIndex is a Workload's place among those of its owner; false if its owner has only one.
func ComponentIndex(wl *kueue.Workload) (int, bool) {
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

// SiblingChanged passes the changes of a Workload that matter to its siblings: the cluster that it is bound to, the clusters
// that it has left, and that there is one more or less of them by any writer. Its events come after the cache has the change.
func SiblingChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList && isComponent(e.Object) },
		DeleteFunc: func(e event.DeleteEvent) bool { return isComponent(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			was, ok := e.ObjectOld.(*kueue.Workload)
			is, okay := e.ObjectNew.(*kueue.Workload)
			if !ok || !okay || !isComponent(is) {
				return false
			}
			before, after := DecodeState(was), DecodeState(is)
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

// HasLeft reports whether a Workload has been given up on a cluster.
func HasLeft(wl *kueue.Workload, cluster string) bool {
	return slices.ContainsFunc(DecodeState(wl).Debts, func(d dispatch.Debt) bool { return d.Cluster == cluster })
}
