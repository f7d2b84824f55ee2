package preempt

import (
	"cmp"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/quota"
)

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
	// best is the candidate that came next when the branch was compared last, nil for none, as far as known.
	best  *admission.Reservation
	known bool
}

// next takes the queue's next candidate; false if there is none.
func (b *branch) next() (cursor, bool) {
	first, found := b.first()
	switch {
	case !found:
	case b.second:
		b.secondChance = b.secondChance[1:]
	default:
		b.stream.next()
	}
	return first, found
}

// first returns what next would. What the last candidate holds beside was judged with it.
func (b *branch) first() (cursor, bool) {
	for {
		first, found := b.peek()
		if !found || first.head() != b.last {
			return first, found
		}
		if b.second {
			b.secondChance = b.secondChance[1:]
		} else {
			b.stream.next()
		}
		if b.failed {
			b.leftovers = append(b.leftovers, first)
		}
	}
}

func (b *branch) peek() (cursor, bool) {
	if !b.second {
		return b.stream.first()
	}
	for len(b.secondChance) > 0 {
		if b.secondChance[0].overdrawn() {
			return b.secondChance[0], true
		}
		b.secondChance = b.secondChance[1:]
	}
	return cursor{}, false
}

// candidate returns the queue's next candidate as of the last look, nil for none.
func (c *contest) candidate(b *branch) *admission.Reservation {
	if !b.grown {
		c.grow(b)
	}
	if !b.known {
		b.best, b.known = b.look(), true
	}
	return b.best
}

func (b *branch) look() *admission.Reservation {
	if first, found := b.first(); found {
		return first.head()
	}
	return nil
}

// leads is whether candidates are taken from a before they are from b, a sibling: the greater share; of equal ones cohorts
// before queues and others before the preemptor's side; among queues the one whose next candidate preemption takes before,
// among cohorts by name (contract: messages.md 5.9). A candidate that is out of date only made the branch lead too early.
func (c *contest) leads(a, b *branch) bool {
	if by := a.share.Compare(b.share); by != 0 {
		return by > 0
	}
	if a.node.IsQueue() != b.node.IsQueue() {
		return b.node.IsQueue()
	}
	if (a.side == nil) != (b.side == nil) {
		return b.side == nil
	}
	if a.node.IsQueue() {
		if by := compareCandidates(c.candidate(a), c.candidate(b)); by != 0 {
			return by < 0
		}
	}
	return cmp.Less(a.node.Name(), b.node.Name())
}

// compareCandidates is TakenBefore, and puts nobody last.
func compareCandidates(a, b *admission.Reservation) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return admission.TakenBefore(a, b)
}
