package controller

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// observeSiblings says what the other Workloads of the same owner mean for this one: an owner with several Workloads, which bear
// their indexes, has all of them on one cluster. The first chooses it, the others wait for that (contract: multikueue.md 4
// case 8): the one with the lowest index, or the first name where indexes are equal or no numbers. A sibling that has finished or is
// going has no say.
func (r *WorkloadReconciler) observeSiblings(ctx context.Context, wl *kueue.Workload, l *dispatch.Local) {
	index, component := hubworkload.ComponentIndex(wl)
	if !component {
		return
	}
	siblings, err := hubworkload.ListSiblings(ctx, r.Client, wl)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "List the workloads of an owner")
		l.Siblings.Awaited = true
		return
	}
	first, here := true, hubworkload.DecodeState(wl)
	for i := range siblings {
		other := &siblings[i]
		at, _ := hubworkload.ComponentIndex(other)
		if state := hubworkload.DecodeState(other); state.Bound != "" && !state.Retreating() && (l.Siblings.Pin == "" || state.Bound < l.Siblings.Pin) {
			l.Siblings.Pin = state.Bound
		}
		l.Siblings.Left = l.Siblings.Left || hubworkload.HasLeft(other, here.Bound)
		first = first && (index < at || index == at && wl.Name < other.Name)
	}
	l.Siblings.Awaited = l.Siblings.Pin == "" && !first
}
