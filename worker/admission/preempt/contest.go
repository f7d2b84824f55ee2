package preempt

import (
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/quota"
)

// contest finds the queue to take from next: from the root down, always to the child with the greatest share. It grows
// branches only where the way leads, and since a share changes only on the way to what was taken, only the first of each
// heap on that way may have to step back.
type contest struct {
	snapshot *admission.Snapshot
	trial    *trial
	root     *branch
	// branches are reused from one search to the next; the first grown of them are in use.
	branches []*branch
	grown    int
	// shares are those of the nodes of the preemptor's path as they would be with the workload and without any eviction. What
	// is taken on the preemptor's own side does not make it look poorer: it may have to be given back.
	shares []quota.Share
}

func (c *contest) begin(s *admission.Snapshot, t *trial) {
	c.snapshot, c.trial, c.shares = s, t, c.shares[:0]
	for _, n := range t.path {
		c.shares = append(c.shares, n.Share())
	}
	c.grown = 0
	c.root = c.branch(t.path[t.top()], t.top())
}

// branch returns a branch without anything below it.
func (c *contest) branch(n *quota.Node, level int) *branch {
	if c.grown == len(c.branches) {
		c.branches = append(c.branches, &branch{})
	}
	b := c.branches[c.grown]
	c.grown++
	*b = branch{
		node: n, level: level, heap: b.heap[:0], children: b.children[:0],
		stream: stream{cursors: b.stream.cursors[:0]}, leftovers: b.leftovers[:0],
	}
	return b
}

// leader returns the queue to take from next, nil if nobody is left.
func (c *contest) leader() *branch {
	b := c.root
	for !b.done {
		if !b.grown {
			c.grow(b)
		}
		switch {
		case b.node.IsQueue() && c.outOfDate(b):
			c.stepBack(b)
			b = c.root
		case b.node.IsQueue():
			return b
		case len(b.heap) > 0:
			b = b.heap[0]
		default:
			b.done = true
			c.reorder(b)
			b = c.root
		}
	}
	return nil
}

// outOfDate reports whether the queue's next candidate is another than the one that it was compared by, because its cohort
// ceased to borrow.
func (c *contest) outOfDate(b *branch) bool {
	if !b.known {
		return false
	}
	next := b.look()
	was := b.best
	b.best = next
	return next != was
}

// stepBack restores the order after the next candidate of a branch that led became another.
func (c *contest) stepBack(b *branch) {
	b.known = false
	if b.parent != nil {
		c.sink(b.parent.heap, 0)
	}
}

// reorder restores the order on the way up from a branch that led, after something was taken from it or it was done.
func (c *contest) reorder(b *branch) {
	for ; b.parent != nil; b = b.parent {
		heap := b.parent.heap
		if b.done {
			last := len(heap) - 1
			heap[0] = heap[last]
			b.parent.heap = heap[:last]
		} else {
			b.share, b.known = b.node.Share(), false
		}
		c.sink(b.parent.heap, 0)
	}
}

func (c *contest) sink(heap []*branch, i int) {
	for {
		first := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(heap); child++ {
			if c.leads(heap[child], heap[first]) {
				first = child
			}
		}
		if first == i {
			return
		}
		heap[i], heap[first] = heap[first], heap[i]
		i = first
	}
}

func (c *contest) order(heap []*branch) {
	for i := len(heap)/2 - 1; i >= 0; i-- {
		c.sink(heap, i)
	}
}

// retry starts over with what is left over and reports whether anything is.
func (c *contest) retry() bool {
	return c.retryAt(c.root)
}

// retryAt gives what is left over below the branch a second chance.
func (c *contest) retryAt(b *branch) bool {
	if b.node.IsQueue() {
		b.secondChance, b.leftovers, b.second, b.last, b.known = b.leftovers, nil, true, nil, false
		b.done = len(b.secondChance) == 0
		return !b.done
	}
	b.heap, b.done = b.heap[:0], true
	for _, child := range b.children {
		if c.retryAt(child) {
			b.heap = append(b.heap, child)
			b.done = false
		}
	}
	c.order(b.heap)
	return !b.done
}

// grow finds the branches below a cohort or the candidates of a queue.
func (c *contest) grow(b *branch) {
	b.grown = true
	if b.node.IsQueue() {
		c.openRolls(b)
		return
	}
	policy := c.trial.policy
	if b.side == nil && b.level > 0 {
		c.attach(b, c.branch(c.trial.path[b.level-1], b.level-1))
	}
	for k, contested := range c.trial.contested {
		if policy.outside.nobody() {
			break
		}
		cell := b.node.Cell(contested.Name())
		if cell == nil {
			continue
		}
		for _, below := range cell.Below() {
			if n := below.Node(); below.Over() && n != c.pathBelow(b) && !c.borrows(n, k) {
				c.attach(b, c.rivalBranch(b, n))
			}
		}
	}
	b.heap = append(b.heap, b.children...)
	c.order(b.heap)
}

// rivalBranch returns a branch off the preemptor's path.
func (c *contest) rivalBranch(above *branch, n *quota.Node) *branch {
	b := c.branch(n, above.level)
	b.side, b.rival = above.side, above.rival
	if b.side == nil {
		b.side, b.rival = n, c.shares[b.level-1]
	}
	return b
}

func (c *contest) attach(b, child *branch) {
	child.parent, child.share = b, child.node.Share()
	b.children = append(b.children, child)
}

// pathBelow returns the branch's child on the preemptor's path, nil if there is none.
func (c *contest) pathBelow(b *branch) *quota.Node {
	if b.side != nil || b.level == 0 {
		return nil
	}
	return c.trial.path[b.level-1]
}

// borrows reports whether the node borrows one of the first k contested flavor-resources.
func (c *contest) borrows(n *quota.Node, k int) bool {
	for _, contested := range c.trial.contested[:k] {
		if cell := n.Cell(contested.Name()); cell != nil && cell.Over() {
			return true
		}
	}
	return false
}

func (c *contest) openRolls(b *branch) {
	as := cursor{rule: c.trial.policy.outside, below: c.trial.path[b.level]}
	if b.side == nil {
		as.rule, as.own = c.trial.policy.own, true
	}
	for _, contested := range c.trial.contested {
		cell := b.node.Cell(contested.Name())
		if cell == nil {
			continue
		}
		if !as.own {
			as.cell = cell
		}
		b.stream.openRolls(c.snapshot, as, cell)
	}
	b.stream.ready()
}
