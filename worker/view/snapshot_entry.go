package view

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	api "switchyard.dev/worker/workload"
)

// snapshotWriter tells the snapshot where workloads belong. No other code writes workloads to it. Callers hold the view's mutex.
type snapshotWriter struct {
	opts         Options
	snap         *admission.Snapshot
	objects      *objectIndex
	index        *workloadIndex
	requests     *requestCalculator
	broadcaster  *broadcaster
	staleReports *staleReports
	// usageTracker is nil unless recent usage counts.
	usageTracker  *usageTracker
	cycleRequests chan struct{}
}

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

// isQueueable tells whether a workload without quota asks for some: it names a queue, is active, not going away, not
// gated and not on hold. What waits for a trigger or a time is queued all the same, blocked (see pendingBlock), so that it is counted as
// pending.
func isQueueable(wl *kueue.Workload) bool {
	return wl.Spec.QueueName != "" && wl.DeletionTimestamp.IsZero() && api.IsActive(wl) && len(api.AdmissionGates(wl)) == 0 && !api.IsOnHold(wl) &&
		!meta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadDeactivationTarget)
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

// syncWorkload tells the snapshot where the workload belongs, and the slices that depend on it.
func (s *snapshotWriter) syncWorkload(w *workload) {
	s.placeWorkload(w)
	if s.opts.ElasticJobs {
		s.syncSlices(w)
	}
}

// placeWorkload tells the snapshot where the workload belongs, unless it knows (contract: kueue-api.md 1.18, 4.1, 4.10). While a
// reservation is assumed the cycle had the last word and nothing happens.
func (s *snapshotWriter) placeWorkload(w *workload) {
	wl := w.obj
	switch {
	case w.assumed != nil:
	case api.IsFinished(wl), s.index.isReplaced(w):
		s.removeFromSnapshot(w)
	case api.HasQuota(wl):
		s.syncReservation(w)
	case !isQueueable(wl):
		s.removeFromSnapshot(w)
	default:
		s.syncPending(w)
	}
}

func (s *snapshotWriter) removeFromSnapshot(w *workload) {
	w.requested = nil
	if w.entry != (snapshotEntry{}) {
		s.setSnapshotEntry(w, snapshotEntry{})
	}
}

func (s *snapshotWriter) syncReservation(w *workload) {
	w.requested = nil
	next := s.buildReservation(w.obj)
	if was := w.entry.reservation; was == nil || !sameReservation(was, &next) {
		s.setSnapshotEntry(w, snapshotEntry{reservation: new(next)})
	}
}

// syncPending has the workload wait in the snapshot, unless it does already in the same way.
func (s *snapshotWriter) syncPending(w *workload) {
	next := s.buildPendingWorkload(w)
	was := w.entry.pending
	if was != nil && samePending(was, &next) {
		return
	}
	if was == nil {
		w.reportedReason = pendingReason(w.obj)
	}
	s.setSnapshotEntry(w, snapshotEntry{pending: new(next)})
	if w.hasStaleReport() {
		s.staleReports.workloads = append(s.staleReports.workloads, w)
	}
}

// setSnapshotEntry changes where the workload is in the snapshot, tells controllers of the queues of both places, and asks
// for a cycle.
func (s *snapshotWriter) setSnapshotEntry(w *workload, next snapshotEntry) {
	switch {
	case next.pending != nil:
		s.snap.Push(*next.pending)
	case next.reservation != nil:
		s.snap.Admit(*next.reservation)
	default:
		s.snap.Remove(w.key())
	}
	s.updateUsage(w)
	s.broadcaster.notifyEntryQueues(w.entry, next)
	w.entry = next
	s.requestCycle()
}

// buildPendingWorkload returns the workload as it waits: in its queue, blocked with a reason, or until a time.
func (s *snapshotWriter) buildPendingWorkload(w *workload) admission.Workload {
	wl := w.obj
	out := admission.Workload{
		Key:         keyOf(wl.Namespace, wl.Name),
		UID:         string(wl.UID),
		LocalQueue:  string(wl.Spec.QueueName),
		QueuedAt:    s.queuedAt(wl),
		NotBefore:   later(requeueAt(wl), w.retryAt),
		Priority:    api.Priority(wl, s.opts.PriorityBoost),
		ClosedGates: api.ClosedPreemptionGates(wl),
	}
	asked := s.requests.requestedBy(w)
	out.PodSets = asked.remaining(wl, s.opts)
	lq := s.objects.localQueues[keyOf(wl.Namespace, out.LocalQueue)]
	if lq != nil {
		out.Queue = string(lq.obj.Spec.ClusterQueue)
	}
	out.Blocked = s.objects.blockOf(wl, lq, asked.problem)
	s.replace(w, &out)
	return out
}

// queuedAt is the queue-order timestamp: the eviction that counts, or the creation.
func (s *snapshotWriter) queuedAt(wl *kueue.Workload) time.Time {
	evicted := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
	if evicted == nil || evicted.Status != metav1.ConditionTrue {
		return wl.CreationTimestamp.Time
	}
	reason := kueue.Reason(evicted.Reason)
	if reason == kueue.ReasonAdmissionCheck || reason == kueue.ReasonPodsReadyTimeout && !s.opts.OrderByCreation {
		return evicted.LastTransitionTime.Time
	}
	return wl.CreationTimestamp.Time
}
