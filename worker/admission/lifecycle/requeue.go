package lifecycle

import (
	"time"

	"switchyard.dev/worker/admission"
)

// awaitsRequeueTrigger tells whether the workload was evicted and must not queue before something happens.
func (s State) awaitsRequeueTrigger() bool {
	requeued, _ := s.Condition(Requeued)
	return s.Reservation == nil && s.IsTrue(Evicted) && requeued.Status == False
}

// requeueOnTrigger lets an evicted workload queue again once its trigger has come. A time that is over is taken away from a
// workload without quota, whatever has set it (contract: messages.md 5.3).
func requeueOnTrigger(p *Plan, o Observation) {
	p.Next = requeueIfTriggered(p.Next, o)
	if p.Next.Reservation == nil && !p.Next.RequeueAt.After(o.Now) {
		p.Next.RequeueAt = time.Time{}
	}
}

// requeueIfTriggered sets Requeued to True if the trigger that the eviction waits for has come (contract: kueue-api.md 1.13, 4.11).
func requeueIfTriggered(s State, o Observation) State {
	if !s.awaitsRequeueTrigger() || s.Active && s.RequeueAt.After(o.Now) {
		return s
	}
	evicted, _ := s.Condition(Evicted)
	switch reason := evicted.Reason; {
	case isDeactivation(reason) && s.Active:
		s.RequeueCount = 0
		return s.setRequeued(RequeuedReactivated, "The workload was reactivated", o.Now)
	case reason == EvictedByClusterQueueStopped && o.ClusterQueue.isRestarted():
		return s.setRequeued(RequeuedClusterQueueRestarted, "The ClusterQueue was restarted after being stopped", o.Now)
	case reason == EvictedByLocalQueueStopped && o.LocalQueue.isRestarted():
		return s.setRequeued(RequeuedLocalQueueRestarted, "The LocalQueue was restarted after being stopped", o.Now)
	case s.isBackoffTrigger():
		s.RequeueAt = time.Time{}
		return s.setRequeued(RequeuedBackoffFinished, "The workload backoff was finished", o.Now)
	default:
		return s
	}
}

func (s State) setRequeued(reason admission.Reason, message string, now time.Time) State {
	s = s.withCondition(Requeued, True, reason, message, now)
	c, _ := s.Condition(QuotaReserved)
	if c.Reason == admission.Deactivated || c.Reason == admission.Suspended {
		s = s.withCondition(QuotaReserved, False, admission.PendingEvaluation, pendingEvaluationMessage, now)
	}
	return s
}

// isBackoffTrigger reports whether the trigger is a time, rather than a change by a user or program.
func (s State) isBackoffTrigger() bool {
	evicted, _ := s.Condition(Evicted)
	switch {
	case isDeactivation(evicted.Reason):
		return false
	case evicted.Reason == EvictedByClusterQueueStopped, evicted.Reason == EvictedByLocalQueueStopped:
		return false
	case s.SinglePod && isRequeuedAtOnce(evicted.Reason): // its pod was stopped, see ReleaseForGood
		return false
	default:
		return true
	}
}

// backoffEnd is when the workload's backoff ends; zero when it waits for no time, or holds quota.
func (s State) backoffEnd() time.Time {
	if s.Reservation == nil && !s.IsTrue(Finished) {
		return s.RequeueAt
	}
	return time.Time{}
}
