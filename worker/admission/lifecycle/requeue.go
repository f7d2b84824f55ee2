package lifecycle

import (
	"strings"
	"time"

	"switchyard.dev/worker/admission"
)

// waitsForTrigger tells whether the workload was evicted and must not queue before something happens.
func (s State) waitsForTrigger() bool {
	requeued, _ := s.Condition(Requeued)
	return s.Reservation == nil && s.Is(Evicted) && requeued.Status == False
}

// requeueWhenTriggered lets an evicted workload queue again once its trigger has come.
func requeueWhenTriggered(p *Plan, o Observation) { p.Next = requeue(p.Next, o) }

// requeue sets Requeued to True if the trigger that the eviction waits for has come (contract: kueue-api.md 1.13, 4.11).
func requeue(s State, o Observation) State {
	if !s.waitsForTrigger() {
		return s
	}
	evicted, _ := s.Condition(Evicted)
	switch reason := evicted.Reason; {
	case isDeactivation(reason) && s.Active:
		s.RequeueCount = 0
		return s.requeued(RequeuedReactivated, "The workload was reactivated", o.Now)
	case reason == EvictedByClusterQueueStopped && o.ClusterQueue.restarted():
		return s.requeued(RequeuedClusterQueueRestarted, "The ClusterQueue was restarted", o.Now)
	case reason == EvictedByLocalQueueStopped && o.LocalQueue.restarted():
		return s.requeued(RequeuedLocalQueueRestarted, "The LocalQueue was restarted", o.Now)
	case s.backsOff() && !s.RequeueAt.After(o.Now):
		return s.requeued(RequeuedBackoffFinished, "The workload backoff was finished", o.Now)
	default:
		return s
	}
}

func (s State) requeued(reason admission.Reason, message string, now time.Time) State {
	s.RequeueAt = time.Time{}
	s = s.with(Requeued, True, reason, message, now)
	c, _ := s.Condition(QuotaReserved)
	if c.Reason == admission.Deactivated || c.Reason == admission.Suspended {
		s = s.with(QuotaReserved, False, admission.PendingEvaluation, message, now)
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

// requeueAt is when the workload's backoff ends; zero when it waits for no time.
func (s State) requeueAt() time.Time {
	if s.waitsForTrigger() && s.backsOff() {
		return s.RequeueAt
	}
	return time.Time{}
}

// explain keeps the reason of QuotaReserved=False true for a workload that no queue lists, because it is deactivated or
// gated; all other reasons come from the scheduling cycle. When such a reason has gone, the workload waits to be evaluated.
func explain(p *Plan, o Observation) {
	s := p.Next
	c, known := s.Condition(QuotaReserved)
	block := s.block(o)
	switch {
	case s.Reservation != nil || block.Because == c.Reason:
	case block.Because != "":
		p.Next = WaitFor(s, block.Because, block.Message, o.Now)
		if block.Because == admission.AdmissionGated {
			p.because(false, EventAdmissionGated, block.Message)
		}
	case known && (c.Reason == admission.Deactivated || c.Reason == admission.AdmissionGated):
		p.Next = WaitFor(s, admission.PendingEvaluation, "The workload waits to be evaluated", o.Now)
		if c.Reason == admission.AdmissionGated {
			p.because(false, EventAdmissionGateCleared, "All admission gates were removed")
		}
	}
}

// block is what keeps the workload out of every queue; its Because is empty for nothing.
func (s State) block(o Observation) admission.Block {
	switch {
	case !s.Active:
		return admission.Block{Because: admission.Deactivated, Message: "The workload is deactivated"}
	case len(o.GatedBy) > 0:
		return admission.Block{Because: admission.AdmissionGated, Message: "Gated by " + strings.Join(o.GatedBy, ", ")}
	default:
		return admission.Block{}
	}
}
