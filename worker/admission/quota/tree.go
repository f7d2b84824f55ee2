// Package quota keeps the account of what queues may use and do use: a forest of cohorts with queues at the leaves, quota
// owned, borrowed and lent along its branches (contract: kueue-api.md 4.5).
//
// Reserving and releasing costs as much as the branch is high. Changing a queue's or a cohort's quota marks the forest
// unsettled; the next question settles it in one pass, so that any number of changes in a row cost one pass.
package quota

import (
	"maps"
	"slices"

	"switchyard.dev/worker/admission/amount"
)

// Tree is the forest of all cohorts and queues. NewTree makes one.
type Tree struct {
	queues   map[string]*Node
	cohorts  map[string]*Node
	upToDate bool
	// generation counts how often the forest was settled anew.
	generation uint64
	// openTxs counts transactions that are neither committed nor rolled back; the forest must not change its shape then.
	openTxs int
	// journal holds every cell that the open transactions touched as it was before, in the order of the changes.
	journal []journalEntry
}

// Node is a queue or a cohort. It is valid until the forest changes its shape; ask the Tree for it.
type Node struct {
	tree     *Tree
	name     string
	isCohort bool
	// declared nodes were set; the others exist because a queue or cohort names them or because they still use quota.
	declared bool
	// parentName is the name of the parent cohort, empty for none.
	parentName string
	parent     *Node
	grants     []Grant
	weight     Weight
	cells      map[FlavorResource]*Cell

	// What follows is computed by settle.

	// height is the distance from the deepest node below.
	height  int
	depth   int
	inCycle bool
	root    *Node
	// children are the nodes right below, cohorts first, by name.
	children []*Node
	// byResource are the cells by resource, as shares need them; nil until first read.
	byResource []resourceCells
	// queueNames of a root are the names of the queues below it, sorted.
	queueNames []string
	// reserveCount and released of a root count the bookings below it.
	reserveCount, releaseCount uint64
}

// NewTree returns an empty forest.
func NewTree() *Tree {
	return &Tree{queues: map[string]*Node{}, cohorts: map[string]*Node{}, upToDate: true}
}

// SetQueue adds a queue or replaces its parent and its grants, each flavor-resource at most once. What the queue uses
// stays booked.
func (t *Tree) SetQueue(name, cohort string, grants []Grant) {
	t.invalidate()
	n := t.ensureQueue(name)
	n.declared, n.parentName, n.grants = true, cohort, grants
	n.applyGrants()
}

// DeleteQueue takes the queue's quota away. What it uses stays booked, outside any cohort, until it is released.
func (t *Tree) DeleteQueue(name string) {
	n, found := t.queues[name]
	if !found {
		return
	}
	t.invalidate()
	n.declared, n.parentName, n.grants, n.weight = false, "", nil, Weight{}
	n.applyGrants()
}

// SetCohort adds a cohort or replaces its parent and its grants.
func (t *Tree) SetCohort(name, parent string, grants []Grant) {
	t.invalidate()
	n := t.ensureCohort(name)
	n.declared, n.parentName, n.grants = true, parent, grants
}

// DeleteCohort takes the cohort's own quota and its parent away; its members stay together below its name.
func (t *Tree) DeleteCohort(name string) {
	n, found := t.cohorts[name]
	if !found {
		return
	}
	t.invalidate()
	n.declared, n.parentName, n.grants = false, "", nil
}

// Reserve reserves the usage for the queue, whether or not it is available. Amounts that are not positive are skipped, here
// and by Release alike. The queue need not be set yet.
func (t *Tree) Reserve(queue string, u Usage) { t.ensureQueue(queue).Reserve(u) }

// Release gives back what Reserve booked.
func (t *Tree) Release(queue string, u Usage) {
	n := t.ensureQueue(queue)
	n.root.releaseCount++
	n.release(u)
}

func (n *Node) reserve(u Usage) {
	for _, use := range u {
		if use.Amount > 0 {
			n.ensureCell(use.FlavorResource).addUsage(amount.NewSum(use.Amount))
		}
	}
}

func (n *Node) release(u Usage) {
	for _, use := range u {
		if use.Amount > 0 {
			n.ensureCell(use.FlavorResource).addUsage(amount.Sum{}.Minus(amount.NewSum(use.Amount)))
		}
	}
}

// Cell returns the account of one flavor-resource of a queue, nil if the queue neither grants nor uses it.
func (t *Tree) Cell(queue string, name FlavorResource) *Cell {
	if n, found := t.queues[queue]; found {
		return n.cells[name]
	}
	return nil
}

