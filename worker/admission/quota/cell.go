package quota

import "switchyard.dev/worker/admission/amount"

// Cell is the account of one flavor-resource at one node: what it may use and what it does. A queue's cells live as long
// as the queue grants them, so that they may be kept at hand; ask the Tree for them.
type Cell struct {
	node   *Node
	name   FlavorResource
	limits Limits
	// subtreeQuota is the quota of the node and all below it that they do not keep for themselves.
	subtreeQuota amount.Amount
	// usage is what the node and all below it use, less what those below cover with quota they keep for themselves.
	usage amount.Sum
	// parent is the cell of the same flavor-resource at the parent; nil at a root.
	parent *Cell
	// children are the cells of the same flavor-resource at the children, in no particular order.
	children []*Cell
}

// Node returns the queue or cohort that the cell belongs to.
func (c *Cell) Node() *Node { return c.node }

// Name returns the flavor-resource that the cell accounts for.
func (c *Cell) Name() FlavorResource { return c.name }

// Parent returns the cell of the same flavor-resource at the parent, nil at a root.
func (c *Cell) Parent() *Cell {
	c.node.tree.recompute()
	return c.parent
}

// Children returns the cells of the same flavor-resource at those children that have one, in no particular order. The caller
// must not change it.
func (c *Cell) Children() []*Cell {
	c.node.tree.recompute()
	return c.children
}

// linkToParent connects the cell with the parent's, unless it is connected already.
func (c *Cell) linkToParent() {
	if c.parent == nil {
		c.parent = c.node.parent.ensureCell(c.name)
		c.parent.children = append(c.parent.children, c)
	}
}

// IsBorrowing reports whether the node uses more than its own quota: for a queue, whether it borrows.
func (c *Cell) IsBorrowing() bool {
	c.node.tree.recompute()
	return c.usage.Excess(c.subtreeQuota) != (amount.Sum{})
}

// localQuota is the quota that the node does not lend: the rest of the tree never sees it, nor the usage it covers.
func (c *Cell) localQuota() amount.Amount {
	if c.limits.Lending == amount.Unlimited {
		return 0
	}
	return c.subtreeQuota.Sub(c.limits.Lending).AtLeast(0)
}

// lendableQuota is the quota that the node puts at its parent's disposal.
func (c *Cell) lendableQuota() amount.Amount { return min(c.subtreeQuota, c.limits.Lending) }

// Nominal returns the quota that the node itself owns.
func (c *Cell) Nominal() amount.Amount { return c.limits.Nominal }

// Usage returns what is used at the node.
func (c *Cell) Usage() amount.Amount {
	c.node.tree.recompute()
	return c.usage.Amount()
}

// SubtreeQuota returns the node's subtree quota: for a queue its nominal quota.
func (c *Cell) SubtreeQuota() amount.Amount {
	c.node.tree.recompute()
	return c.subtreeQuota
}

// Available returns how much more the node may use now, borrowing included. Negative when more is used than the quota
// allows, which a lowered quota brings about (contract: kueue-api.md 4.5).
func (c *Cell) Available() amount.Amount {
	c.node.tree.recompute()
	return c.available()
}

// available computes Available from the cells above. It may be negative.
func (c *Cell) available() amount.Amount {
	if c.parent == nil {
		return c.usage.Remaining(c.subtreeQuota)
	}
	fromAbove := c.parent.available()
	if c.limits.Borrowing != amount.Unlimited {
		taken := c.usage.Excess(c.localQuota()).Amount()
		fromAbove = min(fromAbove, c.lendableQuota().Sub(taken).Add(c.limits.Borrowing))
	}
	return c.usage.Remaining(c.localQuota()).AtLeast(0).Add(fromAbove)
}

// PotentialAvailable returns the most the node could use if no other node used anything: an upper bound for a single
// workload.
func (c *Cell) PotentialAvailable() amount.Amount {
	c.node.tree.recompute()
	return c.potentialAvailable()
}

// potentialAvailable computes PotentialAvailable from the cells above.
func (c *Cell) potentialAvailable() amount.Amount {
	if c.parent == nil {
		return c.subtreeQuota
	}
	most := c.localQuota().Add(c.parent.potentialAvailable())
	if c.limits.Borrowing != amount.Unlimited {
		most = min(most, c.subtreeQuota.Add(c.limits.Borrowing))
	}
	return most
}

// Borrowed returns the part of the usage above the node's own quota.
func (c *Cell) Borrowed() amount.Amount {
	c.node.tree.recompute()
	return c.usage.Excess(c.subtreeQuota).Amount()
}

// BorrowingHeight returns 0 if v more fits within the node's own quota and otherwise the height of the lowest ancestor
// whose quota it fits in, or the root's if none: the lower, the nearer the lender (contract: kueue-api.md 4.5). The height
// of a cohort is its distance from the deepest queue below it.
func (c *Cell) BorrowingHeight(v amount.Amount) int {
	c.node.tree.recompute()
	for c.parent != nil && c.usage.Remaining(c.subtreeQuota) < v {
		v = v.Sub(c.usage.Remaining(c.localQuota()).AtLeast(0))
		c = c.parent
	}
	return c.node.height
}

// addUsage adds v (or, negative, less) at the cell and the part of it that the node does not cover itself at those
// above. Every cell it changes is noted in the journal while a transaction is open.
func (c *Cell) addUsage(v amount.Sum) {
	t := c.node.tree
	for ; c != nil && v != (amount.Sum{}); c = c.parent {
		if t.openTxs > 0 {
			t.journal = append(t.journal, journalEntry{cell: c, previousUsage: c.usage})
		}
		kept := c.localQuota()
		before := c.usage.Excess(kept)
		c.usage = c.usage.Plus(v)
		v = c.usage.Excess(kept).Minus(before)
	}
}
