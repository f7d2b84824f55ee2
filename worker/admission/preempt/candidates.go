package preempt

import (
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/quota"
)

// candidateStream yields candidates in the order in which to take them. It merges rolls that are sorted already, so that it costs
// what is read of it, not what there is.
type candidateStream struct {
	// cursors is a heap.
	cursors []candidateCursor
}

// candidateCursor is a place in a roll.
type candidateCursor struct {
	candidateKey
	candidates []*admission.Reservation
	index      int
	rule       priorityRule
	// cell is the account of the contested flavor-resource at the queue of the roll, nil if it is the preemptor's own queue.
	cell *quota.Cell
	// commonAncestor is the lowest node above both that queue and the preemptor's.
	commonAncestor *quota.Node
	// reason is the reason for taking from here.
	reason admission.Reason
}

func (c *candidateCursor) current() *admission.Reservation { return c.candidates[c.index] }

// isBorrowing reports whether the queue and all above it borrow, up to where the preemptor is a member, so that what is taken
// from them is not their own. Once they do not, they never do again in the same search.
func (c *candidateCursor) isBorrowing() bool {
	for at := c.cell; at != nil && at.Node() != c.commonAncestor; at = at.Above() {
		if !at.Over() {
			return false
		}
	}
	return true
}

func (c *candidateCursor) precedes(other *candidateCursor) bool {
	if c := c.candidateKey.compare(other.candidateKey); c != 0 {
		return c < 0
	}
	return admission.TakenBefore(c.current(), other.current()) < 0
}

// addQueueCandidates adds what a queue's workloads hold of one flavor-resource.
func (s *candidateStream) addQueueCandidates(in *admission.Snapshot, as candidateCursor, cell *quota.Cell) {
	if as.rule.allowsNone() {
		return
	}
	queue := cell.Node().Name()
	for _, roll := range in.Rolls(queue, cell.Name()) {
		as.candidates, as.recentUsage = roll.Holders, recentUsage(in, queue, roll.LocalQueue)
		s.addCursor(as)
	}
}

// addCursor adds a roll, unless nobody on it may be taken. Call ready before the first next.
func (s *candidateStream) addCursor(c candidateCursor) {
	if c.index = c.rule.nextAllowed(c.candidates, 0); c.index < len(c.candidates) {
		s.cursors = append(s.cursors, c)
	}
}

func (s *candidateStream) heapify() {
	for i := len(s.cursors)/2 - 1; i >= 0; i-- {
		s.siftDown(i)
	}
}

func (s *candidateStream) reset() { s.cursors = s.cursors[:0] }

// next returns the next candidate and where it was found; false if there is none left. A candidate that holds several of
// what is contested comes once for each, one right after the other.
func (s *candidateStream) next() (candidateCursor, bool) {
	first, found := s.peek()
	if !found {
		return first, false
	}
	top := &s.cursors[0]
	if top.index = top.rule.nextAllowed(top.candidates, top.index+1); top.index == len(top.candidates) {
		s.popFirst()
	} else {
		s.siftDown(0)
	}
	return first, true
}

// peek returns what next would.
func (s *candidateStream) peek() (candidateCursor, bool) {
	for len(s.cursors) > 0 {
		if s.cursors[0].isBorrowing() {
			return s.cursors[0], true
		}
		s.popFirst()
	}
	return candidateCursor{}, false
}

func (s *candidateStream) popFirst() {
	last := len(s.cursors) - 1
	s.cursors[0] = s.cursors[last]
	s.cursors = s.cursors[:last]
	s.siftDown(0)
}

func (s *candidateStream) siftDown(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(s.cursors); child++ {
			if s.cursors[child].precedes(&s.cursors[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		s.cursors[i], s.cursors[least] = s.cursors[least], s.cursors[i]
		i = least
	}
}
