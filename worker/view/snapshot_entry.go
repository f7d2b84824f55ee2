package view

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	api "switchyard.dev/worker/workload"
)

// snapshotEntry is where a workload belongs in the snapshot: at most one of its fields is set.
type snapshotEntry struct {
	pending     *admission.Workload
	reservation *admission.Reservation
}

// queueNames names the ClusterQueue whose figures the place counts in, and local the LocalQueue; empty when nowhere.
func (p snapshotEntry) queueNames() (queue string, local admission.Key) {
	switch {
	case p.pending != nil:
		return p.pending.Queue, keyOf(p.pending.Namespace, p.pending.LocalQueue)
	case p.reservation != nil:
		return p.reservation.Queue, keyOf(p.reservation.Namespace, p.reservation.LocalQueue)
	}
	return "", admission.Key{}
}

// syncWorkload tells the snapshot where the workload belongs, unless it knows (contract: kueue-api.md 1.18, 4.1, 4.10). While a
// reservation is assumed the cycle had the last word and nothing happens.
func (v *View) syncWorkload(w *workload) {
	wl := w.obj
	switch {
	case w.assumed != nil:
	case api.IsFinished(wl):
		v.removeFromSnapshot(w)
	case api.HasQuota(wl):
		v.syncReservation(w)
	case !isQueueable(wl):
		v.removeFromSnapshot(w)
	default:
		v.syncPending(w)
	}
}

func (v *View) removeFromSnapshot(w *workload) {
	w.requested = nil
	if w.entry != (snapshotEntry{}) {
		v.setSnapshotEntry(w, snapshotEntry{})
	}
}

func (v *View) syncReservation(w *workload) {
	w.requested = nil
	next := v.buildReservation(w.obj)
	if was := w.entry.reservation; was == nil || !sameReservation(was, &next) {
		v.setSnapshotEntry(w, snapshotEntry{reservation: new(next)})
	}
}

func (v *View) syncPending(w *workload) {
	next := v.buildPendingWorkload(w)
	was := w.entry.pending
	if was != nil && samePending(was, &next) {
		return
	}
	if was == nil {
		w.reportedReason = pendingReason(w.obj)
	}
	v.setSnapshotEntry(w, snapshotEntry{pending: new(next)})
	if w.hasStaleReport() {
		v.staleReports.workloads = append(v.staleReports.workloads, w)
	}
}

func (v *View) setSnapshotEntry(w *workload, next snapshotEntry) {
	switch {
	case next.pending != nil:
		v.snap.Push(*next.pending)
	case next.reservation != nil:
		v.snap.Admit(*next.reservation)
	default:
		v.snap.Remove(w.key())
	}
	v.updateUsage(w)
	v.notifyEntryQueues(w.entry, next)
	w.entry = next
	v.requestCycle()
}

// isQueueable tells whether a workload without quota asks for some: it names a queue, is active, not going away and not
// gated. What waits for a trigger or a time is queued all the same, blocked (see pendingBlock), so that it is counted as
// pending.
func isQueueable(wl *kueue.Workload) bool {
	return wl.Spec.QueueName != "" && wl.DeletionTimestamp.IsZero() && api.IsActive(wl) && len(api.AdmissionGates(wl)) == 0 &&
		!meta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadDeactivationTarget)
}

func (v *View) buildPendingWorkload(w *workload) admission.Workload {
	wl := w.obj
	out := admission.Workload{
		Key:         keyOf(wl.Namespace, wl.Name),
		UID:         string(wl.UID),
		LocalQueue:  string(wl.Spec.QueueName),
		QueuedAt:    v.queuedAt(wl),
		NotBefore:   later(requeueAt(wl), w.retryAt),
		Priority:    api.Priority(wl, v.opts.PriorityBoost),
		ClosedGates: api.ClosedPreemptionGates(wl),
	}
	asked := v.requests.requestedBy(w)
	out.PodSets = asked.remaining(wl, v.opts)
	lq := v.localQueues[keyOf(wl.Namespace, out.LocalQueue)]
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
