package fleet

import (
	"sync"
	"time"
)

const (
	// patience is how long a cluster may take for an answer before it counts as overdue, unless it is known to take long: then
	// it is lateness times as long as it usually takes.
	patience, lateness = time.Second, 8
	// memoryOf is the weight of what was before in the usual time of an answer, against one for the last.
	memoryOf = 7
)

// pulse tells how readily a cluster answers: long before it is known to be lost it is known that its answers are overdue. The
// zero pulse has asked nothing. It ends with its session and is safe for concurrent use.
type pulse struct {
	mu    sync.Mutex
	calls int
	asked map[int]time.Time // calls under way, and when they began
	usual time.Duration     // how long an answer takes: the mean of all, the last ones counting most
	late  bool              // the last answer was
}

// ask notes that a call begins now. It returns how long the answer may take, and whom to tell when it is there or given up.
func (p *pulse) ask(now time.Time) (limit time.Duration, answered func(now time.Time)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked == nil {
		p.asked = map[int]time.Time{}
	}
	p.calls++
	number := p.calls
	p.asked[number] = now
	return p.limit(), func(now time.Time) { p.answer(number, now) }
}

func (p *pulse) answer(number int, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := now.Sub(p.asked[number])
	delete(p.asked, number)
	p.late = took > p.limit()
	p.usual = (p.usual*memoryOf + took) / (memoryOf + 1)
}

// limit needs the lock.
func (p *pulse) limit() time.Duration { return max(patience, lateness*p.usual) }

// overdue reports whether an answer is, or the last one was and none has come in time since.
func (p *pulse) overdue(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, began := range p.asked {
		if now.Sub(began) >= p.limit() {
			return true
		}
	}
	return p.late
}
