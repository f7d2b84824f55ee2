package listener

import (
	"container/list"
	"context"
	"net/netip"
	"sync"
	"time"
)

// Limiter bounds what all remotes of a server share: connections, or bytes of memory. A remote that finds it full may take
// from the one that holds most, as long as that one holds more than the newcomer then would. Greedy remotes take from one
// another, and a remote below its fair share is always served.
type Limiter struct {
	total, perRemote int64
	grace            time.Duration

	mu      sync.Mutex
	used    int64
	remotes map[netip.Addr]*remoteUsage
	waiting *list.List // of *waiter, in the order they came
}

// remoteUsage are what one remote holds.
type remoteUsage struct {
	held         int64
	holds        int
	displaceable *list.List // of *Hold that may be displaced, oldest first
}

// Hold is what a remote holds for one connection or request, until Leave.
type Hold struct {
	limiter  *Limiter
	remote   netip.Addr
	weight   int64
	displace func()
	element  *list.Element // in yields; nil while it is pinned, or over
	since    time.Time     // it has been there
	released bool
}

type waiter struct {
	hold     *Hold
	sequence *list.Element
	ready    chan struct{}
}

// NewLimiter makes a Limiter of so much in total, of which one remote has no more than each. No hold is displaced sooner than
// the patience.
func NewLimiter(total, each int64, patience time.Duration) *Limiter {
	return &Limiter{total: total, perRemote: each, grace: patience, remotes: map[netip.Addr]*remoteUsage{}, waiting: list.New()}
}

// TryAcquire takes part of the room, or returns false at once if the remote is to have no more. If the hold is displaced
// later, displace is called, which must not block; the hold has left by then.
func (r *Limiter) TryAcquire(remote netip.Addr, weight int64, displace func()) (*Hold, bool) {
	h := &Hold{limiter: r, remote: remote, weight: weight, displace: displace}
	r.mu.Lock()
	displaced, ok := r.admit(h)
	r.mu.Unlock()
	notifyDisplaced(displaced)
	return h, ok
}

// Acquire is TryAcquire that waits, until the context ends, for what others leave or have had for long. Of the waiting
// remotes, the one that holds least comes first.
func (r *Limiter) Acquire(ctx context.Context, remote netip.Addr, weight int64, displace func()) (*Hold, bool) {
	w := &waiter{hold: &Hold{limiter: r, remote: remote, weight: weight, displace: displace}, ready: make(chan struct{})}
	r.mu.Lock()
	w.sequence = r.waiting.PushBack(w)
	displaced := r.admitWaiting()
	r.mu.Unlock()
	notifyDisplaced(displaced)
	look := time.NewTicker(max(r.grace, time.Second))
	defer look.Stop()
	for {
		select {
		case <-w.ready:
			return w.hold, true
		default:
		}
		select {
		case <-w.ready:
		case <-look.C:
			r.mu.Lock()
			displaced = r.admitWaiting()
			r.mu.Unlock()
			notifyDisplaced(displaced)
		case <-ctx.Done():
			return r.cancelWait(w)
		}
	}
}

// cancelWait ends the wait, unless it has ended.
func (r *Limiter) cancelWait(w *waiter) (*Hold, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting.Remove(w.sequence)
	select {
	case <-w.ready:
		return w.hold, true
	default:
		return nil, false
	}
}

// Pin keeps a hold from being displaced: what it holds could not be given back before Unpin anyway. False if it has been displaced.
func (h *Hold) Pin() bool {
	h.limiter.mu.Lock()
	defer h.limiter.mu.Unlock()
	if h.element != nil {
		h.limiter.remotes[h.remote].displaceable.Remove(h.element)
		h.element = nil
	}
	return !h.released
}

// Unpin lets a hold be displaced again.
func (h *Hold) Unpin() {
	r := h.limiter
	r.mu.Lock()
	if !h.released && h.element == nil {
		h.since = time.Now()
		h.element = r.remotes[h.remote].displaceable.PushBack(h)
	}
	displaced := r.admitWaiting()
	r.mu.Unlock()
	notifyDisplaced(displaced)
}

// Release gives back what the hold has. It may be called more than once, and after the hold was displaced.
func (h *Hold) Release() {
	r := h.limiter
	r.mu.Lock()
	if h.released {
		r.mu.Unlock()
		return
	}
	r.remove(h)
	h.released = true
	displaced := r.admitWaiting()
	r.mu.Unlock()
	notifyDisplaced(displaced)
}

func notifyDisplaced(displaced []*Hold) {
	for _, h := range displaced {
		h.displace()
	}
}
