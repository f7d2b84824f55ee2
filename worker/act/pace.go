package act

import (
	"sync"
	"time"
)

// pace measures how long the API server takes for a write, so that work which can wait leaves it to what cannot: a slow
// answer says that the server has enough to do. It is safe for concurrent use.
type pace struct {
	mu     sync.Mutex
	recent time.Duration
}

const (
	// paceWeight is the part of a new measurement in the recent latency: one in so many.
	paceWeight = 8
	// minPause and maxPause bound the pauses of background work.
	minPause, maxPause = 5 * time.Millisecond, 5 * time.Second
)

// took takes the latency of a write that the server has answered.
func (p *pace) took(latency time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.recent == 0 {
		p.recent = latency
		return
	}
	p.recent += (latency - p.recent) / paceWeight
}

// pause is how long a background writer rests between two writes so that it uses one part in 1+rests of the time of one
// connection.
func (p *pace) pause(rests int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(max(p.recent*time.Duration(rests), minPause), maxPause)
}
