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
	if evicted.Status != True || s.IsTrue(Finished) || !s.hasAnythingToRelease() {
		return s
	}
	return s.finishEviction(now)
}

// ReleaseForGood is Release for a workload whose only pod was stopped, and so will not run again: it queues no more on its own account
// (contract: job-kinds.md 10.4, requeue).
func ReleaseForGood(s State, now time.Time) State {
	next := Release(s, now)
	if evicted, _ := next.Condition(Evicted); !next.Equal(s) && isRequeuedAtOnce(evicted.Reason) {
		next = next.withCondition(Requeued, False, evicted.Reason, evicted.Message, now)
	}
	return next
}

// withdrawReservation takes the reservation of a workload that is not admitted. No trigger keeps it from queueing again.
func (s State) withdrawReservation(now time.Time) State {
	s.Reservation = nil
	s.Cluster, s.Nominated, s.UnhealthyNodes = "", nil, nil
	s = s.withCondition(QuotaReserved, False, admission.PendingEvaluation, pendingEvaluationMessage, now)
	return DeriveConditions(s.resetChecks(now).closePreemptionGates(now), now)
}

// finishEviction takes the reservation of an evicted workload away and decides about its next try.
func (s State) finishEviction(now time.Time) State {
	evicted, _ := s.Condition(Evicted)
	s.Reservation = nil
	s.Cluster, s.Nominated, s.UnhealthyNodes = "", nil, nil
	reason, message := pendingReasonAfter(evicted)
	s = s.withCondition(QuotaReserved, False, reason, message, now)
	s = DeriveConditions(s.resetChecks(now).closePreemptionGates(now), now)
	if evicted.Reason == deactivatedDueTo+DeactivateForExecutionTime {
		s.PastExecution = nil // whoever reactivates the workload grants it the whole time again
	}
	if isRequeuedAtOnce(evicted.Reason) {
		return s.withCondition(Requeued, True, evicted.Reason, evicted.Message, now)
	}
	s = s.withCondition(Requeued, False, evicted.Reason, evicted.Message, now)
	return requeueIfTriggered(s, Observation{Now: now})
}

// isRequeuedAtOnce tells whether nothing has to happen after an eviction for this reason before the workload queues again.
func isRequeuedAtOnce(evicted admission.Reason) bool {
	return evicted == EvictedByPreemption || evicted == EvictedByNodeFailures
}

// hasAnythingToRelease tells whether there is anything that a release would take away.
func (s State) hasAnythingToRelease() bool {
	return s.Reservation != nil || s.IsTrue(QuotaReserved) || s.IsTrue(Admitted) || s.Cluster != "" || len(s.Nominated) > 0
}

// pendingReasonAfter is what QuotaReserved=False says after an eviction.
func pendingReasonAfter(evicted Condition) (admission.Reason, string) {
	if isDeactivation(evicted.Reason) {
		return admission.Deactivated, deactivatedMessage
	}
	return admission.PendingEvaluation, evicted.Message
}

// ReservedMessage is the text of QuotaReserved=True.
func ReservedMessage(queue string) string { return "Quota reserved in ClusterQueue " + queue }

// Reserve records that the cycle found room (contract: kueue-api.md 4.1 row admit): every applicable check gets an entry,
// traces of an earlier eviction become False, and the workload is admitted at once when no gate is closed.
func Reserve(s State, r Reservation, checks []string, message string, now time.Time) State {
	if s.IsTrue(Finished) {
		return s
	}
	s.Reservation = &r
	s = s.withCondition(QuotaReserved, True, admission.QuotaReserved, message, now)
	for _, t := range []ConditionType{Evicted, Preempted, BlockedOnPreemptionGates} {
		if c, _ := s.Condition(t); c.Status == True {
			s = s.withCondition(t, False, admission.QuotaReserved, previousMessage(c.Message), now)
		}
	}
	if !s.RequeueAt.After(now) { // it is over, and nobody has taken it away yet
		s.RequeueAt = time.Time{}
	}
	return DeriveConditions(s.syncChecks(checks, now), now)
}

func previousMessage(message string) string {
	const prefix = "Previously: "
	return prefix + strings.TrimPrefix(message, prefix)
}

// SetPendingReason records why the workload has no quota yet, as QuotaReserved=False and Admitted=False. A workload that holds quota
// stays as it is.
func SetPendingReason(s State, reason admission.Reason, message string, now time.Time) State {
	if s.Reservation != nil || s.IsTrue(QuotaReserved) || s.IsTrue(Finished) {
		return s
	}
	next := s.withCondition(QuotaReserved, False, reason, message, now)
	if next.Equal(s) {
		return DeriveConditions(s, now)
	}
	return DeriveConditions(next, now).withCondition(Admitted, False, admission.NoReservation, noReservationMessage, now)
}

// Finish records how the workload ended. The first outcome stays for ever.
func Finish(s State, reason admission.Reason, message string, now time.Time) State {
	if s.IsTrue(Finished) {
		return s
	}
	return s.withCondition(Finished, True, reason, message, now)
}
