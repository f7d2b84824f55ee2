package admissiontest

import (
	"slices"
	"time"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/assign"
	"switchyard.dev/worker/admission/cycle"
)

// NaiveCycle does what cycle.Run does, from the facts alone: it looks at every waiting workload in every cycle, builds a
// snapshot from scratch for each look, and remembers nothing between cycles, so that it knows of no claims of earlier ones.
// It takes in the admissions and evictions it decides and returns them, and the reason of every workload that it looked at
// and turned away.
func NaiveCycle(f *Facts, now time.Time, opts cycle.Options) ([]admission.Decision, map[string]admission.Reason) {
	n := naiveCycle{facts: f, now: now, opts: opts, reasons: map[string]admission.Reason{}, blockedQueues: map[string]bool{}}
	for _, w := range f.Pending {
		if !slices.Contains(n.queues, w.Queue) {
			n.queues = append(n.queues, w.Queue)
		}
	}
	slices.Sort(n.queues)
	for _, queue := range n.queues {
		n.nominateNext(queue)
	}
	for len(n.heads) > 0 && (opts.MaxAdmissions == 0 || len(n.decisions) < opts.MaxAdmissions) {
		n.processBestHead()
	}
	return n.decisions, n.reasons
}

type naiveCycle struct {
	facts     *Facts
	now       time.Time
	opts      cycle.Options
	queues    []string
	heads     []naiveHead
	decisions []admission.Decision
	reasons   map[string]admission.Reason
	// blockedQueues are the queues whose head waits for others to leave, or keeps what there is of what it lacks.
	blockedQueues map[string]bool
	// claims are what those heads are to get.
	claims []admission.Reservation
}

type naiveHead struct {
	admission.Workload
	naiveResult
}

// naiveResult is what a workload could get.
type naiveResult struct {
	mode       assign.Mode
	assignment *admission.Assignment
	victims    []admission.Victim
	reason     admission.Reason
}

// buildSnapshot is that of the facts with the claims of this cycle booked.
func (n *naiveCycle) buildSnapshot() *admission.Snapshot {
	s := n.facts.Snapshot()
	for _, c := range n.claims {
		s.BookUsage(c.Queue, c.Usage)
	}
	return s
}

// nominateNext looks at the queue's workloads in order until one can be served or blocks the rest.
func (n *naiveCycle) nominateNext(queue string) {
	for _, w := range n.buildSnapshot().ListPending(queue) {
		if w.NotBefore.After(n.now) || n.reasons[w.Name] != "" || n.blockedQueues[queue] {
			continue
		}
		offer := n.evaluateHead(w)
		if offer.assignment != nil {
			n.heads = append(n.heads, naiveHead{Workload: w, naiveResult: offer})
			return
		}
		n.markInadmissible(w, offer.reason)
	}
}

// markInadmissible records the reason. In a strict queue no workload behind it is looked at.
func (n *naiveCycle) markInadmissible(w admission.Workload, because admission.Reason) {
	n.reasons[w.Name] = because
	if n.isStrictFIFO(w.Queue) && (w.Blocked == nil || !w.Blocked.LetsOthersPass) {
		n.blockedQueues[w.Queue] = true
	}
}

func (n *naiveCycle) isStrictFIFO(queue string) bool {
	return n.buildSnapshot().QueueBlock(queue) == nil && n.facts.Queues[queue].Strategy == admission.StrictFIFO
}

func (n *naiveCycle) evaluateHead(w admission.Workload) naiveResult {
	s := n.buildSnapshot()
	if closed := s.QueueBlock(w.Queue); closed != nil {
		return naiveResult{reason: closed.Reason}
	}
	if w.Blocked != nil {
		return naiveResult{reason: w.Blocked.Reason}
	}
	all := n.findAssignment(w)
	if all.mode > assign.NoCandidates {
		return all
	}
	best := all
	for i, podSet := range w.PodSets {
		for count := podSet.MinCount; count > 0 && count < podSet.Count && !n.opts.WithoutPartialAdmission; count++ {
			fewer := w
			fewer.PodSets = slices.Clone(w.PodSets)
			fewer.PodSets[i].Count = count
			if got := n.findAssignment(fewer); got.mode > assign.NoCandidates {
				best = got
			}
		}
	}
	if q := n.facts.Queues[w.Queue]; best.mode == assign.NoCandidates &&
		(q.Strategy != admission.StrictFIFO || q.Preemption.ReclaimWithinCohort == admission.AnyPriority) {
		best.assignment = nil
	}
	return best
}

