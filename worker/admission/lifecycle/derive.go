package lifecycle

import (
	"math"
	"time"

	"switchyard.dev/worker/admission"
)

// noReservation is the text of Admitted=False without quota.
const noReservation = "The workload has no reservation"

// Derive returns the state with the conditions that follow from its facts: Admitted from the reservation and the gates
// (contract: kueue-api.md 1.13, 4.13). It changes nothing else but the execution time that an admission which ends adds
// to PastExecution, and it is idempotent.
//
// An eviction admits nobody: while Evicted is True an admission may end but not begin.
func Derive(s State, now time.Time) State {
	if s.Is(Finished) {
		return s
	}
	was, known := s.Condition(Admitted)
	admitted := s.Reservation != nil && Merge(s) == Admit && (was.Status == True || !s.Is(Evicted))
	switch {
	case admitted:
		return s.with(Admitted, True, admission.Admitted, "The workload is admitted", now)
	case was.Status == False && Merge(s) == Admit:
		return s // evicted: what kept it from being admitted before still says so
	case s.Reservation != nil:
		reason, message := s.unadmitted()
		if was.Status == True {
			// Later than the reservation, also in whole seconds, so that wasAdmitted can tell.
			reserved, _ := s.Condition(QuotaReserved)
			return s.endAdmission(now).with(Admitted, False, reason, message, later(now, reserved.Since.Add(time.Second)))
		}
		return s.with(Admitted, False, reason, message, now)
	case known:
		s = s.endAdmission(now)
		return s.with(Admitted, False, admission.NoReservation, noReservation, now)
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

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// unadmitted says why a workload that holds quota is not admitted.
func (s State) unadmitted() (admission.Reason, string) {
	if !s.checksReady() {
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
func BecameAdmitted(before, after State) bool { return after.Is(Admitted) && !before.Is(Admitted) }
