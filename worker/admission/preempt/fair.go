package preempt

import "switchyard.dev/worker/admission"

// findFair makes room by shares (contract: kueue-api.md 4.8): candidates come from wherever the share is greatest, and those
// of other queues must pass the share test of a strategy, unless the preemptor stays within its nominal quota.
func (x *Search) findFair() bool {
	t, c := &x.simulation, &x.targets
	t.reset()
	j := fairShareTest{simulation: t, reason: admission.InCohortFairSharing}
	if t.fitsWithoutBorrowing(0) {
		j.reason, j.exempt = admission.InCohortReclamation, x.options.WithinNominal
	}
	c.reset(x.snapshot, t)
	for i, strategy := range x.options.Strategies {
		if i > 0 && (j.exempt || !c.retryFailed()) {
			return false
		}
		j.strategy = strategy
		for leaf := c.nextTarget(); leaf != nil; leaf = c.nextTarget() {
			if !c.tryNext(leaf, j) {
				continue
			}
			if t.fits() {
				t.fillBack(t.rootLevel())
				return true
			}
		}
	}
	return false
}

// tryNext takes the leaf's next candidate and reports whether there was one that passed.
func (c *targetOrdering) tryNext(leaf *targetNode, j fairShareTest) bool {
	next, found := leaf.popCandidate()
	if !found {
		leaf.exhausted = true
		c.fixAncestors(leaf)
		return false
	}
	r := next.current()
	leaf.lastCandidate, leaf.lastFailed = r, !j.evictIfAllowed(leaf, r)
	if !leaf.lastFailed {
		c.fixAncestors(leaf)
		return true
	}
	leaf.failedCandidates = append(leaf.failedCandidates, next)
	// The test of LessThanInitialShare is about the queue's side alone, whose share never grows again.
	if leaf.exhausted = j.strategy == LessThanInitialShare; leaf.exhausted {
		c.fixAncestors(leaf)
	} else {
		c.fixOrder(leaf)
	}
	return false
}

// fairShareTest applies the share test.
type fairShareTest struct {
	simulation *simulation
	strategy   Strategy
	// exempt preemptors need not pass.
	exempt bool
	// reason is the reason for taking from other queues.
	reason admission.Reason
}

// evictIfAllowed has the candidate go if the strategy allows it. What is compared are the children of the lowest node above both
// queues: the preemptor's side with the workload, and the candidate's.
func (j fairShareTest) evictIfAllowed(leaf *targetNode, r *admission.Reservation) bool {
	t := j.simulation
	if leaf.almostLCA == nil {
		t.addVictim(r, admission.InClusterQueue)
		return true
	}
	if !j.exempt && !j.allows(leaf, r) {
		return false
	}
	t.addVictim(r, j.reason)
	return true
}

// allows reports whether the shares permit taking the reservation from the leaf.
func (j fairShareTest) allows(leaf *targetNode, r *admission.Reservation) bool {
	switch j.strategy {
	case LessThanInitialShare:
		return leaf.preemptorShare.Compare(leaf.almostLCA.Share()) < 0
	case LessThanOrEqualToFinalShare:
		tx := j.simulation.tx
		mark := tx.Mark()
		tx.Release(r.Queue, r.Usage)
		final := leaf.almostLCA.Share()
		tx.Undo(mark)
		return leaf.preemptorShare.Compare(final) <= 0
	}
	return false
}
