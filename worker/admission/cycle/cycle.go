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
	"switchyard.dev/worker/admission/quota"
)

// Run runs one scheduling cycle at the time now. The snapshot already carries the reservations of the workloads that the
// plan admits: call Snapshot.Forget for those whose write fails.
func Run(s *admission.Snapshot, now time.Time, opts Options) admission.Plan {
	r := &run{
		snapshot: s,
		options:  opts,
		now:      now,
		contest:  order.NewHeap((*contender).compare, func(*contender, int) {}),
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
	options  Options
	now      time.Time
	// lanes are the lines that take part, by queue name.
	lanes []*lane
	// contest holds the head of every lane that has one that can be admitted.
	contest  *order.Heap[*contender]
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
	// menu and version are what the assignment was made with.
	menu    *admission.Menu
	version quota.Version
}

func (c *contender) compare(other *contender) int { return order.Classical(c.bid, other.bid) }

// advance looks at the lane's heads until one can be admitted, which enters the contest, or none is left.
func (r *run) advance(l *lane) {
	for head := l.Head(); head != nil; head = l.Head() {
		c, why := r.look(l, head)
		if c != nil {
			r.contest.Push(c)
			return
		}
		r.turnAway(l, head, why)
	}
}

// look finds out whether the head can be admitted now; the contender is nil if it cannot, and the notice says why. The
// contender is remembered at the head's place, so that looking again costs little if nothing happened that matters, in
// this cycle or in the next.
func (r *run) look(l *lane, head *admission.Place) (*contender, admission.Notice) {
	menu, version := r.snapshot.Menu(l.Name()), r.snapshot.QuotaVersion(l.Name())
	if c, found := head.Memo.(*contender); found && r.stands(c, menu, version) {
		c.lane, c.version = l, version
		return c, admission.Notice{}
	}
	w := head.Value
	if closed := r.snapshot.Closed(l.Name()); closed != nil {
		return nil, admission.Notice{Because: closed.Because, Message: closed.Message}
	}
	if w.Blocked != nil {
		return nil, admission.Notice{Because: w.Blocked.Because, Message: w.Blocked.Message}
	}
	result := assign.Assign(menu, w, assign.Options{IgnoreUndeclared: r.options.IgnoreUndeclared})
	switch result.Mode {
	case assign.Fit:
		c := &contender{
			bid:  order.Bid{Borrowing: result.Assignment.Borrowing, Rank: head.Rank()},
			lane: l, place: head, assignment: result.Assignment,
			menu: menu, version: version,
		}
		head.Memo = c
		return c, admission.Notice{}
	case assign.NoFit, assign.NoCandidates, assign.Preempt, assign.Reclaim:
		return nil, admission.Notice{Because: result.Because, Message: result.Message}
	}
	panic("cycle: an assignment has one of the modes")
}

// stands reports whether looking again would change nothing. As long as quota is only taken, a flavor that was passed over
// stays worse, unless borrowing from farther away makes the chosen one worse in a queue that looks for less borrowing.
// Whatever closes a queue changes its menu or settles the quota anew.
func (r *run) stands(c *contender, menu *admission.Menu, now quota.Version) bool {
	switch {
	case c.menu != menu || !now.OnlyTaken(c.version):
		return false
	case c.version == now:
		return true
	case menu.Queue.Fungibility.WhenCanBorrow == admission.TryNextFlavor:
		return false
	}
	height, fits := r.snapshot.Fit(c.lane.Name(), c.assignment.Usage)
	return fits && height == c.bid.Borrowing
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
	again, why := r.look(best.lane, best.place)
	switch {
	case again == nil:
		r.turnAway(best.lane, best.place, why)
		r.advance(best.lane)
	case r.contest.Len() > 0 && r.contest.First().compare(again) < 0:
		r.contest.Push(again)
	default:
		r.admit(again)
		r.advance(again.lane)
	}
}

func (r *run) admit(c *contender) {
	w := c.place.Value
	r.snapshot.Assume(w, c.assignment, r.now)
	r.admitted = append(r.admitted, admission.Decision{
		Workload: w.Key, LocalQueue: w.LocalQueue, Queue: w.Queue,
		Verdict: admission.Admit, Because: admission.QuotaReserved,
		Message: "Quota reserved in ClusterQueue " + w.Queue, Assignment: c.assignment,
	})
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
