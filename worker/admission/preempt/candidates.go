package preempt

import (
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/order"
	"switchyard.dev/worker/admission/quota"
)

// candidateStream yields candidates in the order in which to take them. It merges candidate lists that are sorted already, so
// that it costs what is read of it, not what there is.
type candidateStream struct {
	cursors []candidateCursor
	// byOrder has the indices of the cursors that are not exhausted; nil before the first use.
	byOrder *order.Heap[int]
}

// candidateCursor is a place in a candidate list.
type candidateCursor struct {
	candidateKey
	candidates []*admission.Reservation
	index      int
	rule       priorityRule
	// cell is the usage of the contested flavor-resource at the queue of the list, nil if it is the preemptor's own queue.
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
	for at := c.cell; at != nil && at.Node() != c.commonAncestor; at = at.Parent() {
		if !at.IsBorrowing() {
			return false
		}
	}
	return true
}

// compare orders cursors by their group and then by the candidate that each is at.
func (c *candidateCursor) compare(other *candidateCursor) int {
	if by := c.candidateKey.compare(other.candidateKey); by != 0 {
		return by
	}
	return admission.CompareCandidates(c.current(), other.current())
}

// addQueueCandidates adds what a queue's workloads hold of one flavor-resource.
func (s *candidateStream) addQueueCandidates(in *admission.Snapshot, as candidateCursor, cell *quota.Cell) {
	if as.rule.allowsNone() {
		return
	}
	queue := cell.Node().Name()
	for _, roll := range in.Candidates(queue, cell.Name()) {
		as.candidates, as.recentUsage = roll.Reservations, recentUsage(in, queue, roll.LocalQueue)
		s.addCursor(as)
	}
}

// addCursor adds a list of candidates, unless none of them may be taken. Call init before the first next.
func (s *candidateStream) addCursor(c candidateCursor) {
	if c.index = c.rule.nextAllowed(c.candidates, 0); c.index < len(c.candidates) {
		s.cursors = append(s.cursors, c)
	}
}

// init sorts the cursors that were added since reset.
func (s *candidateStream) init() {
	if s.byOrder == nil {
		s.byOrder = order.NewHeap(func(a, b int) int { return s.cursors[a].compare(&s.cursors[b]) }, nil)
	}
	s.byOrder.Clear()
	for i := range s.cursors {
		s.byOrder.Append(i)
	}
	s.byOrder.Init()
}

// reset empties the stream; its memory is reused.
func (s *candidateStream) reset() {
	s.cursors = s.cursors[:0]
	if s.byOrder != nil {
		s.byOrder.Clear()
	}
}

// next returns the next candidate and where it was found; false if there is none left. A candidate that holds several of
// what is contested comes once for each, one right after the other.
func (s *candidateStream) next() (candidateCursor, bool) {
	first, found := s.peek()
	if !found {
		return first, false
	}
	top := &s.cursors[s.byOrder.First()]
	if top.index = top.rule.nextAllowed(top.candidates, top.index+1); top.index == len(top.candidates) {
		s.byOrder.Remove(0)
	} else {
		s.byOrder.Fix(0)
	}
	return first, true
}

// peek returns what next would.
func (s *candidateStream) peek() (candidateCursor, bool) {
	for s.byOrder != nil && s.byOrder.Len() > 0 {
		if first := &s.cursors[s.byOrder.First()]; first.isBorrowing() {
			return *first, true
		}
		s.byOrder.Remove(0)
	}
	return candidateCursor{}, false
}
