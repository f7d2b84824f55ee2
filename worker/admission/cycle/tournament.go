package cycle

import (
	"switchyard.dev/worker/admission/order"
	"switchyard.dev/worker/admission/quota"
)

// tournament is the ordering under fair sharing: at each cohort the subtrees below compete with their best heads, and the
// winner competes at the cohort above (contract: kueue-api.md 4.3). Only what is booked at a queue or above it changes a
// share, so that serving a head costs new comparisons along one branch and no more.
type tournament struct {
	tree *quota.Tree
	// nonBorrowingFirst puts subtrees that would not borrow what the head asks for before those that would.
	nonBorrowingFirst bool
	entrants          map[*quota.Node]*entrant
	// roots compete as in the classical ordering: they have nothing in common.
	roots     *order.Heap[*entrant]
	headCount int
	// lastPopped is the queue whose head came out last. What was booked for it since is not taken in yet.
	lastPopped *entrant
}

// entrant is a queue or a cohort with its best head.
type entrant struct {
	node   *quota.Node
	parent *entrant
	// children are the entrants right below a cohort that have a head.
	children *order.Heap[*entrant]
	head     *nominatedHead
	// heapIndex is the index in the heap above, -1 outside.
	heapIndex int
	// share is what the node would have after the head was admitted, borrows whether it would borrow for it.
	share   quota.Share
	borrows bool
}

func newTournament(tree *quota.Tree, nonBorrowingFirst bool) *tournament {
	return &tournament{
		tree: tree, nonBorrowingFirst: nonBorrowingFirst, entrants: map[*quota.Node]*entrant{},
		roots: order.NewHeap(func(a, b *entrant) int { return order.CompareHeads(a.head.key, b.head.key) }, setHeapIndex),
	}
}

func setHeapIndex(e *entrant, at int) { e.heapIndex = at }

func (x *tournament) len() int { return x.headCount }

// push enters the head of a queue, in place of the queue's last one.
func (x *tournament) push(c *nominatedHead) {
	e := x.ensureEntrant(x.tree.QueueNode(c.queue.Name()))
	x.headCount++
	x.setHead(e, c)
	if x.lastPopped == e {
		x.lastPopped = nil
	}
}

// pop takes out the head that wins at the root of its tree. Its queue is compared anew only before the next pop, as its
// share may have changed by then.
func (x *tournament) pop() *nominatedHead {
	x.updateLastPopped()
	best := x.roots.First().head
	e := x.entrants[x.tree.QueueNode(best.queue.Name())]
	x.headCount--
	x.setHead(e, nil)
	x.lastPopped = e
	return best
}

// updateLastPopped weighs the branch again whose queue was served last, if no other head of it did.
func (x *tournament) updateLastPopped() {
	if e := x.lastPopped; e != nil {
		x.lastPopped = nil
		x.setHead(e, nil)
	}
}

// setHead gives the queue another head, nil for none, and takes that in at all cohorts above.
func (x *tournament) setHead(e *entrant, c *nominatedHead) {
	e.head = c
	for ; e != nil; e = e.parent {
		if e.children != nil {
			e.head = nil
			if e.children.Len() > 0 {
				e.head = e.children.First().head
			}
		}
		x.updatePosition(e)
	}
}

// updatePosition puts the entrant into its place among its siblings.
func (x *tournament) updatePosition(e *entrant) {
	heap := x.roots
	if e.parent != nil {
		heap = e.parent.children
	}
	if e.head == nil {
		if e.heapIndex >= 0 {
			heap.Remove(e.heapIndex)
		}
		return
	}
	if e.parent != nil {
		x.computeShare(e)
	}
	if e.heapIndex < 0 {
		heap.Push(e)
	} else {
		heap.Fix(e.heapIndex)
	}
}

// computeShare finds out what the node's share would be if its head were admitted.
func (x *tournament) computeShare(e *entrant) {
	trial := x.tree.BeginTrial()
	defer trial.Rollback()
	usage := e.head.charge
	trial.Reserve(e.head.queue.Name(), usage)
	e.share, e.borrows = e.node.Share(), false
	for _, use := range usage {
		if cell := e.node.Cell(use.FlavorResource); use.Amount > 0 && cell != nil && cell.Borrowed() > 0 {
			e.borrows = true
		}
	}
}

// ensureEntrant returns the entrant of a node, and makes it and those above it if needed.
func (x *tournament) ensureEntrant(n *quota.Node) *entrant {
	if e, found := x.entrants[n]; found {
		return e
	}
	e := &entrant{node: n, heapIndex: -1}
	x.entrants[n] = e
	if !n.IsQueue() {
		e.children = order.NewHeap(x.compare, setHeapIndex)
	}
	if above := n.Parent(); above != nil {
		e.parent = x.ensureEntrant(above)
	}
	return e
}

// compare orders siblings: those that wait for their victims first where a gate says so, then those that would not borrow,
// the smaller share, priority and age.
func (x *tournament) compare(a, b *entrant) int {
	switch {
	case a.head.key.Preferred != b.head.key.Preferred:
		return boolOrder(a.head.key.Preferred)
	case x.nonBorrowingFirst && a.borrows != b.borrows:
		return boolOrder(b.borrows)
	}
	if c := a.share.Compare(b.share); c != 0 {
		return c
	}
	return a.head.member.Rank().Compare(b.head.member.Rank())
}

// boolOrder is the outcome of a comparison that the first of two wins or loses.
func boolOrder(wins bool) int {
	if wins {
		return -1
	}
	return 1
}
