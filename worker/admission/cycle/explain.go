package cycle

import (
	"switchyard.dev/worker/admission"
)

// Explain says how a waiting workload stands; false if no workload of that name waits. It reads the snapshot and leaves it
// as it is.
func Explain(s *admission.Snapshot, k admission.Key, opts Options) (admission.Explanation, bool) {
	w, found := s.Pending(k)
	if !found {
		return admission.Explanation{}, false
	}
	return admission.Explanation{Workload: k, Queue: w.Queue}, true
}
