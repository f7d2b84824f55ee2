package lifecycle

import (
	"math"
	"slices"
	"strings"
	"time"

	"switchyard.dev/worker/admission"
)

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
		s = s.endAdmission(now)
		reason, message := s.unadmitted()
		return s.with(Admitted, False, reason, message, now)
	case known:
		s = s.endAdmission(now)
		return s.with(Admitted, False, admission.NoReservation, "The workload has no reservation", now)
	default:
		return s
	}
}

// unadmitted says why a workload that holds quota is not admitted.
func (s State) unadmitted() (admission.Reason, string) {
	if !s.checksReady() {
		return admission.UnsatisfiedAdmissionChecks, "The workload has admission checks that are not ready: " + strings.Join(s.unready(), ", ")
	}
	if s.Reservation.DelayedTopology {
		return admission.PendingDelayedTopologyRequests, "The places of some pods are still to be computed"
	}
	return admission.NoReservation, "The workload is evicted"
}

func (s State) unready() []string {
	var names []string
	for _, c := range s.Checks {
		if c.State != CheckReady {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names
}

// endAdmission adds the time spent admitted to the past execution time, if the workload is admitted. The caller makes
// Admitted False afterwards.
func (s State) endAdmission(now time.Time) State {
	c, _ := s.Condition(Admitted)
	if c.Status != True {
		return s
	}
	spent := max(now.Sub(c.Since), 0) / time.Second
	s.PastExecution = int32(min(int64(s.PastExecution)+int64(spent), math.MaxInt32))
	return s
}

// BecameAdmitted tells whether the workload is admitted in after but was not in before.
func BecameAdmitted(before, after State) bool { return after.Is(Admitted) && !before.Is(Admitted) }
