package cycle

import (
	"slices"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/assign"
)

// victimsOverlap reports whether an earlier preemptor of this cycle evicts a victim that the head had chosen (contract:
// kueue-api.md 4.4).
func (r *run) victimsOverlap(c *nominatedHead) bool {
	if c.mode != assign.Preempt && c.mode != assign.Reclaim {
		return false
	}
	return slices.ContainsFunc(c.victims, func(v admission.Victim) bool {
		h, holds := r.snapshot.Reservation(v.Workload)
		return !v.Evicted && holds && h.Evicted
	})
}

// newOverlap says what another look, after so many, brought to a workload whose victims another took; again is nil if it cannot
// be served.
func newOverlap(w *admission.Workload, again *nominatedHead, looks int) admission.Overlap {
	o := admission.Overlap{Workload: w.Key, Queue: w.Queue, Recomputed: again == nil || again.evaluations > looks}
	o.Found = again != nil && again.mode != assign.NoCandidates
	return o
}
