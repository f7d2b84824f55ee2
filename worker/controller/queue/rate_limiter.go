package queue

import (
	"sync"
	"time"
)

const (
	// minInterval is the least time between two writes of an object's figures.
	minInterval = time.Second
	// maxInterval is the time between the writes of an object that changes all the time.
	maxInterval = 8 * time.Second
	// slotDuration is the time that each write takes from the others, of all objects together; burst slots may be taken at once.
	slotDuration = 50 * time.Millisecond
	burstSlots   = 40
)

// RateLimiter says when figures may be written. A change after a quiet time is written at once. An object that keeps changing is
// written at intervals that double from one second to eight, and all objects together have 20 writes a second: so the more
// queues are busy, the older their figures may be, and the part of the API server that they take is bounded. Pace is for
// figures only; what users wait for (conditions, finalizers) does not ask. It is safe for concurrent use.
type RateLimiter struct {
	mu      sync.Mutex
	objects map[any]*writeSchedule
	// nextSlot is when the slots that have been taken are over.
	nextSlot time.Time
}

// writeSchedule is that of one object.
type writeSchedule struct {
	lastWrite time.Time
	interval  time.Duration
	// reservedSlot is the slot that was taken for the next write; zero for none.
	reservedSlot time.Time
}

// NewRateLimiter returns an unused RateLimiter. All controllers of one engine share it.
func NewRateLimiter() *RateLimiter { return &RateLimiter{objects: map[any]*writeSchedule{}} }

// Delay returns how long the status of the object, which has something to write, has to wait; zero if it is its turn. The
// caller asks again when the time is over.
func (p *RateLimiter) Delay(object any, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.scheduleOf(object)
	if due := r.lastWrite.Add(r.interval); due.After(now) {
		return due.Sub(now)
	}
	if r.reservedSlot.IsZero() {
		r.reservedSlot = p.reserveSlot(now)
	}
	return max(r.reservedSlot.Sub(now), 0)
}

// reserveSlot takes the next slot.
func (p *RateLimiter) reserveSlot(now time.Time) time.Time {
	if earliest := now.Add(-burstSlots * slotDuration); p.nextSlot.Before(earliest) {
		p.nextSlot = earliest
	}
	p.nextSlot = p.nextSlot.Add(slotDuration)
	return p.nextSlot
}

// RecordWrite notes that the object has been written. Its interval doubles if the last write was not long ago.
func (p *RateLimiter) RecordWrite(object any, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.scheduleOf(object)
	if r.reservedSlot.IsZero() {
		p.reserveSlot(now) // It did not wait for its turn, and still takes a slot from the others.
	}
	if now.Sub(r.lastWrite) < 3*r.interval {
		r.interval = min(2*r.interval, maxInterval)
	} else {
		r.interval = minInterval
	}
	r.lastWrite, r.reservedSlot = now, time.Time{}
}

// Forget forgets an object that is gone.
func (p *RateLimiter) Forget(object any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.objects, object)
}

// scheduleOf is the schedule of an object's writes. The caller holds the lock.
func (p *RateLimiter) scheduleOf(object any) *writeSchedule {
	r := p.objects[object]
	if r == nil {
		r = &writeSchedule{}
		p.objects[object] = r
	}
	return r
}
