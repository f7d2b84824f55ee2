package quota

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"

	"switchyard.dev/worker/admission/amount"
)

// Share is a node's weighted dominant resource share (contract: kueue-api.md 4.8): what it and all below it borrow of the
// resource that they borrow most of, relative to what its parent could have lent them, divided by the node's weight. It is
// an exact fraction. The zero value is the share of a node that borrows nothing.
type Share struct {
	// borrowed is positive unless the share is zero.
	borrowed uint64
	// lendable is what the parent could have lent, at least 1.
	lendable uint64
	// weight is in billionths; 0 makes the share infinite.
	weight uint64
}

// IsZero reports whether nothing is borrowed.
func (s Share) IsZero() bool { return s.borrowed == 0 }

// IsInfinite reports whether the node borrows although its weight is 0.
func (s Share) IsInfinite() bool { return s.borrowed > 0 && s.weight == 0 }

// Compare is negative if s is the smaller share. Infinite shares are greater than all others; among themselves they compare
// as if unweighted.
func (s Share) Compare(other Share) int {
	switch {
	case s.IsZero() || other.IsZero():
		return cmp.Compare(s.borrowed, other.borrowed)
	case s.IsInfinite() && other.IsInfinite():
		return product{}.multiply(s.borrowed, other.lendable, 1).compare(product{}.multiply(other.borrowed, s.lendable, 1))
	case s.IsInfinite():
		return 1
	case other.IsInfinite():
		return -1
	}
	return product{}.multiply(s.borrowed, other.lendable, other.weight).
		compare(product{}.multiply(other.borrowed, s.lendable, s.weight))
}

// Thousandths returns the share in thousandths, not rounded: for metrics, never for comparisons. An infinite share is +Inf.
func (s Share) Thousandths() float64 {
	switch {
	case s.IsZero():
		return 0
	case s.IsInfinite():
		return math.Inf(1)
	}
	return float64(s.borrowed) * 1000 / float64(s.lendable) * UnitWeight / float64(s.weight)
}

// WeightedShare returns the share in thousandths, rounded up: the weightedShare of the API's status, math.MaxInt64 for an infinite
// share (contract: kueue-api.md 1.3).
func (s Share) WeightedShare() int64 {
	switch {
	case s.IsZero():
		return 0
	case s.IsInfinite():
		return math.MaxInt64
	}
	of := func(factors ...uint64) *big.Int {
		p := big.NewInt(1)
		for _, f := range factors {
			p.Mul(p, new(big.Int).SetUint64(f))
		}
		return p
	}
	quotient, rest := new(big.Int).QuoRem(of(s.borrowed, 1000, UnitWeight), of(s.lendable, s.weight), new(big.Int))
	if rest.Sign() > 0 {
		quotient.Add(quotient, big.NewInt(1))
	}
	if !quotient.IsInt64() {
		return math.MaxInt64
	}
	return quotient.Int64()
}

// product is an unsigned number of 192 bits, the lowest first: room for the product of three 64-bit factors.
type product [3]uint64

func (product) multiply(a, b, c uint64) product {
	high, low := bits.Mul64(a, b)
	lowHigh, lowLow := bits.Mul64(low, c)
	highHigh, highLow := bits.Mul64(high, c)
	middle, carry := bits.Add64(lowHigh, highLow, 0)
	return product{lowLow, middle, highHigh + carry}
}

func (p product) compare(q product) int {
	return cmp.Or(cmp.Compare(p[2], q[2]), cmp.Compare(p[1], q[1]), cmp.Compare(p[0], q[0]))
}

// resourceCells is the cells of one resource at a node.
type resourceCells struct {
	cells []*Cell
	// lendable is what the parent could use of the resource if no other node used any, over all flavors.
	lendable amount.Amount
}

// Share returns the node's share as its usage is now, a trial's included. A node without a parent has share zero, and so
// has one below a cycle of cohorts.
func (n *Node) Share() Share {
	n.tree.recompute()
	if n.parent == nil || n.inCycle {
		return Share{}
	}
	if n.byResource == nil {
		n.groupByResource()
	}
	dominant := Share{}
	for i := range n.byResource {
		if s := n.byResource[i].share(); s.dominates(dominant) {
			dominant = s
		}
	}
	if dominant.IsZero() {
		return Share{}
	}
	dominant.weight = uint64(n.weight.Billionths())
	if dominant.lendable == math.MaxInt64 && dominant.weight != 0 {
		// Whatever is borrowed of an unlimited lot is no share of it.
		return Share{}
	}
	return dominant
}

func (c *resourceCells) share() Share {
	var borrowed amount.Sum
	for _, cell := range c.cells {
		borrowed = borrowed.Plus(cell.usage.Excess(cell.subtreeQuota))
	}
	return Share{borrowed: uint64(borrowed.Amount()), lendable: uint64(c.lendable.AtLeast(1))}
}

// dominates compares the unweighted shares of two resources of one node.
func (s Share) dominates(other Share) bool {
	if s.IsZero() || other.IsZero() {
		return s.borrowed > other.borrowed
	}
	return product{}.multiply(s.borrowed, other.lendable, 1).compare(product{}.multiply(other.borrowed, s.lendable, 1)) > 0
}

// groupByResource sorts the node's cells by resource and finds out what could be lent of each.
func (n *Node) groupByResource() {
	at := map[string]int{}
	n.byResource = make([]resourceCells, 0, len(n.cells))
	for name, cell := range n.cells {
		i, found := at[name.Resource]
		if !found {
			i = len(n.byResource)
			at[name.Resource] = i
			n.byResource = append(n.byResource, resourceCells{})
		}
		n.byResource[i].cells = append(n.byResource[i].cells, cell)
	}
	for name, cell := range n.parent.cells {
		if i, found := at[name.Resource]; found {
			n.byResource[i].lendable = n.byResource[i].lendable.Add(cell.potentialAvailable())
		}
	}
}
