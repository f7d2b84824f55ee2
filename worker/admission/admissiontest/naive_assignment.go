package admissiontest

import (
	"slices"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/assign"
	"switchyard.dev/worker/admission/order"
	"switchyard.dev/worker/admission/preempt"
	"switchyard.dev/worker/admission/quota"
)

// findAssignment finds flavors, and victims if it needs any, for exactly the pods that the workload counts.
func (n *naiveCycle) findAssignment(w admission.Workload) naiveResult {
	s := n.buildSnapshot()
	var tried []*quota.Cell
	opts := assign.Options{IgnoreUndeclared: n.opts.IgnoreUndeclared, FirstFlavor: n.opts.WithoutFungibility}
	find := func(u admission.Usage) []admission.Victim {
		return preempt.Find(s, preempt.Request{Workload: &w, Queue: w.Queue, Usage: u}, n.preemptionOptions())
	}
	opts.PreemptionOracle = func(cell *quota.Cell, request amount.Amount) (assign.Mode, int) {
		mode := preempt.New(s, n.preemptionOptions()).Oracle(&w, w.Queue)(cell, request)
		u := admission.Usage{{FlavorResource: cell.Name(), Amount: request}}
		switch {
		case slices.Contains(tried, cell):
			return min(mode, assign.NoCandidates), cell.BorrowingHeight(request)
		case mode > assign.NoCandidates:
			return mode, n.heightAfterEviction(find(u), w.Queue, u)
		}
		return mode, cell.BorrowingHeight(request)
	}
	for {
		got := assign.Assign(s.FlavorTable(w.Queue), &w, opts)
		offer := naiveResult{mode: got.Mode, assignment: got.Assignment, reason: got.Reason}
		if got.Mode == assign.Fit || got.Mode <= assign.NoCandidates {
			return offer
		}
		if offer.victims = find(got.Assignment.Usage); len(offer.victims) > 0 {
			offer.assignment.Borrowing = n.heightAfterEviction(offer.victims, w.Queue, got.Assignment.Usage)
			return offer
		}
		for _, use := range got.Assignment.Usage {
			if cell := s.Quota().Cell(w.Queue, use.FlavorResource); cell.Available() < use.Amount {
				tried = append(tried, cell)
			}
		}
	}
}

func (n *naiveCycle) preemptionOptions() preempt.Options {
	return preempt.Options{
		FairSharing: n.opts.FairSharing, Strategies: n.opts.Strategies, WithinNominal: !n.opts.WithoutNominalBypass,
	}
}

// heightAfterEviction is the borrowing height of the usage on a snapshot from which the victims have gone.
func (n *naiveCycle) heightAfterEviction(victims []admission.Victim, queue string, u admission.Usage) int {
	s := n.buildSnapshot()
	for _, v := range victims {
		s.Release(v.Workload)
	}
	height := 0
	for _, use := range u {
		if use.Amount > 0 {
			height = max(height, s.Quota().Cell(queue, use.FlavorResource).BorrowingHeight(use.Amount))
		}
	}
	return height
}

func (b naiveHead) rank() order.Rank {
	return order.Rank{Priority: b.Priority, QueuedAt: b.QueuedAt, UID: b.UID}
}

// bestHead returns the head that is served next.
func (n *naiveCycle) bestHead() naiveHead {
	if !n.opts.FairSharing {
		return slices.MinFunc(n.heads, n.compareHeads)
	}
	var winners []naiveHead
	for _, b := range n.heads {
		path := n.pathToRoot(b.Queue)
		if root := path[len(path)-1]; len(path) == 1 {
			winners = append(winners, b)
		} else if w := n.bestInSubtree(root); !slices.ContainsFunc(winners, func(o naiveHead) bool { return o.Name == w.Name }) {
			winners = append(winners, w)
		}
	}
	return slices.MinFunc(winners, n.compareHeads)
}

func (n *naiveCycle) compareHeads(a, b naiveHead) int {
	bid := func(b naiveHead) order.HeadKey {
		bid := order.HeadKey{BorrowingHeight: b.assignment.Borrowing, Rank: b.rank()}
		if n.opts.WithoutPrioritySorting {
			bid.Priority = 0
		}
		return bid
	}
	return order.CompareHeads(bid(a), bid(b))
}

// pathToRoot lists the nodes from the queue to its root.
func (n *naiveCycle) pathToRoot(queue string) []Node {
	account := n.facts.NaiveQuota(quota.FlavorResource{})
	path := []Node{QueueNode(queue)}
	for {
		above, found := account.parent(path[len(path)-1])
		if !found {
			return path
		}
		path = append(path, above)
	}
}

// bestInSubtree returns the best head below the cohort, each child being represented by its own best.
func (n *naiveCycle) bestInSubtree(cohort Node) naiveHead {
	type entry struct {
		bid     naiveHead
		share   quota.Share
		borrows bool
	}
	var entries []entry
	for _, child := range n.facts.NaiveQuota(quota.FlavorResource{}).children(cohort) {
		var below []naiveHead
		for _, b := range n.heads {
			if slices.Contains(n.pathToRoot(b.Queue), child) {
				below = append(below, b)
			}
		}
		if len(below) == 0 {
			continue
		}
		e := entry{bid: below[0]}
		if child.cohort {
			e.bid = n.bestInSubtree(child)
		}
		e.share, e.borrows = n.shareAfterAdmission(child, e.bid)
		entries = append(entries, e)
	}
	return slices.MinFunc(entries, func(a, b entry) int {
		if a.borrows != b.borrows && !n.opts.WithoutNonBorrowingFirst {
			if b.borrows {
				return -1
			}
			return 1
		}
		if c := a.share.Compare(b.share); c != 0 {
			return c
		}
		return a.bid.rank().Compare(b.bid.rank())
	}).bid
}

// shareAfterAdmission returns the node's share once the head was admitted, and whether it would borrow what the head asks for.
func (n *naiveCycle) shareAfterAdmission(p Node, b naiveHead) (quota.Share, bool) {
	s := n.buildSnapshot()
	s.BookUsage(b.Queue, b.assignment.Usage)
	node := s.Quota().QueueNode(p.name)
	if p.cohort {
		node = s.Quota().CohortNode(p.name)
	}
	borrows := false
	for _, use := range b.assignment.Usage {
		borrows = borrows || use.Amount > 0 && node.Cell(use.FlavorResource).Borrowed() > 0
	}
	return node.Share(), borrows
}
