package admission

import (
	"time"

	"switchyard.dev/worker/admission/order"
)

// Push adds a waiting workload or replaces what is known of it. A workload that did not change keeps its place, parked or
// not; one that did is looked at again, unless others of its new kind are parked. A workload that holds quota, even one
// that is only assumed to, gives it back first: do not push what a cycle admitted until its write is known to have failed
// or to have been undone.
func (s *Snapshot) Push(w Workload) {
	s.scratch = appendKind(s.scratch[:0], &w)
	if e, found := s.waiting[w.Key]; found {
		if e.sameAs(&w, s.scratch) {
			return
		}
		s.leave(e)
	}
	s.Release(w.Key)
	e := &entry{Workload: w, kind: string(s.scratch), at: -1}
	s.waiting[w.Key] = e
	s.byQueue.at(w.Queue).pending++
	s.byLocal.at(w.localKey()).pending++
	if !w.NotBefore.IsZero() {
		s.byQueue.at(w.Queue).delayed++
		s.delayed.Push(e)
		return
	}
	s.join(e)
}

// sameAs reports whether the entry already says all that the workload, whose kind is spelled, has to say.
func (e *entry) sameAs(w *Workload, kind []byte) bool {
	return e.kind == string(kind) && e.UID == w.UID && e.LocalQueue == w.LocalQueue && e.Queue == w.Queue &&
		e.Priority == w.Priority && e.QueuedAt.Equal(w.QueuedAt) && e.NotBefore.Equal(w.NotBefore)
}

func (w *Workload) rank() order.Rank {
	return order.Rank{Priority: w.Priority, QueuedAt: w.QueuedAt, UID: w.UID}
}

func (w *Workload) localKey() Key { return Key{Namespace: w.Namespace, Name: w.LocalQueue} }

func (r *Reservation) localKey() Key { return Key{Namespace: r.Namespace, Name: r.LocalQueue} }

// join puts a workload that waits for nothing but quota into its queue's line.
func (s *Snapshot) join(e *entry) {
	line, found := s.lines[e.Queue]
	if !found {
		line = order.NewLine[*Workload, Reason, Want](e.Queue)
		s.lines[e.Queue] = line
	}
	e.place = line.Join(&e.Workload, e.rank(), order.Spot{Group: s.takeTurns(e, line), Kind: e.kind})
	s.weigh(e, line)
	s.busy[e.Queue] = line
}

// leave takes a waiting workload out of wherever it waits.
func (s *Snapshot) leave(e *entry) {
	delete(s.waiting, e.Key)
	if e.place != nil {
		s.unclaim(e)
		line := s.lines[e.Queue]
		line.Leave(e.place)
		s.busy[e.Queue] = line
	} else {
		s.delayed.Remove(e.at)
		s.byQueue.at(e.Queue).delayed--
	}
	s.byQueue.at(e.Queue).pending--
	s.byLocal.at(e.localKey()).pending--
	s.byQueue.tidy(e.Queue)
	s.byLocal.tidy(e.localKey())
	if _, used := s.byLocal[e.localKey()]; !used {
		delete(s.lineOf, e.localKey())
	}
	s.dropIfEmpty(e.Queue)
}

// dropIfEmpty forgets the line of a queue that does not exist once nobody waits in it.
func (s *Snapshot) dropIfEmpty(queue string) {
	_, exists := s.queues[queue]
	if line, found := s.lines[queue]; found && !exists && line.Len() == 0 {
		delete(s.lines, queue)
		delete(s.busy, queue)
		delete(s.passed, queue)
	}
}

// Remove drops a workload, waiting or holding quota; unknown keys are fine.
func (s *Snapshot) Remove(k Key) {
	if e, found := s.waiting[k]; found {
		s.leave(e)
	}
	s.Release(k)
}

// Admit records that a workload holds quota: seen in the API, whether or not a cycle assumed it before. It replaces what
// is known of the workload, so that it is idempotent.
func (s *Snapshot) Admit(r Reservation) {
	r.Assumed = false
	s.hold(&holder{Reservation: r})
}

// Assume records that a waiting workload of the snapshot holds since now what the assignment says, until Admit confirms it
// or Forget undoes it. Package cycle calls it for every workload it admits.
func (s *Snapshot) Assume(w *Workload, a *Assignment, now time.Time) {
	s.hold(&holder{assumed: w, Reservation: Reservation{
		Key: w.Key, LocalQueue: w.LocalQueue, Queue: w.Queue, Usage: a.Usage, Assumed: true,
		UID: w.UID, Priority: w.Priority, QueuedAt: w.QueuedAt, ReservedAt: now,
	}})
}

// hold makes h the only thing known of its workload. Quota that shrinks or moves wakes those that wait for it.
func (s *Snapshot) hold(h *holder) {
	if e, found := s.waiting[h.Key]; found {
		s.leave(e)
	}
	if old, found := s.holding[h.Key]; found {
		h.inherit(old)
		s.noteConfirmed(old, h)
		s.drop(old)
		if old.Queue != h.Queue || !old.Usage.Within(h.Usage) {
			s.stir(old.Queue, old.Usage)
		}
	}
	s.holding[h.Key] = h
	s.holders.add(&h.Reservation)
	s.quota.Reserve(h.Queue, h.Usage)
	s.byQueue.at(h.Queue).count(&h.Reservation, 1)
	s.byLocal.at(h.localKey()).count(&h.Reservation, 1)
	s.countHolder(&h.Reservation, 1)
}

// drop takes a reservation off the books, waking nobody.
func (s *Snapshot) drop(h *holder) {
	delete(s.holding, h.Key)
	s.holders.remove(&h.Reservation)
	s.quota.Release(h.Queue, h.Usage)
	s.byQueue.at(h.Queue).count(&h.Reservation, -1)
	s.byLocal.at(h.localKey()).count(&h.Reservation, -1)
	s.countHolder(&h.Reservation, -1)
	s.byQueue.tidy(h.Queue)
	s.byLocal.tidy(h.localKey())
}

// Release gives back what the workload holds and drops it; parked workloads of the cohort tree become eligible again.
// Unknown keys are fine.
func (s *Snapshot) Release(k Key) {
	if h, found := s.holding[k]; found {
		s.drop(h)
		s.stir(h.Queue, h.Usage)
	}
}

// Forget undoes a reservation that a cycle assumed and whose write failed: the quota is given back and the workload waits
// again where it was. Does nothing once Admit, Push, Release or Remove had the last word about the workload.
func (s *Snapshot) Forget(k Key) {
	if h, found := s.holding[k]; found && h.assumed != nil {
		s.Push(*h.assumed)
	}
}

// Pending returns a waiting workload.
func (s *Snapshot) Pending(k Key) (Workload, bool) {
	if e, found := s.waiting[k]; found {
		return e.Workload, true
	}
	return Workload{}, false
}

// Holding returns the reservation of a workload that holds quota.
func (s *Snapshot) Holding(k Key) (Reservation, bool) {
	if h, found := s.holding[k]; found {
		return h.Reservation, true
	}
	return Reservation{}, false
}

// startDue moves the workloads whose backoff is over into their lines.
func (s *Snapshot) startDue(now time.Time) {
	for s.delayed.Len() > 0 && !s.delayed.First().NotBefore.After(now) {
		e := s.delayed.First()
		s.delayed.Remove(e.at)
		s.byQueue.at(e.Queue).delayed--
		s.join(e)
	}
}