// Fit returns the borrowing height that the queue needs for all of the usage now, and whether it fits at all: the queue
// grants every flavor-resource of it and has as much available.
func (t *Tree) Fit(queue string, u Usage) (height int, fits bool) {
	for _, use := range u {
		if use.Amount <= 0 {
			continue
		}
		cell := t.Cell(queue, use.FlavorResource)
		if cell == nil || cell.Available() < use.Amount {
			return 0, false
		}
		height = max(height, cell.BorrowingHeight(use.Amount))
	}
	return height, true
}

// IsInCycle reports whether the parents of the queue's cohort lead into a cycle, so that no root bounds its usage.
func (t *Tree) IsInCycle(queue string) bool {
	// Only names are followed, so that asking after every change of a burst does not settle the forest every time.
	n := t.queues[queue]
	for range len(t.cohorts) + 2 {
		if n == nil || n.parentName == "" {
			return false
		}
		n = t.cohorts[n.parentName]
	}
	return true
}

// Version tells states of a queue's tree apart.
type Version struct {
	// generation counts changes of quota, of any queue or cohort.
	generation   uint64
	reserveCount uint64
	releaseCount uint64
}

// OnlyReservedSince reports whether since the earlier version nothing happened but that quota was taken: no limit moved and
// nothing was given back, so that whatever did not fit then does not fit now.
func (v Version) OnlyReservedSince(earlier Version) bool {
	return v.generation == earlier.generation && v.releaseCount == earlier.releaseCount
}

// Version returns the version of the queue's tree; equal versions have equal numbers everywhere.
func (t *Tree) Version(queue string) Version {
	t.recompute()
	if n, found := t.queues[queue]; found {
		return n.Version()
	}
	return Version{generation: t.generation}
}

// QueuesInTree returns the sorted names of the queues that share a root with the queue, itself included; the queues below the
// same cycle are a family too. Nil for a queue that is unknown. The caller must not change it.
func (t *Tree) QueuesInTree(queue string) []string {
	t.recompute()
	if n, found := t.queues[queue]; found {
		return n.root.queueNames
	}
	return nil
}

// QueuesInCohortTree returns the sorted names of the queues in the cohort's whole tree, nil for a cohort that is unknown.
func (t *Tree) QueuesInCohortTree(cohort string) []string {
	t.recompute()
	if n, found := t.cohorts[cohort]; found {
		return n.root.queueNames
	}
	return nil
}

// QueueUsage lists what is booked for a queue, zero amounts left out.
func (t *Tree) QueueUsage(queue string) Usage {
	n, found := t.queues[queue]
	if !found {
		return nil
	}
	var uses Usage
	for name, cell := range n.cells {
		if cell.usage != (amount.Sum{}) {
			uses = append(uses, Use{FlavorResource: name, Amount: cell.usage.Amount()})
		}
	}
	slices.SortFunc(uses, func(a, b Use) int { return a.Compare(b.FlavorResource) })
	return uses
}

func (t *Tree) invalidate() {
	if t.openTxs != 0 {
		panic("quota: the forest must not change its shape inside a transaction")
	}
	t.upToDate = false
}

// ensureQueue returns the queue's node, an undeclared one if there was none.
func (t *Tree) ensureQueue(name string) *Node {
	return t.ensureNode(t.queues, name, false)
}

func (t *Tree) ensureCohort(name string) *Node {
	return t.ensureNode(t.cohorts, name, true)
}

// ensureNode returns the node of a name, and makes it if needed: a root without cells.
func (t *Tree) ensureNode(in map[string]*Node, name string, cohort bool) *Node {
	n, found := in[name]
	if !found {
		n = &Node{tree: t, name: name, isCohort: cohort, cells: map[FlavorResource]*Cell{}}
		n.root = n
		in[name] = n
		if !cohort {
			n.queueNames = []string{name}
		}
	}
	return n
}

// applyGrants gives the queue's cells their limits and drops those that are neither granted nor used.
func (n *Node) applyGrants() {
	for _, cell := range n.cells {
		cell.limits = Limits{}
	}
	granted := make(map[FlavorResource]bool, len(n.grants))
	for _, g := range n.grants {
		granted[g.FlavorResource] = true
		n.ensureCell(g.FlavorResource).limits = g.Limits
	}
	maps.DeleteFunc(n.cells, func(name FlavorResource, cell *Cell) bool {
		return !granted[name] && cell.usage == (amount.Sum{})
	})
}

// ensureCell returns the node's account of a flavor-resource, opening one if there is none: at a queue without any quota, at a
// cohort without quota of its own but letting through whatever its members and its parent agree on.
func (n *Node) ensureCell(name FlavorResource) *Cell {
	c, found := n.cells[name]
	if found {
		return c
	}
	c = &Cell{node: n, name: name}
	if n.isCohort {
		c.limits = Nominal(0)
	}
	n.cells[name] = c
	n.byResource = nil
	if n.parent != nil && !n.inCycle {
		c.linkToParent()
	}
	return c
}
