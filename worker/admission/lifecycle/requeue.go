package lifecycle

import (
	"time"

	"switchyard.dev/worker/admission"
)

// waitsForTrigger tells whether the workload was evicted and must not queue before something happens.
func (s State) waitsForTrigger() bool {
	requeued, _ := s.Condition(Requeued)
	return s.Reservation == nil && s.Is(Evicted) && requeued.Status == False
}

// requeueWhenTriggered lets an evicted workload queue again once its trigger has come. A time that is over is taken away from a
// workload without quota, whatever has set it (contract: messages.md 5.3).
func requeueWhenTriggered(p *Plan, o Observation) {
	p.Next = requeue(p.Next, o)
	if p.Next.Reservation == nil && !p.Next.RequeueAt.After(o.Now) {
		p.Next.RequeueAt = time.Time{}
	}
}

// requeue sets Requeued to True if the trigger that the eviction waits for has come (contract: kueue-api.md 1.13, 4.11).
func requeue(s State, o Observation) State {
	if !s.waitsForTrigger() || s.Active && s.RequeueAt.After(o.Now) {
		return s
	}
	evicted, _ := s.Condition(Evicted)
	switch reason := evicted.Reason; {
	case isDeactivation(reason) && s.Active:
		s.RequeueCount = 0
		return s.requeued(RequeuedReactivated, "The workload was reactivated", o.Now)
	case reason == EvictedByClusterQueueStopped && o.ClusterQueue.restarted():
		return s.requeued(RequeuedClusterQueueRestarted, "The ClusterQueue was restarted after being stopped", o.Now)
	case reason == EvictedByLocalQueueStopped && o.LocalQueue.restarted():
		return s.requeued(RequeuedLocalQueueRestarted, "The LocalQueue was restarted after being stopped", o.Now)
	case s.backsOff():
		s.RequeueAt = time.Time{}
		return s.requeued(RequeuedBackoffFinished, "The workload backoff was finished", o.Now)
	default:
		return s
	}
}

func (s State) requeued(reason admission.Reason, message string, now time.Time) State {
	s = s.with(Requeued, True, reason, message, now)
	c, _ := s.Condition(QuotaReserved)
	if c.Reason == admission.Deactivated || c.Reason == admission.Suspended {
		s = s.with(QuotaReserved, False, admission.PendingEvaluation, pendingEvaluation, now)
	}
	return s
}

// backsOff tells whether the trigger is a time, rather than somebody's deed.
func (s State) backsOff() bool {
	evicted, _ := s.Condition(Evicted)
	switch {
	case isDeactivation(evicted.Reason):
		return false
	case evicted.Reason == EvictedByClusterQueueStopped, evicted.Reason == EvictedByLocalQueueStopped:
		return false
	default:
		return true
	}
}

// requeueAt is when the workload's backoff ends; zero when it waits for no time, or holds quota.
func (s State) requeueAt() time.Time {
	if s.Reservation == nil && !s.Is(Finished) {
		return s.RequeueAt
	}
	return time.Time{}
}
