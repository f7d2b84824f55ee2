package preempt

import (
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/order"
	"switchyard.dev/worker/admission/quota"
)

// targetOrdering finds the queue to take from next: from the root down, always to the child with the greatest share. It grows
// branches only where the way leads, and since a share changes only on the way to what was taken, only the first of each
// heap on that way may have to step back.
type targetOrdering struct {
	snapshot   *admission.Snapshot
	simulation *simulation
	root       *targetNode
	// nodes are reused from one search to the next; the first grown of them are in use.
	nodes      []*targetNode
	nodesInUse int
	// preemptorShares are those of the nodes of the preemptor's path as they would be with the workload and without any eviction. What
	// is taken on the preemptor's own side does not make it look poorer: it may have to be given back.
	preemptorShares []quota.Share
}

func (c *targetOrdering) reset(s *admission.Snapshot, t *simulation) {
	c.snapshot, c.simulation, c.preemptorShares = s, t, c.preemptorShares[:0]
	for _, n := range t.path {
		c.preemptorShares = append(c.preemptorShares, n.Share())
	}
	c.nodesInUse = 0
	c.root = c.newNode(t.path[t.rootLevel()], t.rootLevel())
}

// newNode returns a branch without anything below it.
func (c *targetOrdering) newNode(n *quota.Node, level int) *targetNode {
	if c.nodesInUse == len(c.nodes) {
		c.nodes = append(c.nodes, &targetNode{})
	}
	b := c.nodes[c.nodesInUse]
	c.nodesInUse++
	if b.byShare != nil {
		b.byShare.Clear()
	}
	b.candidates.reset()
	*b = targetNode{
		node: n, level: level, byShare: b.byShare, children: b.children[:0],
		candidates: b.candidates, failedCandidates: b.failedCandidates[:0],
	}
	return b
}

// nextTarget returns the queue to take from next, nil if none is left.
func (c *targetOrdering) nextTarget() *targetNode {
	b := c.root
	for !b.exhausted {
		if !b.expanded {
			c.expand(b)
		}
		switch {
		case b.node.IsQueue() && c.isStale(b):
			c.fixOrder(b)
			b = c.root
		case b.node.IsQueue():
			return b
		case b.byShare.Len() > 0:
			b = b.byShare.First()
		default:
			b.exhausted = true
			c.fixAncestors(b)
			b = c.root
		}
	}
	return nil
}

// isStale reports whether the queue's next candidate is another than the one that it was compared by, because its cohort
// ceased to borrow.
func (c *targetOrdering) isStale(b *targetNode) bool {
	if !b.nextKnown {
		return false
	}
	next := b.currentCandidate()
	was := b.nextCandidate
	b.nextCandidate = next
	return next != was
}

// fixOrder restores the order after the next candidate of a branch that led became another.
func (c *targetOrdering) fixOrder(b *targetNode) {
	b.nextKnown = false
	if b.parent != nil {
		b.parent.byShare.Fix(0)
	}
}

// fixAncestors restores the order on the way up from a branch that led, after something was taken from it or it was done.
func (c *targetOrdering) fixAncestors(b *targetNode) {
	for ; b.parent != nil; b = b.parent {
		if b.exhausted {
			b.parent.byShare.Remove(0)
			continue
		}
		b.share, b.nextKnown = b.node.Share(), false
		b.parent.byShare.Fix(0)
	}
}

// retryFailed starts over with what is left over and reports whether anything is.
func (c *targetOrdering) retryFailed() bool {
	return c.retryBelow(c.root)
}

// retryBelow gives what is left over below the branch a second chance.
func (c *targetOrdering) retryBelow(b *targetNode) bool {
	if b.node.IsQueue() {
		b.retryCandidates, b.failedCandidates, b.retrying, b.lastCandidate, b.nextKnown = b.failedCandidates, nil, true, nil, false
		b.exhausted = len(b.retryCandidates) == 0
		return !b.exhausted
	}
	b.exhausted = true
	if !b.expanded {
		return false
	}
	b.byShare.Clear()
	for _, child := range b.children {
		if c.retryBelow(child) {
			b.byShare.Append(child)
			b.exhausted = false
		}
	}
	b.byShare.Init()
	return !b.exhausted
}

// expand finds the branches below a cohort or the candidates of a queue.
func (c *targetOrdering) expand(b *targetNode) {
	b.expanded = true
	if b.node.IsQueue() {
		c.addCandidates(b)
		return
	}
	policy := c.simulation.policy
	if b.almostLCA == nil && b.level > 0 {
		c.addChild(b, c.newNode(c.simulation.path[b.level-1], b.level-1))
	}
	for k, lacking := range c.simulation.cellsNeedingPreemption {
		if policy.reclaimWithinCohort.allowsNone() {
			break
		}
		cell := b.node.Cell(lacking.Name())
		if cell == nil {
			continue
		}
		for _, below := range cell.Children() {
			if n := below.Node(); below.IsBorrowing() && n != c.preemptorChild(b) && !c.borrowsAny(n, k) {
				c.addChild(b, c.newOutsideNode(b, n))
			}
		}
	}
	if b.byShare == nil {
		b.byShare = order.NewHeap(c.compare, nil)
	}
	for _, child := range b.children {
		b.byShare.Append(child)
	}
	b.byShare.Init()
}

// newOutsideNode returns a branch off the preemptor's path.
func (c *targetOrdering) newOutsideNode(above *targetNode, n *quota.Node) *targetNode {
	b := c.newNode(n, above.level)
	b.almostLCA, b.preemptorShare = above.almostLCA, above.preemptorShare
	if b.almostLCA == nil {
		b.almostLCA, b.preemptorShare = n, c.preemptorShares[b.level-1]
	}
	return b
}

func (c *targetOrdering) addChild(b, child *targetNode) {
	child.parent, child.share = b, child.node.Share()
	b.children = append(b.children, child)
}

// preemptorChild returns the branch's child on the preemptor's path, nil if there is none.
func (c *targetOrdering) preemptorChild(b *targetNode) *quota.Node {
	if b.almostLCA != nil || b.level == 0 {
		return nil
	}
	return c.simulation.path[b.level-1]
}

// borrowsAny reports whether the node borrows one of the first k contested flavor-resources.
func (c *targetOrdering) borrowsAny(n *quota.Node, k int) bool {
	for _, lacking := range c.simulation.cellsNeedingPreemption[:k] {
		if cell := n.Cell(lacking.Name()); cell != nil && cell.IsBorrowing() {
			return true
		}
	}
	return false
}

// addCandidates adds the candidates of the node's queue, by the policy that applies to it.
func (c *targetOrdering) addCandidates(b *targetNode) {
	as := candidateCursor{rule: c.simulation.policy.reclaimWithinCohort, commonAncestor: c.simulation.path[b.level]}
	if b.almostLCA == nil {
		as.rule, as.sameQueue = c.simulation.policy.withinQueue, true
	}
	for _, lacking := range c.simulation.cellsNeedingPreemption {
		cell := b.node.Cell(lacking.Name())
		if cell == nil {
			continue
		}
		if !as.sameQueue {
			as.cell = cell
		}
		b.candidates.addQueueCandidates(c.snapshot, as, cell)
	}
	b.candidates.init()
}
