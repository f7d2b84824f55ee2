package act

import (
	"context"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"

	"switchyard.dev/worker/kube"
)

const (
	// maxBulletins bounds what waits to be told; beyond it the oldest are dropped.
	maxBulletins = 1024
	// crowded is the number of bulletins from which on each is told in one event.
	crowded = 64
	// heraldRests gives events a third of the time of one connection.
	heraldRests = 2
)

// bulletin is what happened to an object in one write, the most telling event last.
type bulletin struct {
	about  runtime.Object
	events []kube.Event
}

// herald sends events at a pace that leaves the API server to admissions: as fast as it answers when it has little to do,
// a few a second when it is saturated. Tell never blocks.
//
// When many wait, the events of one write become one: an admission is told as Admitted, with the reservation in its note.
type herald struct {
	parts Parts
	pace  *pace

	mu      sync.Mutex
	waiting []bulletin
	dropped int
	news    chan struct{}
}

func newHerald(parts Parts, p *pace) *herald {
	return &herald{parts: parts, pace: p, news: make(chan struct{}, 1)}
}

func (h *herald) tell(about runtime.Object, list ...kube.Event) {
	if len(list) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.waiting) >= maxBulletins {
		h.waiting = h.waiting[1:]
		h.dropped++
	}
	h.waiting = append(h.waiting, bulletin{about: about, events: list})
	select {
	case h.news <- struct{}{}:
	default:
	}
}

// run sends until the context ends; what waits then is not told.
func (h *herald) run(ctx context.Context) {
	for {
		sent := h.sendNext(ctx)
		for range sent {
			if !h.rest(ctx) {
				return
			}
		}
		if sent > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-h.news:
		}
	}
}

func (h *herald) rest(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-h.parts.Clock.After(h.pace.pause(heraldRests)):
		return true
	}
}

// sendNext sends the events of the oldest bulletin and returns their number.
func (h *herald) sendNext(ctx context.Context) int {
	next, dropped := h.next()
	if dropped > 0 {
		logr.FromContextOrDiscard(ctx).Info("The API server is too busy for all events", "dropped", dropped)
	}
	if next.about != nil {
		kube.Record(h.parts.Recorder, next.about, next.events...)
	}
	return len(next.events)
}

func (h *herald) next() (next bulletin, dropped int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.waiting) == 0 {
		return bulletin{}, 0
	}
	next, h.waiting = h.waiting[0], h.waiting[1:]
	if len(h.waiting) >= crowded {
		next.events = merged(next.events)
		return next, 0
	}
	dropped, h.dropped = h.dropped, 0
	return next, dropped
}

// merged is one event for all: the last, with the notes of the others behind its own.
func merged(list []kube.Event) []kube.Event {
	one := list[len(list)-1]
	for _, e := range list[:len(list)-1] {
		one.Note += "; " + e.Note
	}
	return []kube.Event{one}
}
