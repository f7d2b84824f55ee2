// Package cycle runs one scheduling cycle: it admits as many waiting workloads as the order and the quota allow, and says
// of every other one that it looked at why it waits (contract: kueue-api.md 4.1 to 4.6).
//
// A cycle looks only at the lines that something happened to. In each it looks at the head: one that cannot be admitted is
// parked together with its kind (or, in a StrictFIFO queue, blocks the line) until a requeue trigger; one that can
// competes with the heads of the other lines. The best of them is admitted, and its line comes up with its next head,
// until no head is left.
package cycle

import (
	"slices"
	"time"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/assign"
	"switchyard.dev/worker/admission/order"
)

// Options are the process-wide settings of a cycle.
type Options struct {
	// MaxAdmissions ends the cycle early, with Plan.More set; 0 means no limit.
	MaxAdmissions int
	// IgnoreUndeclared skips requested resources that no group of the queue covers, instead of failing the workload
	// (contract: kueue-api.md 7, resources.quotaCheckStrategy).
	IgnoreUndeclared bool
}

// Run runs one scheduling cycle at the time now. The snapshot already carries the reservations of the workloads that the
// plan admits: call Snapshot.Forget for those whose write fails.
func Run(s *admission.Snapshot, now time.Time, opts Options) admission.Plan {
	r := &run{
		snapshot: s,
		assign:   assign.Options{IgnoreUndeclared: opts.IgnoreUndeclared},
		contest:  order.NewHeap(contender.compare, func(contender, int) {}),
	}
	for _, line := range s.Settle(now) {
		l := &lane{Line: line}
		r.lanes = append(r.lanes, l)
		r.tellNews(l)
		r.advance(l)
	}
	for r.contest.Len() > 0 && (opts.MaxAdmissions == 0 || len(r.admitted) < opts.MaxAdmissions) {
		r.settleBest()
	}
	return admission.Plan{Decisions: r.decisions(), More: r.contest.Len() > 0, WakeAt: s.NextWake()}
}

// run is a cycle in progress.
type run struct {
	snapshot *admission.Snapshot
	assign   assign.Options
	// lanes are the lines that take part, by queue name.
	lanes []*lane
	// contest holds the head of every lane that has one that can be admitted.
	contest  *order.Heap[contender]
	admitted []admission.Decision
}

// lane is a line in the cycle.
type lane struct {
	*admission.Line
	waits []wait
}

// wait is a decision to wait and the rank that sorts it.
type wait struct {
	rank     order.Rank
	decision admission.Decision
}

// contender is a head that can be admitted as things stood when it was looked at.
type contender struct {
	bid        order.Bid
	lane       *lane
	place      *admission.Place
	assignment *admission.Assignment
	// version is that of the quota the assignment was made with.
	version uint64
}

func (c contender) compare(other contender) int { return order.Classical(c.bid, other.bid) }

// advance looks at the lane's heads until one can be admitted, which enters the contest, or none is left.
func (r *run) advance(l *lane) {
	for head := l.Head(); head != nil; head = l.Head() {
		c, because, message := r.look(l, head)
		if c.assignment != nil {
			r.contest.Push(c)
			return
		}
		r.turnAway(l, head, admission.Notice{Because: because, Message: message})
	}
}

// look finds out whether the head can be admitted now; the contender has no assignment if it cannot.
func (r *run) look(l *lane, head *admission.Place) (contender, admission.Reason, string) {
	w := head.Value
	if closed := r.snapshot.Closed(l.Name()); closed != nil {
		return contender{}, closed.Because, closed.Message
	}
	if w.Blocked != nil {
		return contender{}, w.Blocked.Because, w.Blocked.Message
	}
	result := assign.Assign(r.snapshot.Menu(l.Name()), w, r.assign)
	switch result.Mode {
	case assign.Fit:
		bid := order.Bid{Borrowing: result.Assignment.Borrowing, Rank: head.Rank()}
		return contender{bid: bid, lane: l, place: head, assignment: result.Assignment,
			version: r.snapshot.QuotaVersion(l.Name())}, "", ""
	case assign.NoFit, assign.NoCandidates, assign.Preempt, assign.Reclaim:
		return contender{}, result.Because, result.Message
	}
	panic("cycle: an assignment has one of the modes")
}

