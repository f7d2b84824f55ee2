package controller

import (
	"slices"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	"switchyard.dev/admissioncheck/multikueue/tracker"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// withoutRemoved is what is seen over a connection without what was removed over it already. A copy that waits for our finalizer to be
// taken off is left.
func (r *WorkloadReconciler) withoutRemoved(seen mirror.Found, connection int64) mirror.Found {
	now := r.Clock.Now()
	r.tracker.do(func(t *tracker.Tracker) {
		if seen.Job != nil && t.IsRemoved(string(seen.Job.GetUID()), connection, now) {
			seen.Job = nil
		}
		if wl := seen.Workload; wl != nil && t.IsRemoved(string(wl.UID), connection, now) {
			if wl.DeletionTimestamp.IsZero() || !slices.Contains(wl.Finalizers, kueue.ResourceInUseFinalizer) {
				seen.Workload = nil
			}
		}
	})
	return seen
}

// removedUIDs are the objects seen that a removal below an epoch removes, see mirror.Removal.
func removedUIDs(o mirror.Original, seen mirror.Found, below int64) []string {
	removable := func(h dispatch.Holder, epoch int64) bool {
		return h == dispatch.Predecessor || (h == dispatch.Ours || h == dispatch.Relabelled) && dispatch.IsBelow(epoch, below)
	}
	var uids []string
	if c := o.ObserveWorkload(seen.Workload); removable(c.Holder, c.Epoch) {
		uids = append(uids, string(seen.Workload.UID))
	}
	if seen.Job == nil {
		return uids
	}
	if j := o.ObserveJob(seen.Job); removable(j.Holder, j.Epoch) {
		uids = append(uids, string(seen.Job.GetUID()))
	}
	return uids
}

// connectionNumber is the number of the present connection to a cluster, or of the last one.
func (r *WorkloadReconciler) connectionNumber(cluster string) int64 {
	state, _ := r.Fleet.State(cluster)
	return state.ConnectionNumber
}
