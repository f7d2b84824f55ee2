package lifecycle

import (
	"slices"
	"strings"

	"switchyard.dev/worker/admission"
)

// Texts of QuotaReserved=False (contract: messages.md 1.2).
const (
	deactivatedMessage          = "The workload is deactivated"
	pendingEvaluationMessage    = "Workload is pending evaluation in the scheduling queue"
	admissionGateClearedMessage = "AdmissionGatedBy cleared, waiting for quota reservation"
	admissionGatedPrefix        = "Admission is gated by: " // with another text AdmissionGated is about preemption, and the scheduler's
)

// updatePendingReason keeps the reason of QuotaReserved=False true as far as the workload and its queues give it; all other reasons come
// from the scheduling cycle. When such a reason has gone, the workload waits to be evaluated. While a backoff runs, or the job
// asks for nothing, nothing is said (contract: messages.md 1.2, 5.1, 5.3).
func updatePendingReason(p *Plan, o Observation) {
	s := p.Next
	if s.Reservation != nil || s.Active && (s.isOnHold() || s.RequeueAt.After(o.Now)) {
		return
	}
	c, known := s.Condition(QuotaReserved)
	gated := c.Status == False && c.Reason == admission.AdmissionGated && strings.HasPrefix(c.Message, admissionGatedPrefix)
	block := s.pendingBlock(o)
	switch {
	case block.Reason != "":
		p.setPendingReason(block, o)
		if block.Reason == admission.AdmissionGated && !gated {
			p.addEvent(false, EventAdmissionGated, "Workload admission is gated by: "+o.AdmissionGateAnnotation)
		}
	case gated:
		p.setPendingReason(admission.Block{Reason: admission.PendingEvaluation, Message: admissionGateClearedMessage}, o)
	case known && c.Status == False && s.isOwnReason(c, o), !known && o.Policy.ExplicitStatus:
		p.setPendingReason(admission.Block{Reason: admission.PendingEvaluation, Message: pendingEvaluationMessage}, o)
	}
	if gated && len(o.AdmissionGates) == 0 {
		p.addEvent(false, EventAdmissionGateCleared, "Admission gate cleared, workload is now admissible")
	}
}

// setPendingReason records why the workload waits, and in the same write the checks that it will need whatever flavors it gets.
func (p *Plan) setPendingReason(because admission.Block, o Observation) {
	next := SetPendingReason(p.Next, because.Reason, because.Message, o.Now)
	if next.Equal(p.Next) {
		return
	}
	if o.areChecksKnown() {
		next = next.syncChecks(o.Checks, o.Now)
	}
	p.Next = next
}

// areChecksKnown tells whether Checks are those of the workload's ClusterQueue: it is there, and the LocalQueue leads to it.
func (o Observation) areChecksKnown() bool {
	lq, cq := o.LocalQueue.State, o.ClusterQueue.State
	return (lq == QueueOpen || lq == QueueInactive) && cq != QueueUnknown && cq != QueueMissing
}

// pendingBlock is what keeps the workload from being evaluated, as far as it is seen here; its Reason is empty for nothing. A gate
// that was reported stays reported while the LocalQueue is missing: the two would take turns.
func (s State) pendingBlock(o Observation) admission.Block {
	lq, cq := o.LocalQueue, o.ClusterQueue
	gate := admission.Block{}
	if len(o.AdmissionGates) > 0 {
		gate = admission.Block{Reason: admission.AdmissionGated, Message: admissionGatedPrefix + o.AdmissionGateAnnotation}
	}
	switch {
	case !s.Active && o.Policy.CoarseReasons:
		return admission.Block{}
	case !s.Active:
		return admission.Block{Reason: admission.Deactivated, Message: deactivatedMessage}
	case lq.State == QueueMissing && gate.Reason != "":
		return gate
	case lq.State == QueueMissing:
		return admission.Block{Reason: admission.Misconfigured, Message: missingMessage("LocalQueue", lq.Name)}
	case lq.State == QueueHeld || lq.State == QueueDraining:
		return admission.Block{Reason: admission.Suspended, Message: inactiveMessage("LocalQueue", lq.Name)}
	case cq.State == QueueMissing:
		return admission.Block{Reason: admission.Misconfigured, Message: missingMessage("ClusterQueue", cq.Name)}
	case cq.State == QueueHeld || cq.State == QueueDraining || cq.State == QueueInactive:
		return admission.Block{Reason: admission.Suspended, Message: inactiveMessage("ClusterQueue", cq.Name)}
	default:
		return gate
	}
}

// isOwnReason tells whether a reason to wait is one of those that block gives. Others, such as a namespace that does not match,
// are the scheduling cycle's to take back.
func (s State) isOwnReason(c Condition, o Observation) bool {
	if o.Policy.CoarseReasons {
		return false
	}
	return c.Reason == admission.Deactivated || slices.Contains([]string{
		missingMessage("LocalQueue", o.LocalQueue.Name), inactiveMessage("LocalQueue", o.LocalQueue.Name),
		missingMessage("ClusterQueue", o.ClusterQueue.Name), inactiveMessage("ClusterQueue", o.ClusterQueue.Name),
	}, c.Message)
}

func missingMessage(kind, name string) string { return kind + " " + name + " doesn't exist" }

func inactiveMessage(kind, name string) string { return kind + " " + name + " is inactive" }
