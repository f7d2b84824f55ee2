package cycle

import (
	"switchyard.dev/worker/admission/order"
	"switchyard.dev/worker/admission/quota"
)

// tournament is the contest under fair sharing: at each cohort the subtrees below compete with their best heads, and the
// winner competes at the cohort above (contract: kueue-api.md 4.3). Only what is booked at a queue or above it changes a
// share, so that serving a head costs new comparisons along one branch and no more.
type tournament struct {
	tree *quota.Tree
	// nonBorrowingFirst puts subtrees that would not borrow what the head asks for before those that would.
	nonBorrowingFirst bool
	entrants          map[*quota.Node]*entrant
	// roots compete as in the classical contest: they have nothing in common.
	roots *order.Heap[*entrant]
	n     int
	// served is the queue whose head came out last. What was booked for it since is not taken in yet.
	served *entrant
}

// entrant is a queue or a cohort with its best head.
type entrant struct {
	node  *quota.Node
	above *entrant
	// below are the entrants right below a cohort that have a head.
	below *order.Heap[*entrant]
	head  *contender
	// at is the index in the heap above, -1 outside.
	at int
	// share is what the node would have after the head was admitted, borrows whether it would borrow for it.
	share   quota.Share
	borrows bool
}

func newTournament(tree *quota.Tree, nonBorrowingFirst bool) *tournament {
	return &tournament{
		tree: tree, nonBorrowingFirst: nonBorrowingFirst, entrants: map[*quota.Node]*entrant{},
		roots: order.NewHeap(func(a, b *entrant) int { return order.Classical(a.head.bid, b.head.bid) }, place),
	}
}

func place(e *entrant, at int) { e.at = at }

func (x *tournament) len() int { return x.n }

func (x *tournament) push(c *contender) {
	e := x.entrant(x.tree.QueueNode(c.lane.Name()))
	x.n++
	x.setHead(e, c)
	if x.served == e {
		x.served = nil
	}
}

func (x *tournament) pop() *contender {
	x.takeIn()
	best := x.roots.First().head
	e := x.entrants[x.tree.QueueNode(best.lane.Name())]
	x.n--
	x.setHead(e, nil)
	x.served = e
	return best
}

// takeIn weighs the branch again whose queue was served last, if no other head of it did.
func (x *tournament) takeIn() {
	if e := x.served; e != nil {
		x.served = nil
		x.setHead(e, nil)
	}
}

// setHead gives the queue another head, nil for none, and takes that in at all cohorts above.
func (x *tournament) setHead(e *entrant, c *contender) {
	e.head = c
	for ; e != nil; e = e.above {
		if e.below != nil {
			e.head = nil
			if e.below.Len() > 0 {
				e.head = e.below.First().head
			}
		}
		x.enter(e)
	}
}

// enter puts the entrant into its place among its siblings.
func (x *tournament) enter(e *entrant) {
	heap := x.roots
	if e.above != nil {
		heap = e.above.below
	}
	if e.head == nil {
		if e.at >= 0 {
			heap.Remove(e.at)
		}
		return
	}
	if e.above != nil {
		x.weigh(e)
	}
	if e.at < 0 {
		heap.Push(e)
	} else {
		heap.Fix(e.at)
	}
}

// weigh finds out what the node's share would be if its head were admitted.
func (x *tournament) weigh(e *entrant) {
	trial := x.tree.Trial()
	defer trial.Rollback()
	usage := e.head.assignment.Usage
	trial.Reserve(e.head.lane.Name(), usage)
	e.share, e.borrows = e.node.Share(), false
	for _, use := range usage {
		if cell := e.node.Cell(use.FlavorResource); use.Amount > 0 && cell != nil && cell.Borrowed() > 0 {
			e.borrows = true
		}
	}
}

func (x *tournament) entrant(n *quota.Node) *entrant {
	if e, found := x.entrants[n]; found {
		return e
	}
	e := &entrant{node: n, at: -1}
	x.entrants[n] = e
	if !n.IsQueue() {
		e.below = order.NewHeap(x.compare, place)
	}
	if above := n.Parent(); above != nil {
		e.above = x.entrant(above)
	}
	return e
}

// compare orders siblings: those that wait for their victims first where a gate says so, then those that would not borrow,
// the smaller share, priority and age.
func (x *tournament) compare(a, b *entrant) int {
	switch {
	case a.head.bid.First != b.head.bid.First:
		return before(a.head.bid.First)
	case x.nonBorrowingFirst && a.borrows != b.borrows:
		return before(b.borrows)
	}
	if c := a.share.Compare(b.share); c != 0 {
		return c
	}
	return a.head.place.Rank().Compare(b.head.place.Rank())
}

// before is the outcome of a comparison that the first of two wins or loses.
func before(wins bool) int {
	if wins {
		return -1
	}
	return 1
}
