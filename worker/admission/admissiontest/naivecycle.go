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
	n := naive{facts: f, now: now, opts: opts, reasons: map[string]admission.Reason{}, held: map[string]bool{}}
	for _, w := range f.Pending {
		if !slices.Contains(n.queues, w.Queue) {
			n.queues = append(n.queues, w.Queue)
		}
	}
	slices.Sort(n.queues)
	for _, queue := range n.queues {
		n.advance(queue)
	}
	for len(n.contest) > 0 && (opts.MaxAdmissions == 0 || len(n.served) < opts.MaxAdmissions) {
		n.serveBest()
	}
	return n.served, n.reasons
}

type naive struct {
	facts   *Facts
	now     time.Time
	opts    cycle.Options
	queues  []string
	contest []naiveBid
	served  []admission.Decision
	reasons map[string]admission.Reason
	// held are the queues whose head waits for others to leave, or keeps what there is of what it lacks.
	held map[string]bool
	// claims are what those heads are to get.
	claims []admission.Reservation
}

type naiveBid struct {
	admission.Workload
	naiveOffer
}

// naiveOffer is what a workload could get.
type naiveOffer struct {
	mode       assign.Mode
	assignment *admission.Assignment
	victims    []admission.Victim
	because    admission.Reason
}

// snapshot is that of the facts with the claims of this cycle booked.
func (n *naive) snapshot() *admission.Snapshot {
	s := n.facts.Snapshot()
	for _, c := range n.claims {
		s.Book(c.Queue, c.Usage)
	}
	return s
}

// advance looks at the queue's workloads in order until one can be served or blocks the rest.
func (n *naive) advance(queue string) {
	for _, w := range n.snapshot().Waiting(queue) {
		if w.NotBefore.After(n.now) || n.reasons[w.Name] != "" || n.held[queue] {
			continue
		}
		offer := n.look(w)
		if offer.assignment != nil {
			n.contest = append(n.contest, naiveBid{Workload: w, naiveOffer: offer})
			return
		}
		n.turnAway(w, offer.because)
	}
}

// turnAway notes the reason; where order must be kept nobody behind the workload is looked at.
func (n *naive) turnAway(w admission.Workload, because admission.Reason) {
	n.reasons[w.Name] = because
	if n.strict(w.Queue) && (w.Blocked == nil || !w.Blocked.StepsAside) {
		n.held[w.Queue] = true
	}
}

func (n *naive) strict(queue string) bool {
	return n.snapshot().Closed(queue) == nil && n.facts.Queues[queue].Strategy == admission.StrictFIFO
}

func (n *naive) look(w admission.Workload) naiveOffer {
	s := n.snapshot()
	if closed := s.Closed(w.Queue); closed != nil {
		return naiveOffer{because: closed.Because}
	}
	if w.Blocked != nil {
		return naiveOffer{because: w.Blocked.Because}
	}
	all := n.offer(w)
	if all.mode > assign.NoCandidates {
		return all
	}
	best := all
	for i, podSet := range w.PodSets {
		for count := podSet.MinCount; count > 0 && count < podSet.Count && !n.opts.WithoutPartialAdmission; count++ {
			fewer := w
			fewer.PodSets = slices.Clone(w.PodSets)
			fewer.PodSets[i].Count = count
			if got := n.offer(fewer); got.mode > assign.NoCandidates {
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

func (n *naive) serveBest() {
	best := n.best()
	n.contest = slices.DeleteFunc(n.contest, func(b naiveBid) bool { return b.Name == best.Name })
	offer := n.look(best.Workload)
	if n.stillFits(best) {
		offer = best.naiveOffer
	}
	switch {
	case offer.assignment == nil:
		n.turnAway(best.Workload, offer.because)
		n.advance(best.Queue)
	case !slices.Equal(offer.assignment.Usage, best.assignment.Usage) || offer.assignment.Borrowing != best.assignment.Borrowing:
		n.contest = append(n.contest, naiveBid{Workload: best.Workload, naiveOffer: offer})
	default:
		best.naiveOffer = offer
		n.serve(best)
	}
}

// stillFits reports whether a bid of a queue that may preempt stands although others are leaving now, so that flavors that
// it passed over might do, too.
func (n *naive) stillFits(b naiveBid) bool {
	q := n.facts.Queues[b.Queue]
	if b.mode != assign.Fit || q.Preemption == (admission.Preemption{}) || q.Fungibility.WhenCanBorrow == admission.TryNextFlavor {
		return false
	}
	height, fits := n.snapshot().Fit(b.Queue, b.assignment.Usage)
	return fits && height == b.assignment.Borrowing
}

func (n *naive) serve(b naiveBid) {
	decision := admission.Decision{Workload: b.Key, LocalQueue: b.LocalQueue, Queue: b.Queue}
	switch {
	case b.mode == assign.Fit:
		n.facts.Assume(b.Name, b.assignment)
		decision.Verdict, decision.Because, decision.Assignment = admission.Admit, admission.QuotaReserved, b.assignment
		n.served = append(n.served, decision)
		if !n.takesTurns(b.Queue) {
			n.advance(b.Queue)
		}
	case b.mode == assign.NoCandidates:
		n.reasons[b.Name], n.held[b.Queue] = b.because, true
		n.claim(b, n.available(b))
	case len(b.ClosedGates) > 0:
		n.turnAway(b.Workload, b.because)
		n.advance(b.Queue)
	default:
		n.reasons[b.Name], n.held[b.Queue] = admission.WaitingForPreemptedWorkloads, true
		n.claim(b, b.assignment.Usage)
		decision.Verdict, decision.Because, decision.Victims = admission.Preempt, admission.WaitingForPreemptedWorkloads, b.victims
		if n.evict(b.victims) {
			n.served = append(n.served, decision)
		}
	}
}

func (n *naive) claim(b naiveBid, u admission.Usage) {
	n.claims = append(n.claims, admission.Reservation{Queue: b.Queue, Usage: u})
}

// evict marks the victims and reports whether one of them was not.
func (n *naive) evict(victims []admission.Victim) bool {
	fresh := false
	for _, v := range victims {
		held := n.facts.Holding[v.Workload.Name]
		fresh = fresh || !held.Evicted
		held.Evicted = true
		n.facts.Holding[v.Workload.Name] = held
	}
	return fresh
}

// takesTurns reports whether workloads of several LocalQueues wait in a queue that is ordered by their usage, those apart
// that were looked at.
func (n *naive) takesTurns(queue string) bool {
	locals := map[string]bool{}
	for _, w := range n.snapshot().Waiting(queue) {
		if n.reasons[w.Name] == "" && !w.NotBefore.After(n.now) {
			locals[w.LocalQueue] = true
		}
	}
	return n.facts.Queues[queue].UsageBased && len(locals) > 1
}

// available is the part of the assignment that could be taken now.
func (n *naive) available(b naiveBid) admission.Usage {
	s := n.snapshot()
	var part admission.Usage
	for _, use := range b.assignment.Usage {
		use.Amount = min(use.Amount, s.Quota().Cell(b.Queue, use.FlavorResource).Available())
		if use.Amount > 0 {
			part = append(part, use)
		}
	}
	return part
}
