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
	// eventSettleTime is the same for a read once the informers have delivered something, and for a creation once they have shown
	// something going: what was made may be gone. No other event means that a write is wanted again: on a busy server its
	// effects arrive one by one, and some of them late.
	eventSettleTime = 250 * time.Millisecond
)

// actionQueues hold what one cluster has yet to do, a queue for each Workload. Actions of one queue run in order, one at a time;
// queues are independent. A new plan replaces what is left of the old one, so that nothing outdated is ever started.
type actionQueues struct {
	// onChange, optional, is told when there begins, or ceases, to be a queue for a Workload.
	onChange func(key types.NamespacedName, there bool)

	mu     sync.Mutex
	queues map[types.NamespacedName]*actionQueue
}

type actionQueue struct {
	pending    []Action
	results    map[string]ActionResult
	succeeded  map[string]successRecord // by the IDs of actions that have succeeded
	held       bool                     // the breaker keeps it waiting
	eventCount int                      // how many events the informers delivered: evidence read across one is worthless
}

// successRecord is when a success may be repeated, and what lets that be sooner.
type successRecord struct {
	until             time.Time
	creates, readOnly bool
}

func newActionQueues() *actionQueues {
	return &actionQueues{queues: map[types.NamespacedName]*actionQueue{}}
}

// setActions replaces the queue's actions and reports whether there is something to run. Failures of actions that are no longer
// wanted are forgotten; evidence is kept.
func (l *actionQueues) setActions(key types.NamespacedName, actions []Action) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.queues[key]
	if ln == nil {
		if len(actions) == 0 {
			return false
		}
		ln = &actionQueue{results: map[string]ActionResult{}, succeeded: map[string]successRecord{}}
		l.queues[key] = ln
		l.notifyChange(key, true)
	}
	ln.pending = slices.Clone(actions)
	wanted := func(id string) bool {
		return slices.ContainsFunc(actions, func(a Action) bool { return a.ID == id || slices.Contains(a.CoveredIDs, id) })
	}
	maps.DeleteFunc(ln.results, func(id string, a ActionResult) bool { return a.Value == nil && !wanted(id) })
	maps.DeleteFunc(ln.succeeded, func(id string, _ successRecord) bool { return !wanted(id) })
	if len(actions) == 0 && len(ln.results) == 0 {
		l.remove(key)
	}
	return len(actions) > 0
}

// forget drops everything about a Workload that is no more.
func (l *actionQueues) forget(key types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(key)
}

// remove needs the lock, and so does note.
func (l *actionQueues) remove(key types.NamespacedName) {
	delete(l.queues, key)
	l.notifyChange(key, false)
}

func (l *actionQueues) notifyChange(key types.NamespacedName, there bool) {
	if l.onChange != nil {
		l.onChange(key, there)
	}
}

// recordEvent notes that the informers delivered something about the Workload, or showed something of it going: evidence is
// outdated, and a success that this may have undone may soon be repeated if it is still wanted.
func (l *actionQueues) recordEvent(key types.NamespacedName, gone bool, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.queues[key]
	if ln == nil {
		return
	}
	ln.eventCount++
	ln.dropReadResults()
	for id, s := range ln.succeeded {
		if soon := now.Add(eventSettleTime); (s.readOnly || gone && s.creates) && soon.Before(s.until) {
			s.until = soon
			ln.succeeded[id] = s
		}
	}
}

func (ln *actionQueue) dropReadResults() {
	maps.DeleteFunc(ln.results, func(_ string, a ActionResult) bool { return a.Value != nil })
}

// nextRun takes the action to run now, or says how long to wait for one (zero: nothing is pending). A failed action that
// waits for its retry holds up those behind it, because their order matters; a settling one does not.
func (l *actionQueues) nextRun(key types.NamespacedName, now time.Time) (r actionRun, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.queues[key]
	if ln == nil {
		return actionRun{}, 0
	}
	for _, a := range ln.pending {
		if s, ok := ln.succeeded[a.ID]; ok && now.Before(s.until) {
			wait = minNonZero(wait, s.until.Sub(now))
			continue
		}
		if at := ln.results[a.ID].RetryAt; now.Before(at) {
			return actionRun{}, minNonZero(wait, at.Sub(now))
		}
		if !a.ReadOnly {
			ln.dropReadResults()
		}
		ln.held = false
		return actionRun{action: a, queue: ln, eventCount: ln.eventCount, ok: true}, 0
	}
	return actionRun{}, wait
}

// markHeld notes that the breaker keeps a queue waiting, and reports whether that is new.
func (l *actionQueues) markHeld(key types.NamespacedName) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.queues[key]
	if ln == nil || ln.held {
		return false
	}
	ln.held = true
	return true
}

// isIdle tells whether there is nothing pending for the Workload.
func (l *actionQueues) isIdle(key types.NamespacedName) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.queues[key]
	return ln == nil || len(ln.pending) == 0
}

// actionRun is one run of an action.
type actionRun struct {
	action     Action
	queue      *actionQueue // in which the run began, with so many events
	eventCount int
	ok         bool
}

// minNonZero returns the smaller of two delays, of which 0 means none.
func minNonZero(a, b time.Duration) time.Duration {
	if a == 0 || b < a {
		return b
	}
	return a
}

// recordResult records the outcome of a run and reports whether it is news to the hub: evidence, or another error than before. A
// write that succeeded is seen in the informers and needs no other announcement.
func (l *actionQueues) recordResult(key types.NamespacedName, r actionRun, value any, err error, now time.Time) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := r.action.ID
	ln := l.queues[key]
	if ln == nil || !slices.ContainsFunc(ln.pending, func(a Action) bool { return a.ID == id }) {
		return false
	}
	if r.action.ReadOnly && err == nil && (ln != r.queue || ln.eventCount != r.eventCount) {
		return false
	}
	before := ln.results[id]
	answer := ActionResult{ID: id, Value: value, Err: err}
	if err != nil {
		answer.Failures = before.Failures + 1
		answer.RetryAt = now.Add(WriteBackoff(answer.Failures))
	} else {
		for _, done := range append([]string{id}, r.action.CoveredIDs...) {
			ln.succeeded[done] = successRecord{until: now.Add(settleTime), creates: r.action.CreatesObjects, readOnly: r.action.ReadOnly || value != nil}
		}
	}
	ln.results[id] = answer
	return value != nil || errorText(before.Err) != errorText(err)
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// results returns the answers for a Workload, in the order of their IDs.
func (l *actionQueues) results(key types.NamespacedName) []ActionResult {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.queues[key]
	if ln == nil || len(ln.results) == 0 {
		return nil
	}
	found := make([]ActionResult, 0, len(ln.results))
	for _, id := range slices.Sorted(maps.Keys(ln.results)) {
		found = append(found, ln.results[id])
	}
	return found
}

// reset forgets everything: what was learned over one connection is no evidence over the next.
func (l *actionQueues) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key := range l.queues {
		l.remove(key)
	}
}
