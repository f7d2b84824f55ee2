package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"switchyard.dev/admissioncheck/multikueue/mirror"
	"switchyard.dev/admissioncheck/multikueue/tracker"
	"switchyard.dev/worker/admission"
)

// lockedTracker is what the dispatcher remembers, shared by reconciles and by the calls to workers. Nothing else is locked while it is.
type lockedTracker struct {
	mu      sync.Mutex
	tracker *tracker.Tracker
}

func newLockedTracker(cutOffWindow time.Duration) *lockedTracker {
	return &lockedTracker{tracker: tracker.New(cutOffWindow)}
}

func (l *lockedTracker) do(f func(t *tracker.Tracker)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l.tracker)
}

// readTracker returns what f finds.
func readTracker[T any](l *lockedTracker, f func(t *tracker.Tracker) T) (found T) {
	l.do(func(t *tracker.Tracker) { found = f(t) })
	return found
}

// trackedWorkload is an Original as the Tracker knows it.
func trackedWorkload(o mirror.Original) tracker.Workload {
	return tracker.Workload{Key: admissionKey(o.Key()), UID: string(o.Workload.UID)}
}

func admissionKey(key types.NamespacedName) admission.Key {
	return admission.Key{Namespace: key.Namespace, Name: key.Name}
}

func namespacedName(key admission.Key) types.NamespacedName {
	return types.NamespacedName{Namespace: key.Namespace, Name: key.Name}
}

// NextToDrain implements drain.Turns.
func (l *lockedTracker) NextToDrain(cluster string, bound []admission.Key) (next admission.Key, ok bool) {
	l.do(func(t *tracker.Tracker) { next, ok = t.NextToDrain(cluster, bound) })
	return next, ok
}

// SetDrainTargets implements drain.Turns.
func (l *lockedTracker) SetDrainTargets(cluster string, workloads []admission.Key) {
	l.do(func(t *tracker.Tracker) { t.SetDrainTargets(cluster, workloads) })
}

// EndDrain implements drain.Turns.
func (l *lockedTracker) EndDrain(cluster string) {
	l.do(func(t *tracker.Tracker) { t.EndDrain(cluster) })
}
