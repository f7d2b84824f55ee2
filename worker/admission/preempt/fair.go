package preempt

import (
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/quota"
)

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
	if r == leaf.last {
		if leaf.failed {
			leaf.leftovers = append(leaf.leftovers, next)
		}
		return false
	}
	leaf.last, leaf.failed = r, !j.takes(leaf, r)
	if leaf.failed {
		if j.strategy == LessThanInitialShare {
			// The test is about the queue's side alone, whose share never grows again.
			leaf.done = true
			c.reorder(leaf)
		}
		leaf.leftovers = append(leaf.leftovers, next)
		return false
	}
	c.reorder(leaf)
	return true
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
		tx := &j.trial.tx
		mark := tx.Mark()
		tx.Release(r.Queue, r.Usage)
		final := leaf.side.Share()
		tx.Undo(mark)
		return leaf.rival.Compare(final) <= 0
	}
	return false
}

// branch is a node of the preemptor's tree below which there may be candidates.
type branch struct {
	node   *quota.Node
	parent *branch
	// level is that of the lowest node above this one that is above the preemptor's queue, too; or of the node itself, if it
	// is on the preemptor's path.
	level int
	// side is the child of that lowest node on this side, and rival the share of its child on the preemptor's side, the
	// workload included. On the preemptor's path side is nil.
	side  *quota.Node
	rival quota.Share
	// share is the node's as it is in the heap.
	share quota.Share
	// heap has the children that are not done, the greatest share first; children has all.
	heap, children []*branch
	// grown is whether children, or for a queue its stream, was filled.
	grown bool
	// done is whether there are no candidates below any more.
	done   bool
	stream stream
	// leftovers failed the strategies so far; second says that the candidates are what was left over before.
	leftovers, secondChance []cursor
	second                  bool
	// last is the candidate looked at last, and failed whether it did.
	last   *admission.Reservation
	failed bool
}

// next returns the queue's next candidate.
func (b *branch) next() (cursor, bool) {
	if !b.second {
		return b.stream.next()
	}
	for len(b.secondChance) > 0 {
		first := b.secondChance[0]
		b.secondChance = b.secondChance[1:]
		if first.overdrawn() {
			return first, true
		}
	}
	return cursor{}, false
}

// leads reports whether candidates are taken from b before they are from other, a sibling: the greater share, other queues
// before one's own, then by name.
func (b *branch) leads(other *branch) bool {
	switch c := b.share.Compare(other.share); {
	case c != 0:
		return c > 0
	case (b.side == nil) != (other.side == nil):
		return b.side != nil
	case b.node.Name() != other.node.Name():
		return b.node.Name() < other.node.Name()
	default:
		return !b.node.IsQueue()
	}
}
