package lifecycle

import (
	"math"
	"time"

	"switchyard.dev/worker/admission"
)

// noReservationMessage is the text of Admitted=False without quota.
const noReservationMessage = "The workload has no reservation"

// DeriveConditions returns the state with the conditions that follow from its facts: Admitted from the reservation and the gates
// (contract: kueue-api.md 1.13, 4.13). It changes nothing else but the execution time that an admission which ends adds
// to PastExecution, and it is idempotent.
//
// An eviction admits no workload: while Evicted is True an admission may end but not begin.
func DeriveConditions(s State, now time.Time) State {
	if s.IsTrue(Finished) {
		return s
	}
	was, known := s.Condition(Admitted)
	admitted := s.Reservation != nil && MergeChecks(s) == Admit && (was.Status == True || !s.IsTrue(Evicted))
	switch {
	case admitted:
		return s.withCondition(Admitted, True, admission.Admitted, "The workload is admitted", now)
	case was.Status == False && MergeChecks(s) == Admit:
		return s // evicted: what kept it from being admitted before still says so
	case s.Reservation != nil:
		reason, message := s.notAdmittedReason()
		if was.Status == True {
			// Later than the reservation, also in whole seconds, so that wasAdmitted can tell.
			reserved, _ := s.Condition(QuotaReserved)
			return s.endAdmission(now).withCondition(Admitted, False, reason, message, laterTime(now, reserved.Since.Add(time.Second)))
		}
		return s.withCondition(Admitted, False, reason, message, now)
	case known:
		s = s.endAdmission(now)
		return s.withCondition(Admitted, False, admission.NoReservation, noReservationMessage, now)
	default:
		return s
	}
}

// wasAdmitted tells whether the workload is or has been admitted with its present reservation, so that its job may run.
func (s State) wasAdmitted() bool {
	reserved, _ := s.Condition(QuotaReserved)
	admitted, _ := s.Condition(Admitted)
	return admitted.Status == True || admitted.Since.After(reserved.Since)
}

func laterTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// notAdmittedReason says why a workload that holds quota is not admitted.
func (s State) notAdmittedReason() (admission.Reason, string) {
	if !s.areChecksReady() {
		return admission.UnsatisfiedAdmissionChecks, "The workload has not all checks ready"
	}
	if s.Reservation.DelayedTopology {
		return admission.PendingDelayedTopologyRequests, "There are pending delayed topology requests"
	}
	return admission.NoReservation, "The workload is evicted"
}

// endAdmission adds the time spent admitted to the past execution time, if the workload is admitted. The caller makes
// Admitted False afterwards.
func (s State) endAdmission(now time.Time) State {
	c, _ := s.Condition(Admitted)
	if c.Status != True {
		return s
	}
	spent := max(now.Sub(c.Since), 0) / time.Second
	past := int32(min(s.pastExecution()+int64(spent), math.MaxInt32))
	s.PastExecution = &past
	return s
}

// pastExecution is the time spent in earlier admissions, in seconds.
func (s State) pastExecution() int64 {
	if s.PastExecution == nil {
		return 0
	}
	return int64(*s.PastExecution)
}

// BecameAdmitted tells whether the workload is admitted in after but was not in before.
func BecameAdmitted(before, after State) bool {
	return after.IsTrue(Admitted) && !before.IsTrue(Admitted)
}
