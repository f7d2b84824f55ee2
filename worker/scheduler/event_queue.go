package scheduler

import (
	"context"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"

	"switchyard.dev/worker/kube"
)

const (
	// maxQueuedEvents bounds what waits to be told; beyond it the oldest are dropped.
	maxQueuedEvents = 1024
	// mergeThreshold is the number of bulletins from which on each is told in one event.
	mergeThreshold = 64
	// eventPauseFactor gives events a third of the time of one connection.
	eventPauseFactor = 2
)

// queuedEvent is what happened to an object in one write, the most telling event last.
type queuedEvent struct {
	object runtime.Object
	events []kube.Event
}

// eventQueue sends events at a pace that leaves the API server to admissions: as fast as it answers when it has little to do,
// a few a second when it is saturated. Tell never blocks.
//
// When many wait, the events of one write become one: an admission is told as Admitted, with the reservation in its note.
type eventQueue struct {
	config  Config
	latency *latencyTracker

	mu       sync.Mutex
	queued   []queuedEvent
	dropped  int
	notEmpty chan struct{}
}

func newEventQueue(parts Config, p *latencyTracker) *eventQueue {
	return &eventQueue{config: parts, latency: p, notEmpty: make(chan struct{}, 1)}
}

// enqueue adds events about an object. Beyond maxQueuedEvents the oldest are dropped and counted. It never blocks.
func (h *eventQueue) enqueue(about runtime.Object, list ...kube.Event) {
	if len(list) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.queued) >= maxQueuedEvents {
		h.queued = h.queued[1:]
		h.dropped++
	}
	h.queued = append(h.queued, queuedEvent{object: about, events: list})
	select {
	case h.notEmpty <- struct{}{}:
	default:
	}
}

// run sends until the context ends; what waits then is not told.
func (h *eventQueue) run(ctx context.Context) {
	for {
		sent := h.sendNext(ctx)
		for range sent {
			if !h.pause(ctx) {
				return
			}
		}
		if sent > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-h.notEmpty:
		}
	}
}

func (h *eventQueue) pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-h.config.Clock.After(h.latency.pause(eventPauseFactor)):
		return true
	}
}

// sendNext sends the events of the oldest queued event and returns their number.
func (h *eventQueue) sendNext(ctx context.Context) int {
	next, dropped := h.pop()
	if dropped > 0 {
		logr.FromContextOrDiscard(ctx).Info("The API server is too busy for all events", "dropped", dropped)
	}
	if next.object != nil {
		kube.RecordEvents(h.config.Recorder, next.object, next.events...)
	}
	return len(next.events)
}

// pop returns the oldest entry, and how many were dropped since that was last returned. While the queue is long, the events
// of an entry are merged.
func (h *eventQueue) pop() (next queuedEvent, dropped int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.queued) == 0 {
		return queuedEvent{}, 0
	}
	next, h.queued = h.queued[0], h.queued[1:]
	if len(h.queued) >= mergeThreshold {
		next.events = mergeEvents(next.events)
		return next, 0
	}
	dropped, h.dropped = h.dropped, 0
	return next, dropped
}

// mergeEvents is one event for all: the last, with the notes of the others behind its own.
func mergeEvents(list []kube.Event) []kube.Event {
	one := list[len(list)-1]
	for _, e := range list[:len(list)-1] {
		one.Note += "; " + e.Note
	}
	return []kube.Event{one}
}
