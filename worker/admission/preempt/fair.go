package preempt

import "switchyard.dev/worker/admission"

// fair makes room by shares (contract: kueue-api.md 4.8): candidates come from wherever the share is greatest, and those
// of other queues must pass the share test of a strategy, unless the preemptor stays within its nominal quota.
func (x *Search) fair() bool {
	t, c := &x.trial, &x.contest
	t.restart()
	j := judge{trial: t, because: admission.InCohortFairSharing}
	if t.within(0) {
		j.because, j.exempt = admission.InCohortReclamation, x.options.WithinNominal
	}
	c.begin(x.snapshot, t)
	for i, strategy := range x.options.Strategies {
		if i > 0 && (j.exempt || !c.retry()) {
			return false
		}
		j.strategy = strategy
		for leaf := c.leader(); leaf != nil; leaf = c.leader() {
			if !c.step(leaf, j) {
				continue
			}
			if t.fits() {
				t.giveBack(t.top())
				return true
			}
		}
	}
	return false
}

// step takes the leaf's next candidate and reports whether there was one that passed.
func (c *contest) step(leaf *branch, j judge) bool {
	next, found := leaf.next()
	if !found {
		leaf.done = true
		c.reorder(leaf)
		return false
	}
	r := next.head()
	leaf.last, leaf.failed = r, !j.takes(leaf, r)
	if !leaf.failed {
		c.reorder(leaf)
		return true
	}
	leaf.leftovers = append(leaf.leftovers, next)
	// The test of LessThanInitialShare is about the queue's side alone, whose share never grows again.
	if leaf.done = j.strategy == LessThanInitialShare; leaf.done {
		c.reorder(leaf)
	} else {
		c.stepBack(leaf)
	}
	return false
}

// judge applies the share test.
type judge struct {
	trial    *trial
	strategy Strategy
	// exempt preemptors need not pass.
	exempt bool
	// because is the reason for taking from other queues.
	because admission.Reason
}

// takes has the candidate go if the strategy allows it. What is compared are the children of the lowest node above both
// queues: the preemptor's side with the workload, and the candidate's.
func (j judge) takes(leaf *branch, r *admission.Reservation) bool {
	t := j.trial
	if leaf.side == nil {
		t.take(r, admission.InClusterQueue)
		return true
	}
	if !j.exempt && !j.allows(leaf, r) {
		return false
	}
	t.take(r, j.because)
	return true
}

func (j judge) allows(leaf *branch, r *admission.Reservation) bool {
	switch j.strategy {
	case LessThanInitialShare:
		return leaf.rival.Compare(leaf.side.Share()) < 0
	case LessThanOrEqualToFinalShare:
		tx := j.trial.tx
		mark := tx.Mark()
		tx.Release(r.Queue, r.Usage)
		final := leaf.side.Share()
		tx.Undo(mark)
		return leaf.rival.Compare(final) <= 0
	}
	return false
}
