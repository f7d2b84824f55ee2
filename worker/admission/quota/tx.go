package quota

import "switchyard.dev/worker/admission/amount"

// Tx is a trial on the tree: what it reserves and releases is visible at once, and Rollback restores every number it
// touched. It costs what it touches, whatever the tree holds. Transactions may nest if they end in reverse order; none
// may be open when a queue or a cohort is set or deleted.
type Tx struct {
	tree *Tree
	// touched holds every cell as it was before a change, in the order of the changes.
	touched []touch
}

type touch struct {
	cell *Cell
	was  amount.Sum
}

// Begin starts a transaction.
func (t *Tree) Begin() *Tx {
	t.settle()
	t.open++
	return &Tx{tree: t}
}

// Reserve books the usage for the queue.
func (x *Tx) Reserve(queue string, u Usage) { x.tree.reserve(queue, u, x.note) }

// Release gives back usage that the queue has booked, in the transaction or before it.
func (x *Tx) Release(queue string, u Usage) { x.tree.release(queue, u, x.note) }

func (x *Tx) note(c *Cell) { x.touched = append(x.touched, touch{cell: c, was: c.usage}) }

// Rollback ends the transaction and restores what it changed.
func (x *Tx) Rollback() {
	for i := len(x.touched) - 1; i >= 0; i-- {
		x.touched[i].cell.usage = x.touched[i].was
	}
	x.end()
}

// Commit ends the transaction and keeps what it changed.
func (x *Tx) Commit() { x.end() }

func (x *Tx) end() {
	if x.tree == nil {
		panic("quota: a transaction ends only once")
	}
	x.tree.open--
	x.tree, x.touched = nil, nil
}
