package cycle

import "switchyard.dev/worker/admission/order"

// classical is the contest without fair sharing: all heads against all (contract: kueue-api.md 4.3).
type classical struct{ heap *order.Heap[*contender] }

func newClassical() *classical {
	return &classical{heap: order.NewHeap(
		func(a, b *contender) int { return order.Classical(a.bid, b.bid) },
		func(*contender, int) {},
	)}
}

func (x *classical) push(c *contender) { x.heap.Push(c) }

func (x *classical) pop() *contender {
	best := x.heap.First()
	x.heap.Remove(0)
	return best
}

func (x *classical) len() int { return x.heap.Len() }