func (n *naiveCycle) processBestHead() {
	best := n.bestHead()
	n.heads = slices.DeleteFunc(n.heads, func(b naiveHead) bool { return b.Name == best.Name })
	offer := n.evaluateHead(best.Workload)
	if n.isStillValid(best) {
		offer = best.naiveResult
	}
	switch {
	case offer.assignment == nil:
		n.markInadmissible(best.Workload, offer.reason)
		n.nominateNext(best.Queue)
	case !slices.Equal(offer.assignment.Usage, best.assignment.Usage) || offer.assignment.Borrowing != best.assignment.Borrowing:
		n.heads = append(n.heads, naiveHead{Workload: best.Workload, naiveResult: offer})
	default:
		best.naiveResult = offer
		n.admitOrPreempt(best)
	}
}

// isStillValid reports whether a head of a queue that may preempt stands although others are leaving now, so that flavors that
// it passed over might do, too.
func (n *naiveCycle) isStillValid(b naiveHead) bool {
	q := n.facts.Queues[b.Queue]
	if b.mode != assign.Fit || q.Preemption == (admission.Preemption{}) || q.Fungibility.WhenCanBorrow == admission.TryNextFlavor {
		return false
	}
	height, fits := n.buildSnapshot().Fit(b.Queue, b.assignment.Usage)
	return fits && height == b.assignment.Borrowing
}

func (n *naiveCycle) admitOrPreempt(b naiveHead) {
	decision := admission.Decision{Workload: b.Key, LocalQueue: b.LocalQueue, Queue: b.Queue}
	switch {
	case b.mode == assign.Fit:
		n.facts.Assume(b.Name, b.assignment)
		decision.Outcome, decision.Reason, decision.Assignment = admission.Admit, admission.QuotaReserved, b.assignment
		n.decisions = append(n.decisions, decision)
		if !n.hasSeveralUsageGroups(b.Queue) {
			n.nominateNext(b.Queue)
		}
	case b.mode == assign.NoCandidates:
		n.reasons[b.Name], n.blockedQueues[b.Queue] = b.reason, true
		n.claimQuota(b, n.availableUsage(b))
	case len(b.ClosedGates) > 0:
		n.markInadmissible(b.Workload, b.reason)
		n.nominateNext(b.Queue)
	default:
		n.reasons[b.Name], n.blockedQueues[b.Queue] = admission.WaitingForPreemptedWorkloads, true
		n.claimQuota(b, b.assignment.Usage)
		decision.Outcome, decision.Reason, decision.Victims = admission.Preempt, admission.WaitingForPreemptedWorkloads, b.victims
		if n.evictVictims(b.victims) {
			n.decisions = append(n.decisions, decision)
		}
	}
}

func (n *naiveCycle) claimQuota(b naiveHead, u admission.Usage) {
	n.claims = append(n.claims, admission.Reservation{Queue: b.Queue, Usage: u})
}

// evictVictims marks the victims and reports whether one of them was not.
func (n *naiveCycle) evictVictims(victims []admission.Victim) bool {
	fresh := false
	for _, v := range victims {
		held := n.facts.Reservations[v.Workload.Name]
		fresh = fresh || !held.Evicted
		held.Evicted = true
		n.facts.Reservations[v.Workload.Name] = held
	}
	return fresh
}

// hasSeveralUsageGroups reports whether workloads of several LocalQueues wait in a queue that is ordered by their usage, those apart
// that were looked at.
func (n *naiveCycle) hasSeveralUsageGroups(queue string) bool {
	locals := map[string]bool{}
	for _, w := range n.buildSnapshot().ListPending(queue) {
		if n.reasons[w.Name] == "" && !w.NotBefore.After(n.now) {
			locals[w.LocalQueue] = true
		}
	}
	return n.facts.Queues[queue].UsageBased && len(locals) > 1
}

// availableUsage is the part of the assignment that could be taken now.
func (n *naiveCycle) availableUsage(b naiveHead) admission.Usage {
	s := n.buildSnapshot()
	var part admission.Usage
	for _, use := range b.assignment.Usage {
		use.Amount = min(use.Amount, s.Quota().Cell(b.Queue, use.FlavorResource).Available())
		if use.Amount > 0 {
			part = append(part, use)
		}
	}
	return part
}
