package scheduler

import (
	"sync"
	"time"
)

// latencyTracker measures how long the API server takes for a write, so that work which can wait leaves it to what cannot: a slow
// answer says that the server has enough to do. It is safe for concurrent use.
type latencyTracker struct {
	mu      sync.Mutex
	average time.Duration
}

const (
	// latencyWeight is the part of a new measurement in the recent latency: one in so many.
	latencyWeight = 8
	// minPause and maxPause bound the pauses of background work.
	minPause, maxPause = 5 * time.Millisecond, 5 * time.Second
)

// observe takes the latency of a write that the server has answered.
func (p *latencyTracker) observe(latency time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.average == 0 {
		p.average = latency
		return
	}
	p.average += (latency - p.average) / latencyWeight
}

// pause is how long a background writer rests between two writes so that it uses one part in 1+rests of the time of one
// connection.
func (p *latencyTracker) pause(rests int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(max(p.average*time.Duration(rests), minPause), maxPause)
}
