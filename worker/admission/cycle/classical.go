package cycle

import "switchyard.dev/worker/admission/order"

// classical is the contest without fair sharing: all heads against all (contract: kueue-api.md 4.3).
type classical struct{ heap *order.Heap[seat] }

// seat is a contender in the heap, with what nearly always decides at hand.
type seat struct {
	first     bool
	borrowing int32
	mark      order.Mark
	contender *contender
}

func newClassical() *classical {
	return &classical{heap: order.NewHeap(seat.compare, func(seat, int) {})}
}

func (a seat) compare(b seat) int {
	if a.first == b.first && a.borrowing == b.borrowing {
		if c := a.mark.Compare(b.mark); c != 0 {
			return c
		}
	}
	return order.Classical(a.contender.bid, b.contender.bid)
}

func (x *classical) push(c *contender) {
	x.heap.Push(seat{first: c.bid.First, borrowing: int32(c.bid.Borrowing), mark: c.mark, contender: c})
}

func (x *classical) pop() *contender {
	best := x.heap.First()
	x.heap.Remove(0)
	return best.contender
}

func (x *classical) len() int { return x.heap.Len() }
