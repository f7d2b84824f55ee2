package listener

import (
	"container/list"
	"context"
	"net/netip"
	"sync"
	"time"
)

// Room is what all who connect to a server share: connections, or bytes of memory. Nobody who connects can be told to be modest, so
// that whoever finds it full may take from the remote that holds most, as long as that one holds more than the newcomer then would.
// Greedy remotes take from one another, and whoever stays below its fair share is always served.
type Room struct {
	total, each int64
	patience    time.Duration

	mu      sync.Mutex
	used    int64
	remotes map[netip.Addr]*holdings
	waiting *list.List // of *waiter, in the order they came
}

// holdings are what one remote holds.
type holdings struct {
	held   int64
	holds  int
	yields *list.List // of *Hold that may be displaced, oldest first
}

// Hold is what a remote holds for one connection or request, until Leave.
type Hold struct {
	room     *Room
	remote   netip.Addr
	weight   int64
	displace func()
	place    *list.Element // in yields; nil while it is pinned, or over
	since    time.Time     // it has been there
	over     bool
}

type waiter struct {
	hold  *Hold
	turn  *list.Element
	ready chan struct{}
}

// NewRoom makes a room of so much in total, of which one remote has no more than each. Nobody is displaced sooner than the patience.
func NewRoom(total, each int64, patience time.Duration) *Room {
	return &Room{total: total, each: each, patience: patience, remotes: map[netip.Addr]*holdings{}, waiting: list.New()}
}

// Enter takes part of the room, or returns false at once if the remote is to have no more. Who is displaced later is told by a call of
// displace, which must not block; it has left by then.
func (r *Room) Enter(remote netip.Addr, weight int64, displace func()) (*Hold, bool) {
	h := &Hold{room: r, remote: remote, weight: weight, displace: displace}
	r.mu.Lock()
	displaced, ok := r.admit(h)
	r.mu.Unlock()
	tell(displaced)
	return h, ok
}

// Await is Enter that waits, until the context ends, for what others leave or have had for long. Of those who wait, the remote that
// holds least comes first.
func (r *Room) Await(ctx context.Context, remote netip.Addr, weight int64, displace func()) (*Hold, bool) {
	w := &waiter{hold: &Hold{room: r, remote: remote, weight: weight, displace: displace}, ready: make(chan struct{})}
	r.mu.Lock()
	w.turn = r.waiting.PushBack(w)
	displaced := r.next()
	r.mu.Unlock()
	tell(displaced)
	look := time.NewTicker(max(r.patience, time.Second))
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
			displaced = r.next()
			r.mu.Unlock()
			tell(displaced)
		case <-ctx.Done():
			return r.giveUp(w)
		}
	}
}

// giveUp ends the wait, unless it has ended.
func (r *Room) giveUp(w *waiter) (*Hold, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting.Remove(w.turn)
	select {
	case <-w.ready:
		return w.hold, true
	default:
		return nil, false
	}
}

// Pin keeps a hold from being displaced: what it holds could not be given back before Unpin anyway. False if it has been displaced.
func (h *Hold) Pin() bool {
	h.room.mu.Lock()
	defer h.room.mu.Unlock()
	if h.place != nil {
		h.room.remotes[h.remote].yields.Remove(h.place)
		h.place = nil
	}
	return !h.over
}

// Unpin lets a hold be displaced again.
func (h *Hold) Unpin() {
	r := h.room
	r.mu.Lock()
	if !h.over && h.place == nil {
		h.since = time.Now()
		h.place = r.remotes[h.remote].yields.PushBack(h)
	}
	displaced := r.next()
	r.mu.Unlock()
	tell(displaced)
}

// Leave gives back what the hold has. It may be called more than once, and after the hold was displaced.
func (h *Hold) Leave() {
	r := h.room
	r.mu.Lock()
	if h.over {
		r.mu.Unlock()
		return
	}
	r.take(h)
	h.over = true
	displaced := r.next()
	r.mu.Unlock()
	tell(displaced)
}

func tell(displaced []*Hold) {
	for _, h := range displaced {
		h.displace()
	}
}