// turnAway parks the head with its kind or, where order must be kept, lets it block the lane.
func (r *run) turnAway(l *lane, head *admission.Place, n admission.Notice) {
	if r.blocks(l, head.Value) {
		l.Block()
		l.tell(head, n)
		return
	}
	for _, place := range l.Park(n) {
		l.tell(place, n)
	}
}

// blocks reports whether the workload, which cannot be admitted, holds up those behind it (contract: kueue-api.md 4.2).
// In a queue that is closed there is nothing to hold up: everybody is to be told.
func (r *run) blocks(l *lane, w *admission.Workload) bool {
	queue, found := r.snapshot.Queue(l.Name())
	if !found || queue.Strategy != admission.StrictFIFO || r.snapshot.Closed(l.Name()) != nil {
		return false
	}
	return w.Blocked == nil || !w.Blocked.StepsAside
}

// settleBest admits the best contender, or has it take its place again if others changed what it found.
func (r *run) settleBest() {
	best := r.contest.First()
	r.contest.Remove(0)
	l := best.lane
	if !r.stands(best) {
		again, because, message := r.look(l, best.place)
		if again.assignment == nil {
			r.turnAway(l, best.place, admission.Notice{Because: because, Message: message})
			r.advance(l)
			return
		}
		if r.contest.Len() > 0 && r.contest.First().compare(again) < 0 {
			r.contest.Push(again)
			return
		}
		best = again
	}
	w := best.place.Value
	r.snapshot.Assume(w, best.assignment)
	r.admitted = append(r.admitted, admission.Decision{
		Workload: w.Key, LocalQueue: w.LocalQueue, Queue: w.Queue,
		Verdict: admission.Admit, Because: admission.QuotaReserved,
		Message: "Quota reserved in ClusterQueue " + w.Queue, Assignment: best.assignment,
	})
	r.advance(l)
}

// stands reports whether looking again would change nothing. During a cycle usage only grows, so that a flavor that was
// passed over stays worse, unless borrowing more makes the chosen one worse in a queue that looks for less borrowing.
func (r *run) stands(c contender) bool {
	queue := c.lane.Name()
	if c.version == r.snapshot.QuotaVersion(queue) {
		return true
	}
	if r.snapshot.Menu(queue).Queue.Fungibility.WhenCanBorrow == admission.TryNextFlavor {
		return false
	}
	height, fits := r.snapshot.Fit(queue, c.assignment.Usage)
	return fits && height == c.bid.Borrowing
}

// tellNews tells those who joined a kind that was parked already what the kind was told.
func (r *run) tellNews(l *lane) {
	for _, told := range l.News() {
		for _, place := range told.Members {
			l.tell(place, told.Notice)
		}
	}
}

func (l *lane) tell(place *admission.Place, n admission.Notice) {
	w := place.Value
	l.waits = append(l.waits, wait{rank: place.Rank(), decision: admission.Decision{
		Workload: w.Key, LocalQueue: w.LocalQueue, Queue: w.Queue,
		Verdict: admission.Wait, Because: n.Because, Message: n.Message,
	}})
}

// decisions puts the waits, by queue and rank, behind the admissions.
func (r *run) decisions() []admission.Decision {
	n := len(r.admitted)
	for _, l := range r.lanes {
		n += len(l.waits)
	}
	all := append(make([]admission.Decision, 0, n), r.admitted...)
	for _, l := range r.lanes {
		slices.SortFunc(l.waits, func(a, b wait) int { return a.rank.Compare(b.rank) })
		for _, w := range l.waits {
			all = append(all, w.decision)
		}
	}
	return all
}
