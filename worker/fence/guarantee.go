package fence

import (
	"maps"
	"slices"
	"time"
)

// Guarantee is what a fence remembers of how well jobs stop in its cluster, in memory only. To suspend a job is to ask its controller
// to end the pods, and the promise to stop what depends on a hub's lease stands only while those controllers do. The zero
// Promise has seen nothing.
type Guarantee struct {
	// Since is the uptime at which a wait was first seen.
	Since map[WaitID]time.Duration
	// Overdue are the waits that last too long, by when that was first seen.
	Overdue map[WaitID]time.Time
	// Removed are those, one of a kind, whose job was removed while overdue: its pods may run on.
	Removed map[string]RemovedJob
	// Inherited is what the fence before this one held against its promise; empty if nothing, or when that has been looked into.
	Inherited string
}

// RemovedJob is a job that was removed while it was overdue.
type RemovedJob struct {
	WaitID
	// At is when it was missed.
	At time.Time
}

// GuaranteeObservation is what a fence sees of the jobs in its cluster.
type GuaranteeObservation struct {
	// Now is the worker's clock, Uptime for how long the fence has been looking, by a clock that only goes forward.
	Now    time.Time
	Uptime time.Duration
	// Waits are all jobs that wait.
	Waits []Wait
	// Exists tells whether the job is still there. It is asked only about jobs that were overdue and wait no more.
	Exists func(WaitID) bool
	// LastControllerUpdate is when a controller of the kind has last been seen to do anything, by its own clock; zero for never. It is asked
	// only when something is overdue.
	LastControllerUpdate func(kind string) time.Time
}

// Observe returns what is remembered after a look. It is deterministic; applied again to its own result it changes nothing.
func (p Guarantee) Observe(b GuaranteeObservation) Guarantee {
	next := Guarantee{Since: map[WaitID]time.Duration{}, Overdue: map[WaitID]time.Time{}, Removed: map[string]RemovedJob{}}
	for _, w := range b.Waits {
		since, known := p.Since[w.WaitID]
		if !known {
			since = b.Uptime
		}
		next.Since[w.WaitID] = since
		if w.isOverdue(b, since) {
			next.Overdue[w.WaitID] = b.Now
			if at, was := p.Overdue[w.WaitID]; was {
				next.Overdue[w.WaitID] = at
			}
		}
	}
	p.recordRemoved(b, next)
	if b.Uptime < settledUptime {
		next.Inherited = p.Inherited
	}
	return next
}

// isOverdue tells whether the wait lasts too long. Where a controller acts on other jobs, one that is not noticed says nothing about
// the rest: that may be the job's own fault, or a long queue.
func (w Wait) isOverdue(b GuaranteeObservation, since time.Duration) bool {
	if max(b.Uptime-since, w.Age) <= w.limit() {
		return false
	}
	return w.For != ControllerObserves || b.Now.Sub(b.LastControllerUpdate(w.Kind)) > reactionLimit
}

// recordRemoved notes what was overdue and was removed. The doubt stays until the kind's controller is seen at work.
func (p Guarantee) recordRemoved(b GuaranteeObservation, next Guarantee) {
	for id := range p.Overdue {
		if _, waits := next.Since[id]; waits || b.Exists(id) {
			continue
		}
		lost, already := next.Removed[id.Kind]
		if !already || id.compare(lost.WaitID) < 0 {
			next.Removed[id.Kind] = RemovedJob{WaitID: id, At: b.Now}
		}
	}
	for kind, lost := range p.Removed {
		if _, again := next.Removed[kind]; !again && !b.LastControllerUpdate(kind).After(lost.At) {
			next.Removed[kind] = lost
		}
	}
}

// Message says why the fence cannot promise that jobs stop; empty if it can. It stays the same as long as the first job that is
// overdue stays so.
func (p Guarantee) Message() string {
	ids := slices.SortedFunc(maps.Keys(p.Overdue), func(a, b WaitID) int {
		if c := p.Overdue[a].Compare(p.Overdue[b]); c != 0 {
			return c
		}
		return a.compare(b)
	})
	if len(ids) > 0 {
		return ids[0].message() + "; noticed at " + formatTime(p.Overdue[ids[0]])
	}
	for _, kind := range slices.Sorted(maps.Keys(p.Removed)) {
		lost := p.Removed[kind]
		return lost.message() + "; it was removed at " + formatTime(lost.At) + ", and nothing has shown since that the controller acts"
	}
	return p.Inherited
}

func formatTime(at time.Time) string { return at.UTC().Format(time.RFC3339) }
