package quota

import "switchyard.dev/worker/admission/amount"

// Tx is a trial on the tree: what it reserves and releases is visible at once, and Rollback restores every number it
// touched. It costs what it touches, whatever the tree holds, and in the long run allocates nothing. Transactions may nest
// if they end in reverse order; none may be open when a queue or a cohort is set or deleted. What is booked on the tree
// itself meanwhile is undone, too.
type Tx struct {
	tree *Tree
	// startMark is the length of the journal when the transaction began.
	startMark int
	// unversioned transactions do not change the Version of anything.
	unversioned bool
}

type journalEntry struct {
	cell          *Cell
	previousUsage amount.Sum
}

// Begin starts a transaction whose effects count in Versions: what it takes as taken, what it or its rollback gives back as
// released.
func (t *Tree) Begin() *Tx { return t.begin(false) }

// BeginTrial starts a transaction that Versions do not see, for a question that is asked, answered and rolled back before
// anything else reads the tree: no Version may be remembered in between. It cannot be committed.
func (t *Tree) BeginTrial() *Tx { return t.begin(true) }

func (t *Tree) begin(silent bool) *Tx {
	t.recompute()
	t.openTxs++
	return &Tx{tree: t, startMark: len(t.journal), unversioned: silent}
}

// Reserve reserves the usage for the queue.
func (x *Tx) Reserve(queue string, u Usage) {
	n := x.tree.ensureQueue(queue)
	if !x.unversioned {
		n.root.reserveCount++
	}
	n.reserve(u)
}

// Release gives back usage that the queue has booked, in the transaction or before it.
func (x *Tx) Release(queue string, u Usage) {
	n := x.tree.ensureQueue(queue)
	if !x.unversioned {
		n.root.releaseCount++
	}
	n.release(u)
}

// Mark returns a point to which Undo can go back.
func (x *Tx) Mark() int { return len(x.tree.journal) }

// Undo restores what the transaction changed since the mark. No transaction inside of this one may be open.
func (x *Tx) Undo(mark int) {
	journal := x.tree.journal
	for i := len(journal) - 1; i >= mark; i-- {
		cell := journal[i].cell
		cell.usage = journal[i].previousUsage
		if !x.unversioned {
			cell.node.root.releaseCount++
		}
	}
	x.tree.journal = journal[:mark]
}

// Rollback ends the transaction and restores what it changed.
func (x *Tx) Rollback() {
	x.mustBeOpen()
	x.Undo(x.startMark)
	x.close()
}

// Commit ends the transaction and keeps what it changed, unless a transaction around it is rolled back.
func (x *Tx) Commit() {
	x.mustBeOpen()
	if x.unversioned {
		panic("quota: a trial is always rolled back")
	}
	if x.tree.openTxs == 1 {
		x.tree.journal = x.tree.journal[:0]
	}
	x.close()
}

func (x *Tx) mustBeOpen() {
	if x.tree == nil {
		panic("quota: a transaction ends only once")
	}
}

func (x *Tx) close() {
	x.tree.openTxs--
	x.tree = nil
}
