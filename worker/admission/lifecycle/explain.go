package lifecycle

import (
	"slices"
	"strings"

	"switchyard.dev/worker/admission"
)

// Texts of QuotaReserved=False (contract: messages.md 1.2).
const (
	deactivated       = "The workload is deactivated"
	pendingEvaluation = "Workload is pending evaluation in the scheduling queue"
	gateCleared       = "AdmissionGatedBy cleared, waiting for quota reservation"
	gatedBy           = "Admission is gated by: " // with another text AdmissionGated is about preemption, and the scheduler's
)

// explain keeps the reason of QuotaReserved=False true as far as the workload and its queues give it; all other reasons come
// from the scheduling cycle. When such a reason has gone, the workload waits to be evaluated. While a backoff runs nothing
// is said (contract: messages.md 5.1, 5.3).
func explain(p *Plan, o Observation) {
	s := p.Next
	if s.Reservation != nil || s.Active && s.RequeueAt.After(o.Now) {
		return
	}
	c, known := s.Condition(QuotaReserved)
	gated := c.Status == False && c.Reason == admission.AdmissionGated && strings.HasPrefix(c.Message, gatedBy)
	block := s.block(o)
	switch {
	case block.Because != "":
		p.wait(block, o)
		if block.Because == admission.AdmissionGated && !gated {
			p.because(false, EventAdmissionGated, "Workload admission is gated by: "+o.Gates)
		}
	case gated:
		p.wait(admission.Block{Because: admission.PendingEvaluation, Message: gateCleared}, o)
	case known && c.Status == False && s.saidByUs(c, o), !known && o.Policy.ExplicitStatus:
		p.wait(admission.Block{Because: admission.PendingEvaluation, Message: pendingEvaluation}, o)
	}
	if gated && len(o.GatedBy) == 0 {
		p.because(false, EventAdmissionGateCleared, "Admission gate cleared, workload is now admissible")
	}
}

// wait records why the workload waits, and in the same write the checks that it will need whatever flavors it gets.
func (p *Plan) wait(because admission.Block, o Observation) {
	next := WaitFor(p.Next, because.Because, because.Message, o.Now)
	if next.Equal(p.Next) {
		return
	}
	if o.checksKnown() {
		next = next.syncChecks(o.Checks, o.Now)
	}
	p.Next = next
}

// checksKnown tells whether Checks are those of the workload's ClusterQueue: it is there, and the LocalQueue leads to it.
func (o Observation) checksKnown() bool {
	lq, cq := o.LocalQueue.State, o.ClusterQueue.State
	return (lq == QueueOpen || lq == QueueInactive) && cq != QueueUnseen && cq != QueueMissing
}

// block is what keeps the workload from being evaluated, as far as it is seen here; its Because is empty for nothing. A gate
// that was told stays told while the LocalQueue is missing: the two would take turns.
func (s State) block(o Observation) admission.Block {
	lq, cq := o.LocalQueue, o.ClusterQueue
	gate := admission.Block{}
	if len(o.GatedBy) > 0 {
		gate = admission.Block{Because: admission.AdmissionGated, Message: gatedBy + o.Gates}
	}
	switch {
	case !s.Active && o.Policy.Coarse:
		return admission.Block{}
	case !s.Active:
		return admission.Block{Because: admission.Deactivated, Message: deactivated}
	case lq.State == QueueMissing && gate.Because != "":
		return gate
	case lq.State == QueueMissing:
		return admission.Block{Because: admission.Misconfigured, Message: saysMissing("LocalQueue", lq.Name)}
	case lq.State == QueueHeld || lq.State == QueueDraining:
		return admission.Block{Because: admission.Suspended, Message: saysInactive("LocalQueue", lq.Name)}
	case cq.State == QueueMissing:
		return admission.Block{Because: admission.Misconfigured, Message: saysMissing("ClusterQueue", cq.Name)}
	case cq.State == QueueHeld || cq.State == QueueDraining || cq.State == QueueInactive:
		return admission.Block{Because: admission.Suspended, Message: saysInactive("ClusterQueue", cq.Name)}
	default:
		return gate
	}
}

// saidByUs tells whether a reason to wait is one of those that block gives. Others, such as a namespace that does not match,
// are the scheduling cycle's to take back.
func (s State) saidByUs(c Condition, o Observation) bool {
	if o.Policy.Coarse {
		return false
	}
	return c.Reason == admission.Deactivated || slices.Contains([]string{
		saysMissing("LocalQueue", o.LocalQueue.Name), saysInactive("LocalQueue", o.LocalQueue.Name),
		saysMissing("ClusterQueue", o.ClusterQueue.Name), saysInactive("ClusterQueue", o.ClusterQueue.Name),
	}, c.Message)
}

func saysMissing(kind, name string) string { return kind + " " + name + " doesn't exist" }

func saysInactive(kind, name string) string { return kind + " " + name + " is inactive" }
