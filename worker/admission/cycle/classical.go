package cycle

import "switchyard.dev/worker/admission/order"

// classicalOrdering is the ordering without fair sharing: all heads against all (contract: kueue-api.md 4.3).
type classicalOrdering struct{ heap *order.Heap[heapItem] }

// heapItem is a head in the heap, with what nearly always decides at hand.
type heapItem struct {
	preferred       bool
	borrowingHeight int32
	prefix          order.RankPrefix
	head            *nominatedHead
}

func newClassicalOrdering() *classicalOrdering {
	return &classicalOrdering{heap: order.NewHeap(heapItem.compare, nil)}
}

// compare orders heads as their keys do. Where preference and borrowing height are equal, the prefixes may spare the
// comparison of whole keys.
func (a heapItem) compare(b heapItem) int {
	if a.preferred == b.preferred && a.borrowingHeight == b.borrowingHeight {
		if c := a.prefix.Compare(b.prefix); c != 0 {
			return c
		}
	}
	return order.CompareHeads(a.head.key, b.head.key)
}

func (x *classicalOrdering) push(c *nominatedHead) {
	x.heap.Push(heapItem{preferred: c.key.Preferred, borrowingHeight: int32(c.key.BorrowingHeight), prefix: c.prefix, head: c})
}

// pop takes out the head that is next. The ordering must not be empty.
func (x *classicalOrdering) pop() *nominatedHead {
	best := x.heap.First()
	x.heap.Remove(0)
	return best.head
}

func (x *classicalOrdering) len() int { return x.heap.Len() }
