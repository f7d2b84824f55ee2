package act

import (
	"context"
	"slices"
	"sync"
)

const (
	// Writers is the number of decisions that are written at the same time.
	Writers = 24
	// maxOpen bounds the decisions that the API has not answered: with that many the loop decides nothing more, because it
	// would only fill quota with what must wait for its write anyway. It goes on at half of it.
	maxOpen = 128
	// fairTurn is how often the oldest task goes first, whatever its urgency: once in so many.
	fairTurn = 4
)

// task is a write that has been decided.
type task struct {
	// frees is whether the write gives quota back: such go first. Among the rest the higher priority does.
	frees    bool
	priority int32
	// number is the order of the decisions.
	number int64
	write  func(context.Context)
}

func (t *task) before(other *task) bool {
	switch {
	case t.frees != other.frees:
		return t.frees
	case t.priority != other.priority:
		return t.priority > other.priority
	default:
		return t.number < other.number
	}
}

// desk holds the tasks and has a bounded number of them done at the same time, the most urgent first. Add never blocks.
type desk struct {
	mu      sync.Mutex
	waiting []*task // the most urgent last
	// open counts tasks that are not done, busy the goroutines at work, taken all that were begun.
	open, busy, taken int
	added             int64
	full              bool
	// room is signalled when the desk is not full any more.
	room chan struct{}
	work sync.WaitGroup
}

func newDesk() *desk { return &desk{room: make(chan struct{}, 1)} }

// add hands over a task, which is done whatever becomes of the context.
func (d *desk) add(ctx context.Context, t *task) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.added++
	t.number = d.added
	i, _ := slices.BinarySearchFunc(d.waiting, t, func(a, b *task) int {
		if b.before(a) {
			return -1
		}
		return 1
	})
	d.waiting = slices.Insert(d.waiting, i, t)
	d.open++
	d.full = d.full || d.open >= maxOpen
	if d.busy < Writers {
		d.busy++
		d.work.Go(func() { d.run(ctx) })
	}
}

// run does tasks until none is left.
func (d *desk) run(ctx context.Context) {
	for t := d.take(); t != nil; t = d.take() {
		t.write(ctx)
		d.done()
	}
}

func (d *desk) take() *task {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.waiting) == 0 {
		d.busy--
		return nil
	}
	d.taken++
	i := len(d.waiting) - 1
	if d.taken%fairTurn == 0 {
		for j, t := range d.waiting {
			if t.number < d.waiting[i].number {
				i = j
			}
		}
	}
	t := d.waiting[i]
	d.waiting = slices.Delete(d.waiting, i, i+1)
	return t
}

func (d *desk) done() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open--
	if d.full && d.open <= maxOpen/2 {
		d.full = false
		select {
		case d.room <- struct{}{}:
		default:
		}
	}
}

// isFull tells whether the loop should wait for room.
func (d *desk) isFull() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.full
}

// unanswered is the number of tasks that are not done.
func (d *desk) unanswered() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open
}

// wait returns when every task is done. Nothing may be added meanwhile.
func (d *desk) wait() { d.work.Wait() }
