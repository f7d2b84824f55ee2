package preempt

import (
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/quota"
)

// searchScope is one way to make room: which subtree around the preemptor's queue gets by without borrowing, and from how far
// away candidates may come. Both count levels above the queue.
type searchScope struct {
	// noBorrowLevel is the level of the subtree that must not borrow anything contested in the end. Candidates outside of it hold
	// what the subtree owns and are taken by reclaimWithinCohort, those inside by borrowWithinCohort.
	noBorrowLevel int
	// maxLevel is the highest level of a node above both the preemptor's queue and a candidate's.
	maxLevel int
}

// findClassical tries to make room without borrowing, then by borrowing from ever farther away (contract: kueue-api.md 4.7,
// where a cohort without a parent has two attempts). An attempt that takes nothing from outside gains nothing by not
// borrowing, so that its candidates are tried again with borrowing: fewer of them have to go.
func (x *Search) findClassical() bool {
	t := &x.simulation
	for level := range t.rootLevel() {
		if x.tryScope(searchScope{noBorrowLevel: level, maxLevel: t.rootLevel()}) {
			return t.hasReclaimed() || x.tryScope(searchScope{noBorrowLevel: t.rootLevel(), maxLevel: level})
		}
	}
	return x.tryScope(searchScope{noBorrowLevel: t.rootLevel(), maxLevel: t.rootLevel()})
}

// tryScope makes an attempt and reports whether it left a set without unnecessary victims in trial.taken.
func (x *Search) tryScope(a searchScope) bool {
	t := &x.simulation
	if a.noBorrowLevel < t.rootLevel() && !x.canFitWithoutBorrowing(a.noBorrowLevel) {
		return false
	}
	t.reset()
	if outside := x.collectCandidates(a); a.noBorrowLevel < t.rootLevel() && !outside {
		return false
	}
	if !x.addVictimsUntil(func() bool { return t.isSatisfied(a.noBorrowLevel) }) {
		return false
	}
	t.fillBack(a.noBorrowLevel)
	return true
}

// canFitWithoutBorrowing reports whether the subtree at the level gets by with its own quota once all candidates inside are
// gone; candidates outside make no difference for that.
func (x *Search) canFitWithoutBorrowing(level int) bool {
	t := &x.simulation
	t.reset()
	if t.fitsWithoutBorrowing(level) {
		return true
	}
	x.collectCandidates(searchScope{noBorrowLevel: t.rootLevel(), maxLevel: level})
	return x.addVictimsUntil(func() bool { return t.fitsWithoutBorrowing(level) })
}

// addVictimsUntil takes candidates from the stream until it is done, which it reports.
func (x *Search) addVictimsUntil(done func() bool) bool {
	t := &x.simulation
	var last *admission.Reservation
	for c, found := x.candidates.next(); found; c, found = x.candidates.next() {
		r := c.current()
		if r == last {
			continue
		}
		last = r
		t.addVictim(r, c.reason)
		if done() {
			return true
		}
	}
	return false
}

// hasReclaimed reports whether a victim has to go for what the preemptor's side owns.
func (t *simulation) hasReclaimed() bool {
	for _, k := range t.victims {
		if !k.Evicted && k.reason == admission.InCohortReclamation {
			return true
		}
	}
	return false
}

// collectCandidates fills the stream with the attempt's candidates and reports whether one from outside is among them.
func (x *Search) collectCandidates(a searchScope) (outside bool) {
	t := &x.simulation
	x.candidates.reset()
	for _, cell := range t.cellsNeedingPreemption {
		own := candidateCursor{candidateKey: candidateKey{sameQueue: true}, rule: t.policy.withinQueue, reason: admission.InClusterQueue}
		x.candidates.addQueueCandidates(x.snapshot, own, cell)
	}
	for _, cell := range t.cellsNeedingPreemption {
		for level := 1; level <= a.noBorrowLevel && level <= a.maxLevel; level++ {
			x.collectAtLevel(level, cell, candidateCursor{rule: t.policy.borrowWithinCohort, reason: admission.InCohortReclaimWhileBorrowing})
		}
	}
	inside := len(x.candidates.cursors)
	for _, cell := range t.cellsNeedingPreemption {
		for level := a.noBorrowLevel + 1; level <= a.maxLevel; level++ {
			x.collectAtLevel(level, cell, candidateCursor{rule: t.policy.reclaimWithinCohort, reason: admission.InCohortReclamation})
		}
	}
	outside = len(x.candidates.cursors) > inside
	x.candidates.init()
	return outside
}

// collectAtLevel opens the candidate lists below the path's node at the level and on no lower one, as far as borrowing goes.
func (x *Search) collectAtLevel(level int, cell *quota.Cell, as candidateCursor) {
	if as.rule.allowsNone() {
		return
	}
	for range level {
		cell = cell.Parent()
	}
	as.commonAncestor = cell.Node()
	for _, below := range cell.Children() {
		if below.Node() != x.simulation.path[level-1] {
			x.collectInSubtree(below, as)
		}
	}
}

// collectInSubtree adds the candidates of all queues below the cell that borrow, as far as the nodes above them borrow as
// well.
func (x *Search) collectInSubtree(cell *quota.Cell, as candidateCursor) {
	switch {
	case !cell.IsBorrowing():
	case cell.Node().IsQueue():
		as.cell = cell
		x.candidates.addQueueCandidates(x.snapshot, as, cell)
	default:
		for _, below := range cell.Children() {
			x.collectInSubtree(below, as)
		}
	}
}
