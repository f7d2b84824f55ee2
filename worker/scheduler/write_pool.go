package scheduler

import (
	"context"
	"slices"
	"sync"
)

const (
	// MaxConcurrentWrites is the number of decisions that are written at the same time.
	MaxConcurrentWrites = 24
	// maxUnfinished bounds the decisions that the API has not answered: with that many the loop decides nothing more, because it
	// would only fill quota with what must wait for its write anyway. It goes on at half of it.
	maxUnfinished = 128
	// oldestFirstEvery is how often the oldest task goes first, whatever its urgency: once in so many.
	oldestFirstEvery = 4
)

// workItem is a write that has been decided.
type workItem struct {
	// freesQuota is whether the write gives quota back: such go first. Among the rest the higher priority does.
	freesQuota bool
	priority   int32
	// sequence is the order of the decisions.
	sequence int64
	write    func(context.Context)
}

// isBefore orders items: those that free quota first, then by priority, then by age.
func (t *workItem) isBefore(other *workItem) bool {
	switch {
	case t.freesQuota != other.freesQuota:
		return t.freesQuota
	case t.priority != other.priority:
		return t.priority > other.priority
	default:
		return t.sequence < other.sequence
	}
}

// writePool holds the tasks and has a bounded number of them done at the same time, the most urgent first. Add never blocks.
type writePool struct {
	mu     sync.Mutex
	queued []*workItem // the most urgent last
	// unfinished counts tasks that are not done, busy the goroutines at work, taken all that were begun.
	unfinished, activeWriters, started int
	added                              int64
	full                               bool
	// notFull is signalled when the write pool is not full any more.
	notFull chan struct{}
	writers sync.WaitGroup
}

func newWritePool() *writePool { return &writePool{notFull: make(chan struct{}, 1)} }

// add hands over a task, which is done whatever becomes of the context.
func (d *writePool) add(ctx context.Context, t *workItem) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.added++
	t.sequence = d.added
	i, _ := slices.BinarySearchFunc(d.queued, t, func(a, b *workItem) int {
		if b.isBefore(a) {
			return -1
		}
		return 1
	})
	d.queued = slices.Insert(d.queued, i, t)
	d.unfinished++
	d.full = d.full || d.unfinished >= maxUnfinished
	if d.activeWriters < MaxConcurrentWrites {
		d.activeWriters++
		d.writers.Go(func() { d.run(ctx) })
	}
}

// run does tasks until none is left.
func (d *writePool) run(ctx context.Context) {
	for t := d.popItem(); t != nil; t = d.popItem() {
		t.write(ctx)
		d.finishItem()
	}
}

// popItem returns the next item, or nil if there is none; then the caller has to stop writing. Every oldestFirstEvery-th
// item is the oldest, so that none waits for ever.
func (d *writePool) popItem() *workItem {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.queued) == 0 {
		d.activeWriters--
		return nil
	}
	d.started++
	i := len(d.queued) - 1
	if d.started%oldestFirstEvery == 0 {
		for j, t := range d.queued {
			if t.sequence < d.queued[i].sequence {
				i = j
			}
		}
	}
	t := d.queued[i]
	d.queued = slices.Delete(d.queued, i, i+1)
	return t
}

// finishItem counts an item as written. Once half of the room is free again, it tells the scheduler.
func (d *writePool) finishItem() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unfinished--
	if d.full && d.unfinished <= maxUnfinished/2 {
		d.full = false
		select {
		case d.notFull <- struct{}{}:
		default:
		}
	}
}

// isFull tells whether the loop should wait for room.
func (d *writePool) isFull() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.full
}

// countUnfinished is the number of tasks that are not done.
func (d *writePool) countUnfinished() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.unfinished
}

// wait returns when every task is done. Nothing may be added meanwhile.
func (d *writePool) wait() { d.writers.Wait() }
