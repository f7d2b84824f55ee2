package guard

import (
	"sync"
	"time"

	"switchyard.dev/worker/fence"
)

// stateCache is what is remembered of every hub, by the name of its lease, and since when. It is lost with the program: a fence
// that begins anew goes by what the leases say.
type stateCache struct {
	mu     sync.Mutex
	began  time.Time
	states map[string]fence.State
}

// lookup returns what is remembered, and for how long the fence has been looking. Differences of times of the machine's clock
// do not depend on how that is set.
func (m *stateCache) lookup(lease string, now time.Time) (fence.State, time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.began.IsZero() {
		m.began = now
	}
	return m.states[lease], now.Sub(m.began)
}

// record remembers a hub, or forgets one that does not matter.
func (m *stateCache) record(lease string, s fence.State, matters bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.states == nil {
		m.states = map[string]fence.State{}
	}
	if matters {
		m.states[lease] = s
	} else {
		delete(m.states, lease)
	}
}
