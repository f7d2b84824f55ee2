package lifecycle

import (
	"slices"
	"time"

	"switchyard.dev/worker/admission"
)

// Eviction is why a workload must give back its quota.
type Eviction struct {
	Reason  admission.Reason
	Message string
	// PreemptionReason is the reason of Preempted=True; empty when the eviction is no preemption.
	PreemptionReason admission.Reason
	// RequeueAt is the earliest time to queue again, if that is later than what an earlier eviction has set; zero when the
	// eviction sets no such bound.
	RequeueAt time.Time
}

// Evict marks the workload as evicted, resets its checks and counts the eviction (contract: kueue-api.md 4.11 step 1).
// The quota stays reserved until [Release]: the job may still be running. A second eviction before that replaces the
// reason; the same eviction twice changes nothing. A workload without a reservation has nothing to stop and is settled at
// once.
func Evict(s State, e Eviction, now time.Time) State {
	if c, _ := s.Condition(Evicted); c.Status == True && c.Reason == e.Reason && s.Reservation != nil || s.IsTrue(Finished) {
		return s
	}
	s = s.withCondition(Evicted, True, e.Reason, e.Message, now)
	if e.PreemptionReason != "" {
		s = s.withCondition(Preempted, True, e.PreemptionReason, e.Message, now)
	}
	s = s.clearBlockedOnPreemptionGates("Evicted", now)
	s = s.countEviction(e.Reason)
	if e.RequeueAt.After(now) {
		s.RequeueAt = laterTime(s.RequeueAt, e.RequeueAt)
	}
	if isDeactivation(e.Reason) {
		s.RequeueAt, s.RequeueCount = time.Time{}, 0
	}
	if s.Reservation == nil {
		return s.evictWithoutReservation(e, now)
	}
	return DeriveConditions(s.resetChecks(now), now)
}

// evictWithoutReservation settles the eviction of a workload that holds nothing. One that has never been requeued is told of no trigger.
func (s State) evictWithoutReservation(e Eviction, now time.Time) State {
	_, requeued := s.Condition(Requeued)
	if requeued || !isDeactivation(e.Reason) {
		return s.finishEviction(now)
	}
	return SetPendingReason(s.resetChecks(now), admission.Deactivated, deactivatedMessage, now)
}

// restorePendingReason leaves why the workload has no quota as it was said before (contract: messages.md 1.5).
func (s State) restorePendingReason(was State) State {
	for _, t := range []ConditionType{QuotaReserved, Admitted} {
		c, known := was.Condition(t)
		if !known {
			s = s.withoutCondition(t)
			continue
		}
		s.Conditions = slices.Clone(s.Conditions)
		s.Conditions[slices.IndexFunc(s.Conditions, func(d Condition) bool { return d.Type == t })] = c
	}
	return s
}

// resetChecks makes every check Pending again, remembering what it said.
func (s State) resetChecks(now time.Time) State {
	checks := slices.Clone(s.Checks)
	for i := range checks {
		checks[i] = checks[i].reset(now)
	}
	s.Checks = checks
	return s
}

// reset returns the check as it is after an eviction: Pending, with its last state in the message.
func (c Check) reset(now time.Time) Check {
	if c.State == CheckPending {
		return c
	}
	if c.State == CheckRetry {
		c.Retries++
	}
	c.Message = "Reset to Pending after eviction. Previously: " + string(c.State)
	c.State, c.Since = CheckPending, now
	return c
}

// countEviction counts an eviction by reason and underlying cause.
func (s State) countEviction(evicted admission.Reason) State {
	reason, cause := SplitEvictionReason(evicted)
	if evicted == EvictedByPodsReadyTimeout {
		cause = string(s.podsReadyWaitReason())
	}
	s.Evictions = slices.Clone(s.Evictions)
	for i := range s.Evictions {
		if e := &s.Evictions[i]; e.Reason == string(reason) && e.Cause == cause {
			e.Count++
			return s
		}
	}
	s.Evictions = append(s.Evictions, EvictionCount{Reason: string(reason), Cause: cause, Count: 1})
	return s
}

// SetBlockedOnPreemptionGates records that closed gates keep the workload from a preemption that would make room for it (contract: kueue-api.md
// 4.4). A workload that holds quota needs none.
func SetBlockedOnPreemptionGates(s State, message string, now time.Time) State {
	if s.Reservation != nil || s.IsTrue(Finished) {
		return s
	}
	return s.withCondition(BlockedOnPreemptionGates, True, PreemptionGated, message, now)
}

// closePreemptionGates closes every gate: they were opened for the admission that has ended.
func (s State) closePreemptionGates(now time.Time) State {
	gates := slices.Clone(s.PreemptionGates)
	for i := range gates {
		if gates[i].Open {
			gates[i].Open, gates[i].Since = false, now
		}
	}
	s.PreemptionGates = gates
	return s
}

// clearBlockedOnPreemptionGates takes back the complaint that a preemption gate is closed.
func (s State) clearBlockedOnPreemptionGates(because admission.Reason, now time.Time) State {
	c, _ := s.Condition(BlockedOnPreemptionGates)
	if c.Status != True {
		return s
	}
	return s.withCondition(BlockedOnPreemptionGates, False, because, previousMessage(c.Message), now)
}
