package preempt

import (
	"cmp"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/order"
	"switchyard.dev/worker/admission/quota"
)

// targetNode is a node of the preemptor's tree below which there may be candidates.
type targetNode struct {
	node   *quota.Node
	parent *targetNode
	// level is that of the lowest node above this one that is above the preemptor's queue, too; or of the node itself, if it
	// is on the preemptor's path.
	level int
	// almostLCA is the child of that lowest node on this side, and rival the share of its child on the preemptor's side, the
	// workload included. On the preemptor's path side is nil.
	almostLCA      *quota.Node
	preemptorShare quota.Share
	// share is the node's as it is in the heap.
	share quota.Share
	// children has all nodes right below, byShare those that are not exhausted, the next target first; nil without children.
	children []*targetNode
	byShare  *order.Heap[*targetNode]
	// expanded is whether children, or for a queue its stream, was filled.
	expanded bool
	// exhausted is whether there are no candidates below any more.
	exhausted  bool
	candidates candidateStream
	// failedCandidates failed the strategies so far; second says that the candidates are what was left over before.
	failedCandidates, retryCandidates []candidateCursor
	retrying                          bool
	// lastCandidate is the candidate looked at last, and failed whether it did.
	lastCandidate *admission.Reservation
	lastFailed    bool
	// nextCandidate is the candidate that came next when the branch was compared last, nil for none, as far as known.
	nextCandidate *admission.Reservation
	nextKnown     bool
}

// popCandidate takes the queue's next candidate; false if there is none.
func (b *targetNode) popCandidate() (candidateCursor, bool) {
	first, found := b.peekCandidate()
	switch {
	case !found:
	case b.retrying:
		b.retryCandidates = b.retryCandidates[1:]
	default:
		b.candidates.next()
	}
	return first, found
}

// peekCandidate returns what next would. What the last candidate holds beside was judged with it.
func (b *targetNode) peekCandidate() (candidateCursor, bool) {
	for {
		first, found := b.peekCursor()
		if !found || first.current() != b.lastCandidate {
			return first, found
		}
		if b.retrying {
			b.retryCandidates = b.retryCandidates[1:]
		} else {
			b.candidates.next()
		}
		if b.lastFailed {
			b.failedCandidates = append(b.failedCandidates, first)
		}
	}
}

// peekCursor returns the next candidate of the queue without taking it; false if there is none.
func (b *targetNode) peekCursor() (candidateCursor, bool) {
	if !b.retrying {
		return b.candidates.peek()
	}
	for len(b.retryCandidates) > 0 {
		if b.retryCandidates[0].isBorrowing() {
			return b.retryCandidates[0], true
		}
		b.retryCandidates = b.retryCandidates[1:]
	}
	return candidateCursor{}, false
}

// nextCandidate returns the queue's next candidate as of the last look, nil for none.
func (c *targetOrdering) nextCandidate(b *targetNode) *admission.Reservation {
	if !b.expanded {
		c.expand(b)
	}
	if !b.nextKnown {
		b.nextCandidate, b.nextKnown = b.currentCandidate(), true
	}
	return b.nextCandidate
}

// currentCandidate is the reservation of this subtree that would be preempted next; nil if it has none left.
func (b *targetNode) currentCandidate() *admission.Reservation {
	if first, found := b.peekCandidate(); found {
		return first.current()
	}
	return nil
}

// compare is negative if candidates are taken from a before they are from b, a sibling: the greater share; of equal ones cohorts
// before queues and others before the preemptor's side; among queues the one whose next candidate preemption takes before,
// among cohorts by name (contract: messages.md 5.9). A candidate that is out of date only made the branch lead too early.
func (c *targetOrdering) compare(a, b *targetNode) int {
	if by := b.share.Compare(a.share); by != 0 {
		return by
	}
	if by := compareBool(a.node.IsQueue(), b.node.IsQueue()); by != 0 {
		return by
	}
	if by := compareBool(a.almostLCA == nil, b.almostLCA == nil); by != 0 {
		return by
	}
	if a.node.IsQueue() {
		if by := compareCandidates(c.nextCandidate(a), c.nextCandidate(b)); by != 0 {
			return by
		}
	}
	return cmp.Compare(a.node.Name(), b.node.Name())
}

// compareBool puts false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// compareCandidates is TakenBefore, and puts nil last.
func compareCandidates(a, b *admission.Reservation) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return admission.CompareCandidates(a, b)
}
