package cycle

import (
	"slices"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/assign"
)

// overlapped reports whether an earlier preemptor of this cycle evicts somebody whom the contender had chosen (contract:
// kueue-api.md 4.4).
func (r *run) overlapped(c *contender) bool {
	if c.mode != assign.Preempt && c.mode != assign.Reclaim {
		return false
	}
	return slices.ContainsFunc(c.victims, func(v admission.Victim) bool {
		h, holds := r.snapshot.Holding(v.Workload)
		return !v.Evicted && holds && h.Evicted
	})
}

// overlap says what another look, after so many, brought to a workload whose victims another took; again is nil if it cannot
// be served.
func overlap(w *admission.Workload, again *contender, looks int) admission.Overlap {
	o := admission.Overlap{Workload: w.Key, Queue: w.Queue, Recomputed: again == nil || again.looks > looks}
	o.Found = again != nil && again.mode != assign.NoCandidates
	return o
}
