package cycle

import (
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/assign"
	"switchyard.dev/worker/admission/order"
	"switchyard.dev/worker/admission/quota"
)

// contender is a head that can be served as things stood when it was looked at. It is remembered at the head's place.
type contender struct {
	bid order.Bid
	// lane is nil unless the contender is in the contest: it would keep all of a cycle in memory.
	lane       *lane
	place      *admission.Place
	assignment *admission.Assignment
	// mode is Fit, Preempt, Reclaim, or NoCandidates for one that can only keep others from taking what there is.
	mode assign.Mode
	// menu and version are what the assignment was made with; looks counts how often it was.
	menu    *admission.Menu
	version quota.Version
	looks   int
	// refusal is what happens if it cannot be served after all.
	refusal refusal

	// victims are those whom it needs to be gone, as of the last look; pending is whether they were told to leave for it.
	pending bool
	victims []admission.Victim
	// tried are accounts for which no victims were found in the last look although each of them alone could be met.
	tried []*quota.Cell
	// in is the number of the cycle of the last look.
	in uint64
	// told is what the workload was told last while it held up its line.
	told admission.Notice
}

// refusal is why a head cannot be served.
type refusal struct {
	admission.Notice
	want admission.Want
	// ranked is whether a workload of the same kind may do better if it ranks better.
	ranked bool
}

// look finds out whether the head can be served now; the contender is nil if it cannot, and the refusal says why. Looking
// again costs little if nothing happened that matters, in this cycle or in the next.
func (r *run) look(l *lane, head *admission.Place) (*contender, refusal) {
	menu, version := r.snapshot.Menu(l.Name()), r.snapshot.QuotaVersion(l.Name())
	c, found := head.Memo.(*contender)
	if found && r.stands(c, menu, version) {
		c.lane, c.version = l, version
		return c, refusal{}
	}
	if b := blocked(r.snapshot, head.Value); b != nil {
		return nil, refusal{Notice: admission.Notice{Because: b.Because, Message: b.Message}}
	}
	if !found {
		c = r.newContender(head)
	}
	c.lane, c.menu, c.version, c.in = l, menu, version, r.number
	c.looks++
	if r.settleFor(c, r.weigh(c)) {
		return c, refusal{}
	}
	return nil, c.refusal
}

// blocked returns what keeps the workload from being considered, nil if nothing does.
func blocked(s *admission.Snapshot, w *admission.Workload) *admission.Block {
	if closed := s.Closed(w.Queue); closed != nil {
		return closed
	}
	return w.Blocked
}

func (r *run) newContender(head *admission.Place) *contender {
	if len(r.contenders) == 0 {
		r.contenders = make([]contender, 64)
	}
	c := &r.contenders[0]
	r.contenders = r.contenders[1:]
	c.place, head.Memo = head, c
	return c
}

// settleFor takes in what was found and reports whether the contender can be served with it.
func (r *run) settleFor(c *contender, got assign.Result) bool {
	c.assignment, c.mode = got.Assignment, got.Mode
	if got.Mode != assign.Fit {
		c.refusal = r.refuse(c, got)
	}
	viable := got.Mode > assign.NoCandidates || got.Mode == assign.NoCandidates && keeps(c.menu.Queue)
	if !viable {
		c.lane, c.assignment, c.victims, c.pending, c.told = nil, nil, nil, false, admission.Notice{}
		return false
	}
	c.bid = order.Bid{
		First:     c.pending && r.options.PrioritizePreemptors,
		Borrowing: got.Assignment.Borrowing, Rank: c.place.Rank(),
	}
	if r.options.WithoutPrioritySorting {
		c.bid.Priority = 0
	}
	return true
}

// stands reports whether looking again would change nothing. As long as quota is only taken, a flavor that was passed over
// stays worse, unless borrowing from farther away makes the chosen one worse in a queue that looks for less borrowing.
// Whatever closes a queue changes its menu or settles the quota anew.
func (r *run) stands(c *contender, menu *admission.Menu, now quota.Version) bool {
	switch {
	case c.assignment == nil || c.menu != menu || !now.OnlyTaken(c.version):
		return false
	case c.mode != assign.Fit:
		return c.version == now && c.in == r.number
	case c.version == now:
		return true
	case menu.Queue.Fungibility.WhenCanBorrow == admission.TryNextFlavor:
		return false
	}
	height, fits := r.snapshot.Fit(c.place.Value.Queue, c.assignment.Usage)
	return fits && height == c.assignment.Borrowing
}
