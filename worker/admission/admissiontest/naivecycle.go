package admissiontest

import (
	"slices"
	"time"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/assign"
	"switchyard.dev/worker/admission/cycle"
	"switchyard.dev/worker/admission/order"
)

// NaiveCycle does what cycle.Run does, from the facts alone: it looks at every waiting workload in every cycle, builds a
// snapshot from scratch for each look, and remembers nothing between cycles. It takes in the admissions it makes and
// returns them, and the reason of every workload that it looked at and turned away.
func NaiveCycle(f *Facts, now time.Time, opts cycle.Options) ([]admission.Decision, map[string]admission.Reason) {
	n := naive{facts: f, now: now, opts: opts, reasons: map[string]admission.Reason{}}
	for _, w := range f.Pending {
		if !slices.Contains(n.queues, w.Queue) {
			n.queues = append(n.queues, w.Queue)
		}
	}
	slices.Sort(n.queues)
	for _, queue := range n.queues {
		n.advance(queue)
	}
	for len(n.contest) > 0 && (opts.MaxAdmissions == 0 || len(n.admitted) < opts.MaxAdmissions) {
		n.admitBest()
	}
	return n.admitted, n.reasons
}

type naive struct {
	facts    *Facts
	now      time.Time
	opts     cycle.Options
	queues   []string
	contest  []naiveBid
	admitted []admission.Decision
	reasons  map[string]admission.Reason
}

type naiveBid struct {
	admission.Workload
	assignment *admission.Assignment
}

func (a naiveBid) order() order.Bid {
	return order.Bid{Borrowing: a.assignment.Borrowing, Rank: order.Rank{
		Priority: a.Priority, QueuedAt: a.QueuedAt, UID: a.UID,
	}}
}

// advance looks at the queue's workloads by rank until one can be admitted or blocks the rest.
func (n *naive) advance(queue string) {
	var line []admission.Workload
	for name, w := range n.facts.Pending {
		if w.Queue == queue && !w.NotBefore.After(n.now) && n.reasons[name] == "" {
			line = append(line, w)
		}
	}
	slices.SortFunc(line, rank)
	for _, w := range line {
		assignment, because := n.look(w)
		if assignment != nil {
			n.contest = append(n.contest, naiveBid{Workload: w, assignment: assignment})
			return
		}
		n.reasons[w.Name] = because
		if n.blocks(w) {
			return
		}
	}
}

func (n *naive) look(w admission.Workload) (*admission.Assignment, admission.Reason) {
	s := n.facts.Snapshot()
	if closed := s.Closed(w.Queue); closed != nil {
		return nil, closed.Because
	}
	if w.Blocked != nil {
		return nil, w.Blocked.Because
	}
	result := assign.Assign(s.Menu(w.Queue), &w, assign.Options{IgnoreUndeclared: n.opts.IgnoreUndeclared})
	return result.Assignment, result.Because
}

// blocks reports whether a workload that was turned away holds up its queue; nothing behind it was looked at, then.
func (n *naive) blocks(w admission.Workload) bool {
	if n.facts.Snapshot().Closed(w.Queue) != nil || n.facts.Queues[w.Queue].Strategy != admission.StrictFIFO {
		return false
	}
	return w.Blocked == nil || !w.Blocked.StepsAside
}

func (n *naive) admitBest() {
	slices.SortFunc(n.contest, func(a, b naiveBid) int { return order.Classical(a.order(), b.order()) })
	best := n.contest[0]
	n.contest = n.contest[1:]
	assignment, because := n.look(best.Workload)
	if assignment == nil {
		n.reasons[best.Name] = because
		if !n.blocks(best.Workload) {
			n.advance(best.Queue)
		}
		return
	}
	best.assignment = assignment
	if len(n.contest) > 0 && order.Classical(n.contest[0].order(), best.order()) < 0 {
		n.contest = append(n.contest, best)
		return
	}
	n.facts.Assume(best.Name, assignment)
	n.admitted = append(n.admitted, admission.Decision{
		Workload: best.Key, LocalQueue: best.LocalQueue, Queue: best.Queue,
		Verdict: admission.Admit, Because: admission.QuotaReserved, Assignment: assignment,
	})
	n.advance(best.Queue)
}
