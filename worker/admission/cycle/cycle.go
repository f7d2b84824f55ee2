// Package cycle runs one scheduling cycle: it admits as many waiting workloads as the order and the quota allow.
package cycle

import (
	"time"

	"switchyard.dev/worker/admission"
)

// Options are the process-wide settings of a cycle.
type Options struct {
	// MaxAdmissions ends the cycle early, with Plan.More set; 0 means no limit.
	MaxAdmissions int
	// IgnoreUndeclared skips requested resources that no group of the queue covers, instead of failing the workload
	// (contract: kueue-api.md 7, resources.quotaCheckStrategy).
	IgnoreUndeclared bool
}

// Run runs one scheduling cycle at the time now. The snapshot already carries the reservations of the workloads that the
// plan admits: call Snapshot.Forget for those whose write fails.
func Run(s *admission.Snapshot, now time.Time, opts Options) admission.Plan {
	return admission.Plan{}
}
