package preempt

import (
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/quota"
)

// stream yields candidates in the order in which to take them. It merges rolls that are sorted already, so that it costs
// what is read of it, not what there is.
type stream struct {
	// cursors is a heap.
	cursors []cursor
}

// cursor is a place in a roll.
type cursor struct {
	standing
	roll []*admission.Reservation
	at   int
	rule rule
	// cell is the account of the contested flavor-resource at the queue of the roll, nil if it is the preemptor's own queue.
	cell *quota.Cell
	// below is the lowest node above both that queue and the preemptor's.
	below *quota.Node
	// because is the reason for taking from here.
	because admission.Reason
}

func (c *cursor) head() *admission.Reservation { return c.roll[c.at] }

// overdrawn reports whether the queue and all above it borrow, up to where the preemptor is a member, so that what is taken
// from them is not their own. Once they do not, they never do again in the same search.
func (c *cursor) overdrawn() bool {
	for at := c.cell; at != nil && at.Node() != c.below; at = at.Above() {
		if !at.Over() {
			return false
		}
	}
	return true
}

func (c *cursor) before(other *cursor) bool {
	if c := c.standing.compare(other.standing); c != 0 {
		return c < 0
	}
	return admission.TakenBefore(c.head(), other.head()) < 0
}

// openRolls adds what a queue's workloads hold of one flavor-resource.
func (s *stream) openRolls(in *admission.Snapshot, as cursor, cell *quota.Cell) {
	if as.rule.nobody() {
		return
	}
	queue := cell.Node().Name()
	for _, roll := range in.Rolls(queue, cell.Name()) {
		as.roll, as.usage = roll.Holders, recentUsage(in, queue, roll.LocalQueue)
		s.open(as)
	}
}

// open adds a roll, unless nobody on it may be taken. Call ready before the first next.
func (s *stream) open(c cursor) {
	if c.at = c.rule.next(c.roll, 0); c.at < len(c.roll) {
		s.cursors = append(s.cursors, c)
	}
}

func (s *stream) ready() {
	for i := len(s.cursors)/2 - 1; i >= 0; i-- {
		s.sink(i)
	}
}

func (s *stream) reset() { s.cursors = s.cursors[:0] }

// next returns the next candidate and where it was found; false if there is none left. A candidate that holds several of
// what is contested comes once for each, one right after the other.
func (s *stream) next() (cursor, bool) {
	first, found := s.first()
	if !found {
		return first, false
	}
	top := &s.cursors[0]
	if top.at = top.rule.next(top.roll, top.at+1); top.at == len(top.roll) {
		s.drop()
	} else {
		s.sink(0)
	}
	return first, true
}

// first returns what next would.
func (s *stream) first() (cursor, bool) {
	for len(s.cursors) > 0 {
		if s.cursors[0].overdrawn() {
			return s.cursors[0], true
		}
		s.drop()
	}
	return cursor{}, false
}

func (s *stream) drop() {
	last := len(s.cursors) - 1
	s.cursors[0] = s.cursors[last]
	s.cursors = s.cursors[:last]
	s.sink(0)
}

func (s *stream) sink(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(s.cursors); child++ {
			if s.cursors[child].before(&s.cursors[least]) {
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
