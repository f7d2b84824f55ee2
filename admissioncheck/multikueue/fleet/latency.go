package fleet

import (
	"sync"
	"time"
)

const (
	// minLatencyLimit is how long a cluster may take for an answer before it counts as overdue, unless it is known to take long: then
	// it is lateness times as long as it usually takes.
	minLatencyLimit, latencyFactor = time.Second, 8
	// latencyMeanWeight is the weight of what was before in the usual time of an answer, against one for the last.
	latencyMeanWeight = 7
)

// latencyTracker tells how readily a cluster answers: long before it is known to be lost it is known that its answers are overdue. The
// zero pulse has asked nothing. It ends with its session and is safe for concurrent use.
type latencyTracker struct {
	mu          sync.Mutex
	lastCall    int
	inFlight    map[int]time.Time // calls under way, and when they began
	mean        time.Duration     // how long an answer takes: the mean of all, the last ones counting most
	lastWasLate bool              // the last answer was
}

// startCall records that a call begins now. It returns how long the answer may take, and the function to call when the answer
// is there or given up.
func (p *latencyTracker) startCall(now time.Time) (limit time.Duration, answered func(now time.Time)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inFlight == nil {
		p.inFlight = map[int]time.Time{}
	}
	p.lastCall++
	number := p.lastCall
	p.inFlight[number] = now
	return p.limit(), func(now time.Time) { p.endCall(number, now) }
}

// endCall takes a call's latency into the mean, a moving average. The numbers are those that the beginning of the call
// returned.
func (p *latencyTracker) endCall(number int, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := now.Sub(p.inFlight[number])
	delete(p.inFlight, number)
	p.lastWasLate = took > p.limit()
	p.mean = (p.mean*latencyMeanWeight + took) / (latencyMeanWeight + 1)
}

// limit needs the lock.
func (p *latencyTracker) limit() time.Duration { return max(minLatencyLimit, latencyFactor*p.mean) }

// isOverdue reports whether an answer is, or the last one was and none has come in time since.
func (p *latencyTracker) isOverdue(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, began := range p.inFlight {
		if now.Sub(began) >= p.limit() {
			return true
		}
	}
	return p.lastWasLate
}
