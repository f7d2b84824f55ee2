package view

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	api "switchyard.dev/worker/workload"
)

// place is where a workload belongs in the snapshot: at most one of its fields is set.
type place struct {
	waiting *admission.Workload
	holding *admission.Reservation
}

// queue names the ClusterQueue whose figures the place counts in, and local the LocalQueue; empty when nowhere.
func (p place) queue() (queue string, local admission.Key) {
	switch {
	case p.waiting != nil:
		return p.waiting.Queue, keyOf(p.waiting.Namespace, p.waiting.LocalQueue)
	case p.holding != nil:
		return p.holding.Queue, keyOf(p.holding.Namespace, p.holding.LocalQueue)
	}
	return "", admission.Key{}
}

// put tells the snapshot where the workload belongs, unless it knows (contract: kueue-api.md 1.18, 4.1, 4.10). While a
// reservation is assumed the cycle had the last word and nothing happens.
func (v *View) put(w *workload) {
	wl := w.obj
	switch {
	case w.assumed != nil:
	case api.IsFinished(wl):
		v.putNowhere(w)
	case api.HasQuota(wl):
		v.putHolding(w)
	case !queueable(wl):
		v.putNowhere(w)
	default:
		v.putWaiting(w)
	}
}

func (v *View) putNowhere(w *workload) {
	w.asked = nil
	if w.place != (place{}) {
		v.move(w, place{})
	}
}

func (v *View) putHolding(w *workload) {
	w.asked = nil
	next := v.reservationOf(w.obj)
	if was := w.place.holding; was == nil || !sameHolding(was, &next) {
		v.move(w, place{holding: new(next)})
	}
}

func (v *View) putWaiting(w *workload) {
	next := v.waitingOf(w)
	was := w.place.waiting
	if was != nil && sameWaiting(was, &next) {
		return
	}
	if was == nil {
		w.told = reasonOf(w.obj)
	}
	v.move(w, place{waiting: new(next)})
	if w.hasStale() {
		v.unheard.changed = append(v.unheard.changed, w)
	}
}

func (v *View) move(w *workload, next place) {
	switch {
	case next.waiting != nil:
		v.snap.Push(*next.waiting)
	case next.holding != nil:
		v.snap.Admit(*next.holding)
	default:
		v.snap.Remove(w.key())
	}
	v.account(w)
	v.changedPlaces(w.place, next)
	w.place = next
	v.signal()
}

// queueable tells whether a workload without quota asks for some: it names a queue, is active, not going away and not
// gated. What waits for a trigger or a time is queued all the same, blocked (see pendingBlock), so that it is counted as
// pending.
func queueable(wl *kueue.Workload) bool {
	return wl.Spec.QueueName != "" && wl.DeletionTimestamp.IsZero() && api.IsActive(wl) && len(api.Gates(wl)) == 0 &&
		!meta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadDeactivationTarget)
}

func (v *View) waitingOf(w *workload) admission.Workload {
	wl := w.obj
	out := admission.Workload{
		Key:         keyOf(wl.Namespace, wl.Name),
		UID:         string(wl.UID),
		LocalQueue:  string(wl.Spec.QueueName),
		QueuedAt:    v.queuedAt(wl),
		NotBefore:   later(requeueAt(wl), w.retryAt),
		Priority:    api.Priority(wl, v.opts.PriorityBoost),
		ClosedGates: api.ClosedGates(wl),
	}
	asked := v.askedBy(w)
	out.PodSets = asked.needed(wl, v.opts)
	lq := v.locals[keyOf(wl.Namespace, out.LocalQueue)]
	if lq != nil {
		out.Queue = string(lq.obj.Spec.ClusterQueue)
	}
	out.Blocked = v.blockOf(wl, lq, asked.problem)
	return out
}

// queuedAt is the queue-order timestamp: the eviction that counts, or the creation.
func (v *View) queuedAt(wl *kueue.Workload) time.Time {
	evicted := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
	if evicted == nil || evicted.Status != metav1.ConditionTrue {
		return wl.CreationTimestamp.Time
	}
	reason := kueue.Reason(evicted.Reason)
	if reason == kueue.ReasonAdmissionCheck || reason == kueue.ReasonPodsReadyTimeout && !v.opts.OrderByCreation {
		return evicted.LastTransitionTime.Time
	}
	return wl.CreationTimestamp.Time
}

func requeueAt(wl *kueue.Workload) time.Time {
	if wl.Status.RequeueState == nil || wl.Status.RequeueState.RequeueAt == nil {
		return time.Time{}
	}
	return wl.Status.RequeueState.RequeueAt.Time
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
