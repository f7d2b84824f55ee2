package visibility

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"switchyard.dev/worker/view"
)

const (
	// ageFactor bounds the age of a list by what it took to make. So to make lists takes no more of a CPU, and of the view's time,
	// than one part in so many, however many ask, and a short list is as good as new.
	ageFactor = 20
	// maxAge bounds it, too.
	maxAge = time.Second
	// idleTime is how long a list is kept that nobody asks for.
	idleTime = time.Minute
)

// positions has the lists of the ClusterQueues that were asked for of late.
type positions struct {
	view  *view.View
	clock clock.WithDelayedExecution

	mu     sync.Mutex
	queues map[string]*cachedList
}

// cachedList is the last list of a ClusterQueue.
type cachedList struct {
	// mu is held while the list is made, so that it is made once for all who ask.
	mu sync.Mutex
	*list
	// madeAt is when it was begun, and cost how long it took.
	madeAt time.Time
	cost   time.Duration
	// usedAt is when it was last asked for. The mutex of positions guards it.
	usedAt time.Time
}

func newPositions(v *view.View, c clock.WithDelayedExecution) *positions {
	return &positions{view: v, clock: c, queues: map[string]*cachedList{}}
}

// of returns the list of a ClusterQueue.
func (p *positions) of(queue string) *list {
	c := p.ensure(queue)
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := p.clock.Now(); c.list == nil || now.Sub(c.madeAt) > min(ageFactor*c.cost, maxAge) {
		c.list, c.madeAt = newList(p.view.PendingOrder(queue).List()), now
		c.cost = p.clock.Since(now)
	}
	return c.list
}

// ensure returns the place for the list of a ClusterQueue, and forgets those that nobody asks for.
func (p *positions) ensure(queue string) *cachedList {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, found := p.queues[queue]
	if !found {
		c = &cachedList{}
		p.queues[queue] = c
		p.scheduleForgetting(queue, idleTime)
	}
	c.usedAt = p.clock.Now()
	return c
}

// scheduleForgetting has forgetIdle called after a time. A clock of tests calls what it is given while it stands still.
func (p *positions) scheduleForgetting(queue string, after time.Duration) {
	p.clock.AfterFunc(after, func() { go p.forgetIdle(queue) })
}

// forgetIdle forgets the list of a ClusterQueue if nobody has asked for it of late, and looks again later otherwise.
func (p *positions) forgetIdle(queue string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if rest := idleTime - p.clock.Since(p.queues[queue].usedAt); rest > 0 {
		p.scheduleForgetting(queue, rest)
		return
	}
	delete(p.queues, queue)
}
