package fleet

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// settleTime is how long a success is trusted to show up in the informers before its action may be repeated.
	settleTime = 5 * time.Second
	// lagTime is the same for a read once the informers have delivered something, and for a creation once they have shown
	// something going: what was made may be gone. No other event means that a write is wanted again: on a busy server its
	// effects arrive one by one, and some of them late.
	lagTime = 250 * time.Millisecond
)

// lanes hold what one cluster has yet to do, a lane for each Workload. Actions of one lane run in order, one at a time;
// lanes are independent. A new plan replaces what is left of the old one, so that nothing outdated is ever started.
type lanes struct {
	// noted, optional, is told when there begins, or ceases, to be a lane for a Workload.
	noted func(key types.NamespacedName, there bool)

	mu    sync.Mutex
	lanes map[types.NamespacedName]*lane
}

type lane struct {
	pending []Action
	answers map[string]Answer
	settled map[string]settling // by the IDs of actions that have succeeded
	held    bool                // the breaker keeps it waiting
	events  int                 // how many events the informers delivered: evidence read across one is worthless
}

// settling is when a success may be repeated, and what lets that be sooner.
type settling struct {
	until          time.Time
	creates, reads bool
}

func newLanes() *lanes { return &lanes{lanes: map[types.NamespacedName]*lane{}} }

// plan replaces the lane's actions and reports whether there is something to run. Failures of actions that are no longer
// wanted are forgotten; evidence is kept.
func (l *lanes) plan(key types.NamespacedName, actions []Action) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.lanes[key]
	if ln == nil {
		if len(actions) == 0 {
			return false
		}
		ln = &lane{answers: map[string]Answer{}, settled: map[string]settling{}}
		l.lanes[key] = ln
		l.note(key, true)
	}
	ln.pending = slices.Clone(actions)
	wanted := func(id string) bool {
		return slices.ContainsFunc(actions, func(a Action) bool { return a.ID == id || slices.Contains(a.Covers, id) })
	}
	maps.DeleteFunc(ln.answers, func(id string, a Answer) bool { return a.Value == nil && !wanted(id) })
	maps.DeleteFunc(ln.settled, func(id string, _ settling) bool { return !wanted(id) })
	if len(actions) == 0 && len(ln.answers) == 0 {
		l.drop(key)
	}
	return len(actions) > 0
}

// forget drops everything about a Workload that is no more.
func (l *lanes) forget(key types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(key)
}

// drop needs the lock, and so does note.
func (l *lanes) drop(key types.NamespacedName) {
	delete(l.lanes, key)
	l.note(key, false)
}

func (l *lanes) note(key types.NamespacedName, there bool) {
	if l.noted != nil {
		l.noted(key, there)
	}
}

// changed notes that the informers delivered something about the Workload, or showed something of it going: evidence is
// outdated, and a success that this may have undone may soon be repeated if it is still wanted.
func (l *lanes) changed(key types.NamespacedName, gone bool, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.lanes[key]
	if ln == nil {
		return
	}
	ln.events++
	ln.dropEvidence()
	for id, s := range ln.settled {
		if soon := now.Add(lagTime); (s.reads || gone && s.creates) && soon.Before(s.until) {
			s.until = soon
			ln.settled[id] = s
		}
	}
}

func (ln *lane) dropEvidence() {
	maps.DeleteFunc(ln.answers, func(_ string, a Answer) bool { return a.Value != nil })
}

// next takes the action to run now, or says how long to wait for one (zero: nothing is pending). A failed action that
// waits for its retry holds up those behind it, because their order matters; a settling one does not.
func (l *lanes) next(key types.NamespacedName, now time.Time) (r run, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.lanes[key]
	if ln == nil {
		return run{}, 0
	}
	for _, a := range ln.pending {
		if s, ok := ln.settled[a.ID]; ok && now.Before(s.until) {
			wait = shorter(wait, s.until.Sub(now))
			continue
		}
		if at := ln.answers[a.ID].RetryAt; now.Before(at) {
			return run{}, shorter(wait, at.Sub(now))
		}
		if !a.Reads {
			ln.dropEvidence()
		}
		ln.held = false
		return run{action: a, lane: ln, events: ln.events, ok: true}, 0
	}
	return run{}, wait
}

// held notes that the breaker keeps a lane waiting, and reports whether that is new.
func (l *lanes) held(key types.NamespacedName) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.lanes[key]
	if ln == nil || ln.held {
		return false
	}
	ln.held = true
	return true
}

// idle tells whether there is nothing pending for the Workload.
func (l *lanes) idle(key types.NamespacedName) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.lanes[key]
	return ln == nil || len(ln.pending) == 0
}

// run is one run of an action.
type run struct {
	action Action
	lane   *lane // in which the run began, with so many events
	events int
	ok     bool
}

func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b < a {
		return b
	}
	return a
}

// done records the outcome of a run and reports whether it is news to the hub: evidence, or another error than before. A
// write that succeeded is seen in the informers and needs no other announcement.
func (l *lanes) done(key types.NamespacedName, r run, value any, err error, now time.Time) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := r.action.ID
	ln := l.lanes[key]
	if ln == nil || !slices.ContainsFunc(ln.pending, func(a Action) bool { return a.ID == id }) {
		return false
	}
	if r.action.Reads && err == nil && (ln != r.lane || ln.events != r.events) {
		return false
	}
	before := ln.answers[id]
	answer := Answer{ID: id, Value: value, Err: err}
	if err != nil {
		answer.Failures = before.Failures + 1
		answer.RetryAt = now.Add(WriteBackoff(answer.Failures))
	} else {
		for _, done := range append([]string{id}, r.action.Covers...) {
			ln.settled[done] = settling{until: now.Add(settleTime), creates: r.action.Creates, reads: r.action.Reads || value != nil}
		}
	}
	ln.answers[id] = answer
	return value != nil || text(before.Err) != text(err)
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// of returns the answers for a Workload, in the order of their IDs.
func (l *lanes) of(key types.NamespacedName) []Answer {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.lanes[key]
	if ln == nil || len(ln.answers) == 0 {
		return nil
	}
	found := make([]Answer, 0, len(ln.answers))
	for _, id := range slices.Sorted(maps.Keys(ln.answers)) {
		found = append(found, ln.answers[id])
	}
	return found
}

// reset forgets everything: what was learned over one connection is no evidence over the next.
func (l *lanes) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key := range l.lanes {
		l.drop(key)
	}
}
