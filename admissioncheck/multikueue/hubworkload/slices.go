package hubworkload

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/workload"
)

// The slices of an elastic job that runs on another cluster (contract: job-kinds.md 15). At any moment one of them has the job: the newest that has
// the hub's quota, or the dispatcher's record. The others are passive.

// ObserveSlice says what a Workload is among the slices of its job, of which the others are given.
func ObserveSlice(wl *kueue.Workload, others []*kueue.Workload) dispatch.Slice {
	if !workload.IsElastic(wl) {
		return dispatch.Slice{}
	}
	_, claims := workload.ReplacedSlice(wl)
	l := dispatch.Slice{Elastic: true, Replacement: claims, Passive: IsPassive(wl, others)}
	if workload.HasQuota(wl) || workload.CountEvictions(wl) > 0 {
		l.Before = recordBefore(wl, others, len(others))
		l.EarlierEvictions = countEarlierEvictions(wl, others)
	}
	if !l.Passive {
		return l
	}
	all := append(slices.Clone(others), wl)
	for _, other := range others {
		if !workload.IsFinished(other) && workload.HasQuota(other) && !IsPassive(other, nil) {
			state := recordOf(other, all, len(all))
			if isYetToBeAdmitted(other, state) {
				l.NextOn = state.Bound
			}
			l.JobOn = state.Bound
		}
	}
	return l
}

// countEarlierEvictions is how often the slices before a Workload were evicted.
func countEarlierEvictions(wl *kueue.Workload, others []*kueue.Workload) (count int64) {
	for _, earlier := range workload.SlicesBefore(wl, others) {
		count += countEvictions(earlier)
	}
	return count
}

// countEvictions is how often a slice was evicted that another has taken over from, or is about to. One that still has its quota was told so when that
// was nothing to it any more, or has yet to give the quota back.
func countEvictions(wl *kueue.Workload) int64 {
	if workload.HasQuota(wl) && workload.IsEvicted(wl) {
		return workload.CountEvictions(wl) - 1
	}
	return workload.CountEvictions(wl)
}

// recordOf is what a slice has recorded, or is about to take over.
func recordOf(wl *kueue.Workload, others []*kueue.Workload, depth int) dispatch.State {
	state := DecodeState(wl)
	if before := recordBefore(wl, others, depth); before != nil {
		return state.TakeOver(*before, countEvictions(wl))
	}
	return state
}

// recordBefore is what the slice before a Workload has recorded, nil if there is none. One that has not taken over yet what those before it have
// recorded hands that on: the next one may get quota before the dispatcher has looked.
func recordBefore(wl *kueue.Workload, others []*kueue.Workload, depth int) *dispatch.State {
	for _, other := range others {
		if depth == 0 || !workload.ReplacesSlice(wl, other) {
			continue
		}
		state := recordOf(other, others, depth-1)
		return &state
	}
	return nil
}

// IsPassive tells whether another slice has the job: one that has taken over, or the one that this is to take over from when it has quota.
func IsPassive(wl *kueue.Workload, others []*kueue.Workload) bool {
	if finished := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadFinished); finished != nil && finished.Status == metav1.ConditionTrue {
		if finished.Reason == string(kueue.ReasonWorkloadSliceReplaced) || finished.Reason == string(kueue.ReasonOutOfSync) && !IsInDispatch(wl) {
			return true
		}
	}
	for _, other := range others {
		takenOver := workload.ReplacesSlice(other, wl) && !workload.ReplacesSlice(wl, other) && IsInDispatch(other)
		isNext := !IsInDispatch(wl) && IsInDispatch(other) && !IsPassive(other, nil) // also when the job has ended: then this one ends with it
		if takenOver || isNext {
			return true
		}
	}
	return false
}

// IsInDispatch tells whether a slice has the hub's quota, or a record of clusters.
func IsInDispatch(wl *kueue.Workload) bool {
	return workload.HasQuota(wl) || len(DecodeState(wl).Names()) > 0
}

// IsYetToBeAdmitted tells whether a slice waits for the cluster that it is bound to.
func IsYetToBeAdmitted(wl *kueue.Workload) bool {
	return isYetToBeAdmitted(wl, DecodeState(wl))
}

func isYetToBeAdmitted(wl *kueue.Workload, state dispatch.State) bool {
	if state.Bound == "" || state.Retreating() {
		return false
	}
	return !workload.IsAdmitted(wl) && !workload.IsEvicted(wl)
}

// EarlierSlice is one that another has taken over from. Its UID is empty if the hub does not have it any more; AdmittedOn is the cluster where its job
// may have been made, empty if there is none.
type EarlierSlice struct {
	client.ObjectKey
	UID        types.UID
	AdmittedOn string
}

// EarlierSlices follows the chain of slices back, as far as the hub has them, the latest first.
func EarlierSlices(wl *kueue.Workload, others []*kueue.Workload) []EarlierSlice {
	var earlier []EarlierSlice
	for at := wl; at != nil && len(earlier) <= len(others); {
		key, claims := workload.ReplacedSlice(at)
		if !claims {
			break
		}
		slice := EarlierSlice{ObjectKey: key}
		at = nil
		for _, other := range others {
			if client.ObjectKeyFromObject(other) == key {
				at, slice.UID = other, other.UID
				if workload.IsAdmitted(other) {
					slice.AdmittedOn = ptr.Deref(other.Status.ClusterName, "")
				}
			}
		}
		earlier = append(earlier, slice)
	}
	return earlier
}

// HasJobOf tells whether a Workload is a slice of a chain that may have the job of which a worker shows a copy. One that has ended with its job
// has it still, as long as a cluster keeps that.
func HasJobOf(wl *kueue.Workload, chain string) bool {
	return workload.IsElastic(wl) && workload.SliceName(wl) == chain && !IsPassive(wl, nil) && wl.DeletionTimestamp.IsZero() && IsInDispatch(wl)
}
