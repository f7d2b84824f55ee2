package preempt

import (
	"cmp"
	"slices"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

// trial is what a search tries out: the need is booked as if it had been met, and candidates are taken off the books until
// nothing is overdrawn.
type trial struct {
	need   Need
	policy policy
	tree   *quota.Tree
	tx     *quota.Tx
	// path leads from the preemptor's queue to the root of its tree.
	path []*quota.Node
	// cells are the queue's accounts of what is needed.
	cells []*quota.Cell
	// contested are those of the cells that have too little left when everybody who leaves anyway has left. Nobody is
	// evicted who does not hold one of them.
	contested []*quota.Cell
	taken     []taken
	// left are those who leave anyway, and start is the state of the books once they have.
	left    []taken
	start   int
	leaving []*admission.Reservation
}

// taken is a candidate whose quota was taken, and why it was allowed.
type taken struct {
	*admission.Reservation
	because admission.Reason
}

// prepare gets ready for a need and reports whether it could ever be met.
func (t *trial) prepare(s *admission.Snapshot, n Need) bool {
	t.taken = t.taken[:0]
	menu := s.Menu(n.Queue)
	if menu == nil {
		t.policy = policyOf(admission.Preemption{}, n.Workload)
		return false
	}
	t.need, t.tree, t.policy = n, s.Quota(), policyOf(menu.Queue.Preemption, n.Workload)
	t.path, t.cells, t.contested = t.path[:0], t.cells[:0], t.contested[:0]
	for at := t.tree.QueueNode(n.Queue); at != nil; at = at.Parent() {
		t.path = append(t.path, at)
	}
	for _, use := range n.Usage {
		if use.Amount <= 0 {
			continue
		}
		cell := t.path[0].Cell(use.FlavorResource)
		if cell == nil || cell.Potential() < use.Amount {
			return false
		}
		t.cells = append(t.cells, cell)
	}
	return true
}

// top is the level of the root: a workload may borrow wherever there is something to borrow.
func (t *trial) top() int { return len(t.path) - 1 }

// fits reports whether nothing is overdrawn.
func (t *trial) fits() bool {
	for _, cell := range t.cells {
		if cell.Available() < 0 {
			return false
		}
	}
	return true
}

// within reports whether the subtree that is so many levels above the queue gets by with its own quota of all that is
// contested: at level 0, whether the queue does not borrow it.
func (t *trial) within(level int) bool {
	for _, cell := range t.contested {
		for range level {
			cell = cell.Above()
		}
		if cell.Over() {
			return false
		}
	}
	return true
}

// done reports whether the need is met with nothing contested borrowed from outside the subtree at the level.
func (t *trial) done(level int) bool {
	return t.fits() && (level == t.top() || t.within(level))
}

func (t *trial) take(r *admission.Reservation, because admission.Reason) {
	t.tx.Release(r.Queue, r.Usage)
	t.taken = append(t.taken, taken{Reservation: r, because: because})
}

// restart gives back everything but what those leave behind who leave anyway.
func (t *trial) restart() {
	t.tx.Undo(t.start)
	t.taken = append(t.taken[:0], t.left...)
}

// giveBack spares, the last taken first, everybody without whom it is done as well. Taking more never undoes what is done,
// so that nobody who is left could be spared either.
func (t *trial) giveBack(level int) {
	for i := len(t.taken) - 1; i >= 0; i-- {
		k := t.taken[i]
		t.tx.Reserve(k.Queue, k.Usage)
		if t.done(level) {
			t.taken = slices.Delete(t.taken, i, i+1)
			continue
		}
		t.tx.Release(k.Queue, k.Usage)
	}
}

// takeLeaving takes what those give back who were told to stop already, whatever the policies say: nobody is evicted for
// quota that is about to be free.
func (t *trial) takeLeaving(s *admission.Snapshot, fair bool) {
	t.leaving = s.AppendLeaving(t.leaving[:0], t.need.Queue)
	t.leaving = slices.DeleteFunc(t.leaving, func(r *admission.Reservation) bool { return !t.wants(r) })
	slices.SortFunc(t.leaving, func(a, b *admission.Reservation) int {
		return cmp.Or(t.standingOf(s, a).compare(t.standingOf(s, b)), admission.TakenBefore(a, b))
	})
	reason := t.reasonToReclaim(fair)
	for _, r := range t.leaving {
		if r.Queue == t.need.Queue {
			t.take(r, admission.InClusterQueue)
		} else {
			t.take(r, reason)
		}
	}
	clear(t.leaving)
	t.left = append(t.left[:0], t.taken...)
	t.start = t.tx.Mark()
}

// reasonToReclaim is why a workload of another queue that leaves anyway would have been taken.
func (t *trial) reasonToReclaim(fair bool) admission.Reason {
	for _, cell := range t.cells {
		switch {
		case !cell.Over():
		case fair:
			return admission.InCohortFairSharing
		default:
			return admission.InCohortReclaimWhileBorrowing
		}
	}
	return admission.InCohortReclamation
}

// wants reports whether the workload holds something of what is needed.
func (t *trial) wants(r *admission.Reservation) bool {
	return slices.ContainsFunc(r.Usage, func(use quota.Use) bool {
		return use.Amount > 0 && slices.ContainsFunc(t.cells, func(c *quota.Cell) bool { return c.Name() == use.FlavorResource })
	})
}

func (t *trial) findContested() {
	for _, cell := range t.cells {
		if cell.Available() < 0 {
			t.contested = append(t.contested, cell)
		}
	}
}

// standing comes before everything else in the order of candidates (contract: kueue-api.md 4.7).
type standing struct {
	// own candidates are in the preemptor's queue; they come last.
	own bool
	// usage is what the LocalQueue used of late, as far as its queue goes by that; the more, the earlier.
	usage amount.Amount
}

func (a standing) compare(b standing) int {
	switch {
	case a.own == b.own:
		return cmp.Compare(b.usage, a.usage)
	case b.own:
		return -1
	default:
		return 1
	}
}

func (t *trial) standingOf(s *admission.Snapshot, r *admission.Reservation) standing {
	local := admission.Key{Namespace: r.Namespace, Name: r.LocalQueue}
	return standing{own: r.Queue == t.need.Queue, usage: recentUsage(s, r.Queue, local)}
}

func recentUsage(s *admission.Snapshot, queue string, local admission.Key) amount.Amount {
	used := s.RecentUsage(local)
	if used == 0 {
		return 0
	}
	if menu := s.Menu(queue); menu == nil || !menu.Queue.UsageBased {
		return 0
	}
	return used
}
