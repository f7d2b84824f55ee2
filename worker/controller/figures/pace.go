package figures

import (
	"sync"
	"time"
)

const (
	// firstInterval is the least time between two writes of an object's figures.
	firstInterval = time.Second
	// lastInterval is the time between the writes of an object that changes all the time.
	lastInterval = 8 * time.Second
	// slot is the time that each write takes from the others, of all objects together; burst slots may be taken at once.
	slot  = 50 * time.Millisecond
	burst = 40
)

// Pace says when figures may be written. A change after a quiet time is written at once. An object that keeps changing is
// written at intervals that double from one second to eight, and all objects together have 20 writes a second: so the more
// queues are busy, the older their figures may be, and the part of the API server that they take is bounded. Pace is for
// figures only; what users wait for (conditions, finalizers) does not ask. It is safe for concurrent use.
type Pace struct {
	mu      sync.Mutex
	objects map[any]*rhythm
	// free is when the slots that have been taken are over.
	free time.Time
}

// rhythm is that of one object.
type rhythm struct {
	written  time.Time
	interval time.Duration
	// turn is the slot that was taken for the next write; zero for none.
	turn time.Time
}

// NewPace returns a pace that nobody has used yet. All controllers of one engine share it.
func NewPace() *Pace { return &Pace{objects: map[any]*rhythm{}} }

// Wait returns how long the figures of the object, of which there is something to write, have to wait; zero if it is their
// turn. Who waits asks again when the time is over.
func (p *Pace) Wait(object any, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.of(object)
	if due := r.written.Add(r.interval); due.After(now) {
		return due.Sub(now)
	}
	if r.turn.IsZero() {
		r.turn = p.take(now)
	}
	return max(r.turn.Sub(now), 0)
}

// take takes the next slot.
func (p *Pace) take(now time.Time) time.Time {
	if earliest := now.Add(-burst * slot); p.free.Before(earliest) {
		p.free = earliest
	}
	p.free = p.free.Add(slot)
	return p.free
}

// Wrote notes that the object has been written. Its interval doubles if the last write was not long ago.
func (p *Pace) Wrote(object any, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.of(object)
	if r.turn.IsZero() {
		p.take(now) // It did not wait for its turn, and still takes a slot from the others.
	}
	if now.Sub(r.written) < 3*r.interval {
		r.interval = min(2*r.interval, lastInterval)
	} else {
		r.interval = firstInterval
	}
	r.written, r.turn = now, time.Time{}
}

// Forget forgets an object that is gone.
func (p *Pace) Forget(object any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.objects, object)
}

func (p *Pace) of(object any) *rhythm {
	r := p.objects[object]
	if r == nil {
		r = &rhythm{}
		p.objects[object] = r
	}
	return r
}
