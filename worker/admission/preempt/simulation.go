package preempt

import (
	"cmp"
	"slices"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

// simulation is what a search tries out: the need is reserved as if it had been met, and candidates are removed from the usage until
// nothing is overdrawn.
type simulation struct {
	request Request
	policy  evictionPolicy
	tree    *quota.Tree
	tx      *quota.Tx
	// path leads from the preemptor's queue to the root of its tree.
	path []*quota.Node
	// requestedCells are the queue's accounts of what is needed.
	requestedCells []*quota.Cell
	// cellsNeedingPreemption are those of the cells that have too little left when all leaving workloads have left. Only
	// holders of one of them are evicted.
	cellsNeedingPreemption []*quota.Cell
	victims                []victim
	// leavingVictims are the workloads that leave anyway, and start is the usage once they have left.
	leavingVictims []victim
	startMark      int
	leaving        []*admission.Reservation
}

// victim is a candidate whose quota was taken, and why it was allowed.
type victim struct {
	*admission.Reservation
	reason admission.Reason
}

// prepare gets ready for a need and reports whether it could ever be met.
func (t *simulation) prepare(s *admission.Snapshot, n Request) bool {
	t.victims = t.victims[:0]
	flavors := s.FlavorTable(n.Queue)
	if flavors == nil {
		t.policy = newEvictionPolicy(admission.Preemption{}, n.Workload)
		return false
	}
	t.request, t.tree, t.policy = n, s.Quota(), newEvictionPolicy(flavors.Queue.Preemption, n.Workload)
	t.path, t.requestedCells, t.cellsNeedingPreemption = t.path[:0], t.requestedCells[:0], t.cellsNeedingPreemption[:0]
	for at := t.tree.QueueNode(n.Queue); at != nil; at = at.Parent() {
		t.path = append(t.path, at)
	}
	for _, use := range n.Usage {
		if use.Amount <= 0 {
			continue
		}
		cell := t.path[0].Cell(use.FlavorResource)
		if cell == nil || cell.PotentialAvailable() < use.Amount {
			return false
		}
		t.requestedCells = append(t.requestedCells, cell)
	}
	return true
}

// rootLevel is the level of the root: a workload may borrow wherever there is something to borrow.
func (t *simulation) rootLevel() int { return len(t.path) - 1 }

// fits reports whether nothing is overdrawn.
func (t *simulation) fits() bool {
	for _, cell := range t.requestedCells {
		if cell.Available() < 0 {
			return false
		}
	}
	return true
}

// fitsWithoutBorrowing reports whether the subtree that is so many levels above the queue gets by with its own quota of all that is
// contested: at level 0, whether the queue does not borrow it.
func (t *simulation) fitsWithoutBorrowing(level int) bool {
	for _, cell := range t.cellsNeedingPreemption {
		for range level {
			cell = cell.Parent()
		}
		if cell.IsBorrowing() {
			return false
		}
	}
	return true
}

// isSatisfied reports whether the need is met with nothing contested borrowed from outside the subtree at the level.
func (t *simulation) isSatisfied(level int) bool {
	return t.fits() && (level == t.rootLevel() || t.fitsWithoutBorrowing(level))
}

// addVictim releases the usage of a reservation within the simulation's transaction.
func (t *simulation) addVictim(r *admission.Reservation, because admission.Reason) {
	t.tx.Release(r.Queue, r.Usage)
	t.victims = append(t.victims, victim{Reservation: r, reason: because})
}

// reset gives back everything but what workloads that leave anyway leave behind.
func (t *simulation) reset() {
	t.tx.Undo(t.startMark)
	t.victims = append(t.victims[:0], t.leavingVictims...)
}

// fillBack spares, the last taken first, each victim without which the need is met as well. Taking more never undoes that, so
// that none of the victims left could be spared either.
func (t *simulation) fillBack(level int) {
	for i := len(t.victims) - 1; i >= 0; i-- {
		k := t.victims[i]
		t.tx.Reserve(k.Queue, k.Usage)
		if t.isSatisfied(level) {
			t.victims = slices.Delete(t.victims, i, i+1)
			continue
		}
		t.tx.Release(k.Queue, k.Usage)
	}
}

// addLeaving takes the quota of workloads that were told to stop already, whatever the policies say: no workload is evicted
// for quota that is about to be free.
func (t *simulation) addLeaving(s *admission.Snapshot, fair bool) {
	t.leaving = s.AppendLeaving(t.leaving[:0], t.request.Queue)
	t.leaving = slices.DeleteFunc(t.leaving, func(r *admission.Reservation) bool { return !t.holdsRequested(r) })
	slices.SortFunc(t.leaving, func(a, b *admission.Reservation) int {
		return cmp.Or(t.keyFor(s, a).compare(t.keyFor(s, b)), admission.CompareCandidates(a, b))
	})
	reason := t.leavingReason(fair)
	for _, r := range t.leaving {
		if r.Queue == t.request.Queue {
			t.addVictim(r, admission.InClusterQueue)
		} else {
			t.addVictim(r, reason)
		}
	}
	clear(t.leaving)
	t.leavingVictims = append(t.leavingVictims[:0], t.victims...)
	t.startMark = t.tx.Mark()
}

// leavingReason is why a workload of another queue that leaves anyway would have been taken.
func (t *simulation) leavingReason(fair bool) admission.Reason {
	for _, cell := range t.requestedCells {
		switch {
		case !cell.IsBorrowing():
		case fair:
			return admission.InCohortFairSharing
		default:
			return admission.InCohortReclaimWhileBorrowing
		}
	}
	return admission.InCohortReclamation
}

// holdsRequested reports whether the workload holds something of what is needed.
func (t *simulation) holdsRequested(r *admission.Reservation) bool {
	return slices.ContainsFunc(r.Usage, func(use quota.Use) bool {
		return use.Amount > 0 && slices.ContainsFunc(t.requestedCells, func(c *quota.Cell) bool { return c.Name() == use.FlavorResource })
	})
}

// findCellsNeedingPreemption collects the requested cells that are overdrawn once the request is added.
func (t *simulation) findCellsNeedingPreemption() {
	for _, cell := range t.requestedCells {
		if cell.Available() < 0 {
			t.cellsNeedingPreemption = append(t.cellsNeedingPreemption, cell)
		}
	}
}

// candidateKey comes before everything else in the order of candidates (contract: kueue-api.md 4.7).
type candidateKey struct {
	// sameQueue candidates are in the preemptor's queue; they come last.
	sameQueue bool
	// recentUsage is what the LocalQueue used of late, as far as its queue goes by that; the more, the earlier.
	recentUsage amount.Amount
}

// compare orders candidates of other queues before those of the preemptor's own, and these by falling recent usage.
func (a candidateKey) compare(b candidateKey) int {
	switch {
	case a.sameQueue == b.sameQueue:
		return cmp.Compare(b.recentUsage, a.recentUsage)
	case b.sameQueue:
		return -1
	default:
		return 1
	}
}

func (t *simulation) keyFor(s *admission.Snapshot, r *admission.Reservation) candidateKey {
	local := admission.Key{Namespace: r.Namespace, Name: r.LocalQueue}
	return candidateKey{sameQueue: r.Queue == t.request.Queue, recentUsage: recentUsage(s, r.Queue, local)}
}

// recentUsage returns the recent usage of a LocalQueue; 0 in a queue that is not ordered by it.
func recentUsage(s *admission.Snapshot, queue string, local admission.Key) amount.Amount {
	used := s.RecentUsage(local)
	if used == 0 {
		return 0
	}
	if flavors := s.FlavorTable(queue); flavors == nil || !flavors.Queue.UsageBased {
		return 0
	}
	return used
}
