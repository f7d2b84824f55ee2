package admission

import (
	"time"

	"switchyard.dev/worker/admission/order"
)

// Push adds a waiting workload or replaces what is known of it. A workload that did not change keeps its place, inadmissible or
// not; one that did is looked at again, unless others of its new class are inadmissible. A workload that holds quota, even one
// that is only assumed to, gives it back first: do not push what a cycle admitted until its write is known to have failed
// or to have been undone.
func (s *Snapshot) Push(w Workload) {
	s.classKeyBuffer = appendClassKey(s.classKeyBuffer[:0], &w)
	t := s.ensureWorkloadInfo(w.Key)
	if e := t.pending; e != nil {
		if e.isUnchanged(&w, s.classKeyBuffer) {
			return
		}
		s.removePending(e)
	}
	s.releaseHolder(t)
	e := &PendingWorkload{Workload: w, info: t, queueState: s.ensureQueueState(w.Queue), localQueueState: s.ensureLocalQueueState(w.localQueueKey()), classKey: string(s.classKeyBuffer), heapIndex: -1}
	t.pending = e
	e.queueState.counters.pending++
	e.localQueueState.pending++
	if !w.NotBefore.IsZero() {
		e.queueState.counters.backingOff++
		s.backingOff.Push(e)
		return
	}
	s.enqueue(e)
}

// ensureWorkloadInfo finds what is known of a workload, or begins to know it.
func (s *Snapshot) ensureWorkloadInfo(k Key) *workloadInfo {
	t, found := s.workloads[k]
	if !found {
		t = &workloadInfo{}
		s.workloads[k] = t
	}
	return t
}

// PendingWorkload returns the workload if it waits, nil otherwise.
func (s *Snapshot) PendingWorkload(k Key) *PendingWorkload {
	if t, found := s.workloads[k]; found {
		return t.pending
	}
	return nil
}

// lookupHolder returns the workload if it holds quota, nil otherwise.
func (s *Snapshot) lookupHolder(k Key) *quotaHolder {
	if t, found := s.workloads[k]; found {
		return t.holder
	}
	return nil
}

// isUnchanged reports whether the entry already says all that the workload, whose kind is spelled, has to say.
func (e *PendingWorkload) isUnchanged(w *Workload, kind []byte) bool {
	return e.classKey == string(kind) && e.UID == w.UID && e.LocalQueue == w.LocalQueue && e.Queue == w.Queue &&
		e.Priority == w.Priority && e.QueuedAt.Equal(w.QueuedAt) && e.NotBefore.Equal(w.NotBefore)
}

func (w *Workload) rank() order.Rank {
	return order.Rank{Priority: w.Priority, QueuedAt: w.QueuedAt, UID: w.UID}
}

func (w *Workload) localQueueKey() Key { return Key{Namespace: w.Namespace, Name: w.LocalQueue} }

func (r *Reservation) localQueueKey() Key { return Key{Namespace: r.Namespace, Name: r.LocalQueue} }

// enqueue puts a workload that waits for nothing but quota into its queue's line.
func (s *Snapshot) enqueue(e *PendingWorkload) {
	e.member = e.queueState.ensurePendingQueue().Push(e, e.rank(), order.Membership{Group: s.usageGroup(e), Class: e.classKey, Origin: e.localQueueState})
	s.setGroupWeight(e)
	s.includeInNextCycle(e.queueState)
}

// removePending takes a waiting workload out of wherever it waits.
func (s *Snapshot) removePending(e *PendingWorkload) {
	e.info.pending = nil
	if e.member != nil {
		s.dropClaim(e)
		e.queueState.pendingQueue.Remove(e.member)
		s.includeInNextCycle(e.queueState)
	} else {
		s.backingOff.Remove(e.heapIndex)
		e.queueState.counters.backingOff--
	}
	e.queueState.counters.pending--
	e.localQueueState.pending--
	s.pruneQueueState(e.queueState)
	s.pruneLocalQueueState(e.localQueueState)
}

// Remove drops a workload, waiting or holding quota; unknown keys are fine.
func (s *Snapshot) Remove(k Key) {
	t, found := s.workloads[k]
	if !found {
		return
	}
	if t.pending != nil {
		s.removePending(t.pending)
	}
	s.releaseHolder(t)
	delete(s.workloads, k)
}

// Admit records that a workload holds quota: seen in the API, whether or not a cycle assumed it before. It replaces what
// is known of the workload, so that it is idempotent.
func (s *Snapshot) Admit(r Reservation) {
	r.Assumed = false
	s.setHolder(&quotaHolder{Reservation: r, info: s.ensureWorkloadInfo(r.Key), queueState: s.ensureQueueState(r.Queue), localQueueState: s.ensureLocalQueueState(r.localQueueKey())})
}

