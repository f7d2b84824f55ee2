package lifecycle

import (
	"strings"
	"time"

	"switchyard.dev/worker/admission"
)

// Release gives back the quota of an evicted workload whose job does not run any more (contract: kueue-api.md 4.11 steps
// 2 and 3): the reservation, the clusters and the unhealthy nodes are cleared, preemption gates are closed, and Requeued says
// whether the workload may queue again at once or which trigger it waits for. A workload that is not evicted, or holds nothing, stays as it is.
func Release(s State, now time.Time) State {
	evicted, _ := s.Condition(Evicted)
	if evicted.Status != True || s.Is(Finished) || !s.holdsSomething() {
		return s
	}
	return s.settle(now)
}

// withdraw takes the reservation of a workload that is not admitted. No trigger keeps it from queueing again.
func (s State) withdraw(now time.Time) State {
	s.Reservation = nil
	s.Cluster, s.Nominated, s.UnhealthyNodes = "", nil, nil
	s = s.with(QuotaReserved, False, admission.PendingEvaluation, pendingEvaluation, now)
	return Derive(s.resetChecks(now).closeGates(now), now)
}

// settle takes the reservation of an evicted workload away and decides about its next try.
func (s State) settle(now time.Time) State {
	evicted, _ := s.Condition(Evicted)
	s.Reservation = nil
	s.Cluster, s.Nominated, s.UnhealthyNodes = "", nil, nil
	reason, message := pendingAfter(evicted)
	s = s.with(QuotaReserved, False, reason, message, now)
	s = Derive(s.resetChecks(now).closeGates(now), now)
	if evicted.Reason == deactivatedDueTo+DeactivateForExecutionTime {
		s.PastExecution = nil // whoever reactivates the workload grants it the whole time again
	}
	if evicted.Reason == EvictedByPreemption || evicted.Reason == EvictedByNodeFailures {
		return s.with(Requeued, True, evicted.Reason, evicted.Message, now)
	}
	s = s.with(Requeued, False, evicted.Reason, evicted.Message, now)
	return requeue(s, Observation{Now: now})
}

// holdsSomething tells whether there is anything that a release would take away.
func (s State) holdsSomething() bool {
	return s.Reservation != nil || s.Is(QuotaReserved) || s.Is(Admitted) || s.Cluster != "" || len(s.Nominated) > 0
}

// pendingAfter is what QuotaReserved=False says after an eviction.
func pendingAfter(evicted Condition) (admission.Reason, string) {
	if isDeactivation(evicted.Reason) {
		return admission.Deactivated, deactivated
	}
	return admission.PendingEvaluation, evicted.Message
}

// ReservedMessage is the text of QuotaReserved=True.
func ReservedMessage(queue string) string { return "Quota reserved in ClusterQueue " + queue }

// Reserve records that the cycle found room (contract: kueue-api.md 4.1 row admit): every applicable check gets an entry,
// traces of an earlier eviction become False, and the workload is admitted at once when no gate is closed.
func Reserve(s State, r Reservation, checks []string, message string, now time.Time) State {
	if s.Is(Finished) {
		return s
	}
	s.Reservation = &r
	s = s.with(QuotaReserved, True, admission.QuotaReserved, message, now)
	for _, t := range []ConditionType{Evicted, Preempted, BlockedOnPreemptionGates} {
		if c, _ := s.Condition(t); c.Status == True {
			s = s.with(t, False, admission.QuotaReserved, previously(c.Message), now)
		}
	}
	if !s.RequeueAt.After(now) { // it is over, and nobody has taken it away yet
		s.RequeueAt = time.Time{}
	}
	return Derive(s.syncChecks(checks, now), now)
}

func previously(message string) string {
	const prefix = "Previously: "
	return prefix + strings.TrimPrefix(message, prefix)
}

// WaitFor records why the workload has no quota yet, as QuotaReserved=False and Admitted=False. A workload that holds quota
// stays as it is.
func WaitFor(s State, reason admission.Reason, message string, now time.Time) State {
	if s.Reservation != nil || s.Is(QuotaReserved) || s.Is(Finished) {
		return s
	}
	next := s.with(QuotaReserved, False, reason, message, now)
	if next.Equal(s) {
		return Derive(s, now)
	}
	return Derive(next, now).with(Admitted, False, admission.NoReservation, noReservation, now)
}

// Finish records how the workload ended. The first outcome stays for ever.
func Finish(s State, reason admission.Reason, message string, now time.Time) State {
	if s.Is(Finished) {
		return s
	}
	return s.with(Finished, True, reason, message, now)
}
