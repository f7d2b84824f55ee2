package lifecycle

import (
	"time"

	"switchyard.dev/worker/admission"
)

// resumedMessage is the text of QuotaReserved=False when a workload is not on hold any more (contract: messages.md 1.2).
const resumedMessage = "Workload no longer on hold; waiting for quota reservation"

// Hold records that the job of a workload asks for nothing now, as one does that was scaled to zero. What the workload holds is taken
// from it, and it does not queue until [Resume]. The caller has seen that nothing of the job runs. A workload that is not active and
// holds nothing says so already, and stays as it is.
func Hold(s State, message string, now time.Time) State {
	if s.IsTrue(Finished) || !s.Active && !s.hasAnythingToRelease() {
		return s
	}
	if s.hasAnythingToRelease() {
		s.Reservation = nil
		s.Cluster, s.Nominated, s.UnhealthyNodes = "", nil, nil
		s = s.resetChecks(now).closePreemptionGates(now).withCondition(QuotaReserved, False, admission.OnHold, message, now)
	}
	return SetPendingReason(s, admission.OnHold, message, now)
}

// Resume lets a workload that was on hold queue again. Others stay as they are.
func Resume(s State, now time.Time) State {
	if !s.isOnHold() {
		return s
	}
	return SetPendingReason(s, admission.PendingEvaluation, resumedMessage, now)
}

// isOnHold tells whether the job of the workload asks for nothing now.
func (s State) isOnHold() bool {
	c, _ := s.Condition(QuotaReserved)
	return c.Status == False && c.Reason == admission.OnHold && s.Reservation == nil && !s.IsTrue(Finished)
}