// Assume records that a workload that waits holds since now what the assignment says, until Admit confirms it or Forget undoes
// it. Package cycle calls it for every workload it admits.
func (s *Snapshot) Assume(e *PendingWorkload, a *Assignment, now time.Time) {
	old, takesOver := s.Replaced(&e.Workload)
	h := &quotaHolder{
		info: e.info, queueState: e.queueState, localQueueState: e.localQueueState, assumedFrom: &e.Workload,
		Reservation: Reservation{
			Key: e.Key, LocalQueue: e.LocalQueue, Queue: e.Queue, Usage: a.Usage, Assumed: true,
			UID: e.UID, Priority: e.Priority, QueuedAt: e.QueuedAt, ReservedAt: now,
		},
	}
	if takesOver {
		h.replaced = &old
	}
	s.setHolder(h)
	if takesOver {
		s.removeReplaced(old, a.Usage)
	}
}

// setHolder makes h the only thing known of its workload. Quota that shrinks or moves, or is easier to have by an eviction, requeues
// those that wait for it.
func (s *Snapshot) setHolder(h *quotaHolder) {
	t := h.info
	old := t.holder
	if old != nil {
		h.keepEvictionMark(old)
		s.recordConfirmed(old, h)
	}
	// It is counted before it is no longer counted as what it was, so that nothing is closed in between.
	h.updateCounters(1)
	if t.pending != nil {
		s.removePending(t.pending)
	}
	if old != nil {
		s.removeHolder(old)
		if old.Queue != h.Queue || !old.Usage.IsWithin(h.Usage) {
			s.recordFreed(old.Queue, old.Usage)
		}
		if h.isEasierToEvict(old) {
			s.recordFreed(h.Queue, h.Usage)
		}
	}
	t.holder = h
	s.candidates.add(&h.Reservation)
	if flavors := h.queueState.flavorTable; flavors != nil {
		flavors.Node.Reserve(h.Usage)
	} else {
		s.quota.Reserve(h.Queue, h.Usage)
	}
	s.updateHolderCounts(&h.Reservation, 1)
}

// isEasierToEvict reports whether some workload may evict this one now that could not before: it fell in priority, counts as
// younger, or is not on its way out any more.
func (h *quotaHolder) isEasierToEvict(old *quotaHolder) bool {
	return !h.Evicted && (h.Priority < old.Priority || h.QueuedAt.After(old.QueuedAt) || old.Evicted)
}

func (h *quotaHolder) updateCounters(by int) {
	h.queueState.counters.updateFor(&h.Reservation, by)
	h.localQueueState.updateFor(&h.Reservation, by)
}

// removeHolder removes a reservation from the usage, requeueing nothing.
func (s *Snapshot) removeHolder(h *quotaHolder) {
	h.info.holder = nil
	s.candidates.remove(&h.Reservation)
	s.quota.Release(h.Queue, h.Usage)
	h.updateCounters(-1)
	s.updateHolderCounts(&h.Reservation, -1)
	s.pruneQueueState(h.queueState)
	s.pruneLocalQueueState(h.localQueueState)
}

// Release gives back what the workload holds and drops it; inadmissible workloads of the cohort tree become eligible again.
// Unknown keys are fine.
func (s *Snapshot) Release(k Key) {
	if t, found := s.workloads[k]; found && t.holder != nil {
		s.releaseHolder(t)
		delete(s.workloads, k)
	}
}

func (s *Snapshot) releaseHolder(t *workloadInfo) {
	if h := t.holder; h != nil {
		s.removeHolder(h)
		s.recordFreed(h.Queue, h.Usage)
	}
}

// Forget undoes a reservation that a cycle assumed and whose write failed: the quota is given back and the workload waits
// again where it was. Does nothing once Admit, Push, Release or Remove had the last word about the workload.
func (s *Snapshot) Forget(k Key) {
	if h := s.lookupHolder(k); h != nil && h.assumedFrom != nil {
		s.Push(*h.assumedFrom)
		s.restoreReplaced(h.replaced)
	}
}

// Pending returns a waiting workload.
func (s *Snapshot) Pending(k Key) (Workload, bool) {
	if e := s.PendingWorkload(k); e != nil {
		return e.Workload, true
	}
	return Workload{}, false
}

// Reservation returns the reservation of a workload that holds quota.
func (s *Snapshot) Reservation(k Key) (Reservation, bool) {
	if h := s.lookupHolder(k); h != nil {
		return h.Reservation, true
	}
	return Reservation{}, false
}

// endBackoffs moves the workloads whose backoff is over into their lines.
func (s *Snapshot) endBackoffs(now time.Time) {
	for s.backingOff.Len() > 0 && !s.backingOff.First().NotBefore.After(now) {
		e := s.backingOff.First()
		s.backingOff.Remove(e.heapIndex)
		e.queueState.counters.backingOff--
		s.enqueue(e)
	}
}
