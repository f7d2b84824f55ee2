package controller

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// hasUnrecordedTopology tells whether the chosen worker has placed pods whose places the hub left to it, and the Workload does not say so
// yet: what has become of the check is stored already, but a worker may place pods after it has admitted them, or again.
func (r *WorkloadReconciler) hasUnrecordedTopology(s *workloadScope, plan dispatch.Plan) bool {
	l := s.observed.Local
	if plan.CheckResult.State != dispatch.Ready || !l.Quota.Reserved || l.Quota.Evicted || l.Finished || l.Deleted {
		return false
	}
	return len(r.listPlacedPodSets(s.original.Workload, plan.Next)) > 0
}

// recordTopology records that the worker has placed the pods whose places the hub left to it (contract: multikueue.md 4
// case 6b). It goes with a write that is made anyway, as a rule.
func (r *WorkloadReconciler) recordTopology(wl *kueue.Workload, state dispatch.State) {
	for _, i := range r.listPlacedPodSets(wl, state) {
		wl.Status.Admission.PodSetAssignments[i].DelayedTopologyRequest = kueue.DelayedTopologyRequestStateReady
	}
}

// listPlacedPodSets lists those of a Workload's assignments whose places are still to be computed as far as the hub knows, but have been by
// the cluster that it is bound to, in the present epoch.
func (r *WorkloadReconciler) listPlacedPodSets(wl *kueue.Workload, state dispatch.State) []int {
	pending := func(a kueue.PodSetAssignment) bool {
		return a.DelayedTopologyRequest == kueue.DelayedTopologyRequestStatePending
	}
	mine := wl.Status.Admission
	if state.Bound == "" || mine == nil || !slices.ContainsFunc(mine.PodSetAssignments, pending) {
		return nil
	}
	obj, _ := r.Fleet.Get(state.Bound, workloadGVK(), client.ObjectKeyFromObject(wl))
	remote, ok := obj.(*kueue.Workload)
	if !ok || remote.Status.Admission == nil || !isOfEpoch(remote, state.Epoch) {
		return nil
	}
	var list []int
	for i, a := range mine.PodSetAssignments {
		theirs := slices.ContainsFunc(remote.Status.Admission.PodSetAssignments, func(b kueue.PodSetAssignment) bool {
			return b.Name == a.Name && b.TopologyAssignment != nil
		})
		if pending(a) && theirs {
			list = append(list, i)
		}
	}
	return list
}

// isOfEpoch tells whether an object was made in an epoch; what bears no stamp was made in the first.
func isOfEpoch(obj client.Object, epoch int64) bool {
	made := mirror.Epoch(obj)
	return made == epoch || made == 0 && epoch == 1
}
