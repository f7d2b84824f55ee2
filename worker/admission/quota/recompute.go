package quota

import (
	"cmp"
	"maps"
	"slices"

	"switchyard.dev/worker/admission/amount"
)

// recompute computes everything that follows from grants, parents and the queues' own usage: links, cycles, subtree quotas,
// the usage booked at cohorts, heights, families. It does nothing when nothing changed since the last time.
func (t *Tree) recompute() {
	if t.upToDate {
		return
	}
	t.upToDate = true
	t.generation++
	t.prune()
	nodes := t.linkNodes()
	for _, n := range nodes {
		n.findRoot()
	}
	slices.SortFunc(nodes, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(b.depth, a.depth), cmp.Compare(a.siblingRank(), b.siblingRank()),
			cmp.Compare(a.name, b.name))
	})
	for _, n := range nodes {
		n.addToParent()
	}
	for _, n := range slices.Backward(nodes) {
		n.addParentCells()
	}
	for _, n := range nodes {
		n.addToRoot()
	}
	for _, n := range nodes {
		slices.Sort(n.queueNames)
	}
}

// prune drops the nodes that exist for no reason any more. Cohorts that are still named come back in link.
func (t *Tree) prune() {
	maps.DeleteFunc(t.cohorts, func(_ string, n *Node) bool { return !n.declared })
	maps.DeleteFunc(t.queues, func(_ string, n *Node) bool {
		return !n.declared && !n.isInUse()
	})
}

func (n *Node) isInUse() bool {
	for _, cell := range n.cells {
		if cell.usage != (amount.Sum{}) {
			return true
		}
	}
	return false
}

// linkNodes connects all nodes to their parents, making up the cohorts that are only named, and clears what was computed. It
// returns every node, the made up ones included.
func (t *Tree) linkNodes() []*Node {
	nodes := make([]*Node, 0, len(t.queues)+len(t.cohorts))
	nodes = slices.AppendSeq(nodes, maps.Values(t.queues))
	nodes = slices.AppendSeq(nodes, maps.Values(t.cohorts))
	for i := 0; i < len(nodes); i++ {
		n := nodes[i]
		n.parent, n.root, n.inCycle, n.height, n.depth = nil, nil, false, 0, 0
		n.queueNames, n.children, n.byResource = nil, nil, nil
		if n.parentName == "" {
			continue
		}
		known := len(t.cohorts)
		n.parent = t.ensureCohort(n.parentName)
		if len(t.cohorts) > known {
			nodes = append(nodes, n.parent)
		}
	}
	for _, n := range nodes {
		n.resetCells()
	}
	return nodes
}

// resetCells makes a cohort's cells afresh from its grants, and unlinks a queue's; sumUp links them from below.
func (n *Node) resetCells() {
	if !n.isCohort {
		for _, cell := range n.cells {
			cell.parent, cell.children, cell.subtreeQuota = nil, nil, 0
		}
		return
	}
	n.cells = make(map[FlavorResource]*Cell, len(n.grants))
	for _, g := range n.grants {
		n.cells[g.FlavorResource] = &Cell{node: n, name: g.FlavorResource, limits: g.Limits}
	}
}

// findRoot finds the root and the depth of the node and of all above it. Where the parents run into a cycle, the node of
// the cycle with the smallest name stands in as the root, and everything that leads there is cyclic.
func (n *Node) findRoot() {
	var path []*Node
	onPath := map[*Node]int{}
	at := n
	for at.root == nil {
		if first, seen := onPath[at]; seen {
			markCycle(path[first:])
			break
		}
		onPath[at] = len(path)
		path = append(path, at)
		if at.parent == nil {
			at.root = at
			break
		}
		at = at.parent
	}
	for _, below := range slices.Backward(path) {
		if below.root == nil {
			below.root, below.inCycle, below.depth = below.parent.root, below.parent.inCycle, below.parent.depth+1
		}
	}
}

func markCycle(cycle []*Node) {
	root := slices.MinFunc(cycle, func(a, b *Node) int { return cmp.Compare(a.name, b.name) })
	for _, n := range cycle {
		n.root, n.inCycle = root, true
	}
}

// addToParent completes the node's own cells, all nodes below being complete, and adds them to the parent's. Nodes of a cycle
// pass nothing on.
func (n *Node) addToParent() {
	for _, cell := range n.cells {
		cell.subtreeQuota = cell.subtreeQuota.Add(cell.limits.Nominal)
		if n.parent == nil || n.inCycle {
			continue
		}
		cell.linkToParent()
		cell.parent.subtreeQuota = cell.parent.subtreeQuota.Add(cell.lendableQuota())
		cell.parent.usage = cell.parent.usage.Plus(cell.usage.Excess(cell.localQuota()))
	}
	if n.parent != nil && !n.inCycle {
		n.parent.height = max(n.parent.height, n.height+1)
		n.parent.children = append(n.parent.children, n)
	}
}

// siblingRank puts cohorts before queues.
func (n *Node) siblingRank() int {
	if n.isCohort {
		return 0
	}
	return 1
}

// addParentCells gives a cohort a cell for all that its parent knows, so that what it could borrow does not depend on whether
// a node below has asked for it yet.
func (n *Node) addParentCells() {
	if !n.isCohort || n.parent == nil || n.inCycle {
		return
	}
	for name := range n.parent.cells {
		n.ensureCell(name)
	}
}

func (n *Node) addToRoot() {
	if n.isCohort {
		return
	}
	n.root.queueNames = append(n.root.queueNames, n.name)
}
