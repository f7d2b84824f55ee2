package quota

import "switchyard.dev/worker/admission/amount"

// Cell is the account of one flavor-resource at one node: what it may use and what it does. A queue's cells live as long
// as the queue grants them, so that they may be kept at hand; ask the Tree for them.
type Cell struct {
	node   *Node
	name   FlavorResource
	limits Limits
	// subtree is the quota of the node and all below it that they do not keep for themselves.
	subtree amount.Amount
	// usage is what the node and all below it use, less what those below cover with quota they keep for themselves.
	usage amount.Sum
	// above is the cell of the same flavor-resource at the parent; nil at a root.
	above *Cell
	// below are the cells of the same flavor-resource at the children, in no particular order.
	below []*Cell
}

// Node returns the queue or cohort that the cell belongs to.
func (c *Cell) Node() *Node { return c.node }

// Name returns the flavor-resource that the cell accounts for.
func (c *Cell) Name() FlavorResource { return c.name }

// Above returns the cell of the same flavor-resource at the parent, nil at a root.
func (c *Cell) Above() *Cell {
	c.node.tree.settle()
	return c.above
}

// Below returns the cells of the same flavor-resource at those children that have one, in no particular order. The caller
// must not change it.
func (c *Cell) Below() []*Cell {
	c.node.tree.settle()
	return c.below
}

// link connects the cell with the parent's, unless it is connected already.
func (c *Cell) link() {
	if c.above == nil {
		c.above = c.node.parent.cell(c.name)
		c.above.below = append(c.above.below, c)
	}
}

// Over reports whether the node uses more than its own quota: for a queue, whether it borrows.
func (c *Cell) Over() bool {
	c.node.tree.settle()
	return c.usage.Over(c.subtree) != (amount.Sum{})
}

// kept is the quota that the node does not lend: the rest of the tree never sees it, nor the usage it covers.
func (c *Cell) kept() amount.Amount {
	if c.limits.Lending == amount.Unlimited {
		return 0
	}
	return c.subtree.Sub(c.limits.Lending).AtLeast(0)
}

// lent is the quota that the node puts at its parent's disposal.
func (c *Cell) lent() amount.Amount { return min(c.subtree, c.limits.Lending) }

// Nominal returns the quota that the node itself owns.
func (c *Cell) Nominal() amount.Amount { return c.limits.Nominal }

// Usage returns what is used at the node.
func (c *Cell) Usage() amount.Amount {
	c.node.tree.settle()
	return c.usage.Amount()
}

// Quota returns the node's subtree quota: for a queue its nominal quota.
func (c *Cell) Quota() amount.Amount {
	c.node.tree.settle()
	return c.subtree
}

// Available returns how much more the node may use now, borrowing included. Negative when more is used than the quota
// allows, which a lowered quota brings about (contract: kueue-api.md 4.5).
func (c *Cell) Available() amount.Amount {
	c.node.tree.settle()
	return c.available()
}

func (c *Cell) available() amount.Amount {
	if c.above == nil {
		return c.usage.Room(c.subtree)
	}
	fromAbove := c.above.available()
	if c.limits.Borrowing != amount.Unlimited {
		taken := c.usage.Over(c.kept()).Amount()
		fromAbove = min(fromAbove, c.lent().Sub(taken).Add(c.limits.Borrowing))
	}
	return c.usage.Room(c.kept()).AtLeast(0).Add(fromAbove)
}

// Potential returns the most the node could use if nobody else used anything: an upper bound for a single workload.
func (c *Cell) Potential() amount.Amount {
	c.node.tree.settle()
	return c.potential()
}

func (c *Cell) potential() amount.Amount {
	if c.above == nil {
		return c.subtree
	}
	most := c.kept().Add(c.above.potential())
	if c.limits.Borrowing != amount.Unlimited {
		most = min(most, c.subtree.Add(c.limits.Borrowing))
	}
	return most
}

// Borrowed returns the part of the usage above the node's own quota.
func (c *Cell) Borrowed() amount.Amount {
	c.node.tree.settle()
	return c.usage.Over(c.subtree).Amount()
}

// BorrowingHeight returns 0 if v more fits within the node's own quota and otherwise the height of the lowest ancestor
// whose quota it fits in, or the root's if none: the lower, the nearer the lender (contract: kueue-api.md 4.5). The height
// of a cohort is its distance from the deepest queue below it.
func (c *Cell) BorrowingHeight(v amount.Amount) int {
	c.node.tree.settle()
	for c.above != nil && c.usage.Room(c.subtree) < v {
		v = v.Sub(c.usage.Room(c.kept()).AtLeast(0))
		c = c.above
	}
	return c.node.height
}

// add books v more (or, negative, less) at the cell and the part of it that the node does not cover itself at those
// above. Every cell it changes is noted in the journal while a transaction is open.
func (c *Cell) add(v amount.Sum) {
	t := c.node.tree
	for ; c != nil && v != (amount.Sum{}); c = c.above {
		if t.open > 0 {
			t.journal = append(t.journal, touch{cell: c, was: c.usage})
		}
		kept := c.kept()
		before := c.usage.Over(kept)
		c.usage = c.usage.Plus(v)
		v = c.usage.Over(kept).Minus(before)
	}
}
