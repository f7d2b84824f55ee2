package controller

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	"switchyard.dev/admissioncheck/multikueue/tracker"
	kueue "switchyard.dev/apis/kueue/v1beta2"
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

// do runs a function that may read and change the tracker. It must not call out: every reconcile waits for the lock.
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

func (l *lockedTracker) recordSent(o mirror.Original, a dispatch.Action, now time.Time) {
	l.do(func(t *tracker.Tracker) { t.Sent(trackedWorkload(o), a, now) })
}

func (l *lockedTracker) recordAnswer(o mirror.Original, a dispatch.Action, answer tracker.Answer, now time.Time) {
	l.do(func(t *tracker.Tracker) { t.Answered(trackedWorkload(o), a, answer, now) })
}

// withoutRemoved returns what is seen over a connection without what was removed over it already. A copy that waits for our finalizer to
// be taken off is left.
func (l *lockedTracker) withoutRemoved(seen mirror.Found, connection int64, now time.Time) mirror.Found {
	l.do(func(t *tracker.Tracker) {
		if seen.Job != nil && t.IsRemoved(string(seen.Job.GetUID()), connection, now) {
			seen.Job = nil
		}
		if wl := seen.Workload; wl != nil && t.IsRemoved(string(wl.UID), connection, now) {
			if wl.DeletionTimestamp.IsZero() || !slices.Contains(wl.Finalizers, kueue.ResourceInUseFinalizer) {
				seen.Workload = nil
			}
		}
	})
	return seen
}
