package quota

import (
	"cmp"
	"slices"

	"switchyard.dev/worker/admission/amount"
)

// Balance is the account of one flavor-resource at a node, as metrics report it.
type Balance struct {
	FlavorResource
	// Quota is the node's subtree quota: what it and those below it own, less what those keep for themselves.
	Quota amount.Amount
	// Usage is all that the queues below use, whether of it or of what they keep for themselves; it may be more than Quota.
	Usage amount.Amount
}

// Balances lists the accounts of a node by flavor and resource, empty ones included.
func (n *Node) Balances() []Balance {
	n.tree.recompute()
	list := make([]Balance, 0, len(n.cells))
	for name, cell := range n.cells {
		list = append(list, Balance{FlavorResource: name, Quota: cell.subtreeQuota, Usage: cell.subtreeUsage().Amount()})
	}
	slices.SortFunc(list, func(a, b Balance) int { return a.Compare(b.FlavorResource) })
	return list
}

// subtreeUsage adds up what the queues below the cell use, or the queue if it is one's.
func (c *Cell) subtreeUsage() amount.Sum {
	if c.node.IsQueue() {
		return c.usage
	}
	var sum amount.Sum
	for _, below := range c.Children() {
		sum = sum.Plus(below.subtreeUsage())
	}
	return sum
}

// AncestorNames lists the names of the cohorts above the node, nearest first; none below a cycle of cohorts.
func (n *Node) AncestorNames() []string {
	var names []string
	for at := n.Parent(); at != nil; at = at.Parent() {
		names = append(names, at.name)
	}
	return names
}

// Cohorts lists the cohorts by name, those that are only named by others included.
func (t *Tree) Cohorts() []*Node {
	t.recompute()
	nodes := make([]*Node, 0, len(t.cohorts))
	for _, n := range t.cohorts {
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b *Node) int { return cmp.Compare(a.name, b.name) })
	return nodes
}

// IsInCycle reports whether the parents of the node lead into a cycle.
func (n *Node) IsInCycle() bool {
	n.tree.recompute()
	return n.inCycle
}
