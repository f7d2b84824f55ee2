package preempt

import (
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/quota"
)

// attempt is one way to make room: which subtree around the preemptor's queue gets by without borrowing, and from how far
// away candidates may come. Both count levels above the queue.
type attempt struct {
	// within is the level of the subtree that must not borrow anything contested in the end. Candidates outside of it hold
	// what the subtree owns and are taken by reclaimWithinCohort, those inside by borrowWithinCohort.
	within int
	// reach is the highest level of a node above both the preemptor's queue and a candidate's.
	reach int
}

// classical tries to make room without borrowing, then by borrowing from ever farther away (contract: kueue-api.md 4.7,
// where a cohort without a parent has two attempts). An attempt that takes from nobody outside gains nothing by not
// borrowing, so that its candidates are tried again with borrowing: fewer of them have to go.
func (x *Search) classical() bool {
	t := &x.trial
	for level := range t.top() {
		if x.try(attempt{within: level, reach: t.top()}) {
			return t.tookFromOutside() || x.try(attempt{within: t.top(), reach: level})
		}
	}
	return x.try(attempt{within: t.top(), reach: t.top()})
}

// try makes an attempt and reports whether it left a set without anybody who is not needed in trial.taken.
func (x *Search) try(a attempt) bool {
	t := &x.trial
	if a.within < t.top() && !x.canStayWithin(a.within) {
		return false
	}
	t.restart()
	if outside := x.collect(a); a.within < t.top() && !outside {
		return false
	}
	if !x.takeUntil(func() bool { return t.done(a.within) }) {
		return false
	}
	t.giveBack(a.within)
	return true
}

// canStayWithin reports whether the subtree at the level gets by with its own quota once all candidates inside are gone;
// nobody outside makes a difference for that.
func (x *Search) canStayWithin(level int) bool {
	t := &x.trial
	t.restart()
	if t.within(level) {
		return true
	}
	x.collect(attempt{within: t.top(), reach: level})
	return x.takeUntil(func() bool { return t.within(level) })
}

// takeUntil takes candidates from the stream until it is done, which it reports.
func (x *Search) takeUntil(done func() bool) bool {
	t := &x.trial
	var last *admission.Reservation
	for c, found := x.stream.next(); found; c, found = x.stream.next() {
		r := c.head()
		if r == last {
			continue
		}
		last = r
		t.take(r, c.because)
		if done() {
			return true
		}
	}
	return false
}

// tookFromOutside reports whether somebody has to go for what the preemptor's side owns.
func (t *trial) tookFromOutside() bool {
	for _, k := range t.taken {
		if !k.Evicted && k.because == admission.InCohortReclamation {
			return true
		}
	}
	return false
}

// collect fills the stream with the attempt's candidates and reports whether somebody outside is among them.
func (x *Search) collect(a attempt) (outside bool) {
	t := &x.trial
	x.stream.reset()
	for _, cell := range t.contested {
		own := cursor{standing: standing{own: true}, rule: t.policy.own, because: admission.InClusterQueue}
		x.stream.openRolls(x.snapshot, own, cell)
	}
	for _, cell := range t.contested {
		for level := 1; level <= a.within && level <= a.reach; level++ {
			x.collectAt(level, cell, cursor{rule: t.policy.inside, because: admission.InCohortReclaimWhileBorrowing})
		}
	}
	inside := len(x.stream.cursors)
	for _, cell := range t.contested {
		for level := a.within + 1; level <= a.reach; level++ {
			x.collectAt(level, cell, cursor{rule: t.policy.outside, because: admission.InCohortReclamation})
		}
	}
	outside = len(x.stream.cursors) > inside
	x.stream.ready()
	return outside
}

// collectAt opens the rolls below the path's node at the level and on no lower one, as far as borrowing goes.
func (x *Search) collectAt(level int, cell *quota.Cell, as cursor) {
	if as.rule.nobody() {
		return
	}
	for range level {
		cell = cell.Above()
	}
	as.below = cell.Node()
	for _, below := range cell.Below() {
		if below.Node() != x.trial.path[level-1] {
			x.collectBelow(below, as)
		}
	}
}

func (x *Search) collectBelow(cell *quota.Cell, as cursor) {
	switch {
	case !cell.Over():
	case cell.Node().IsQueue():
		as.cell = cell
		x.stream.openRolls(x.snapshot, as, cell)
	default:
		for _, below := range cell.Below() {
			x.collectBelow(below, as)
		}
	}
}
