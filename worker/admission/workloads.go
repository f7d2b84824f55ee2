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
	t := s.tenant(w.Key)
	if e := t.waits; e != nil {
		if e.sameAs(&w, s.scratch) {
			return
		}
		s.leave(e)
	}
	s.release(t)
	e := &Waiter{Workload: w, tenant: t, desk: s.desk(w.Queue), local: s.local(w.localKey()), kind: string(s.scratch), at: -1}
	t.waits = e
	e.desk.tally.pending++
	e.local.pending++
	if !w.NotBefore.IsZero() {
		e.desk.tally.delayed++
		s.delayed.Push(e)
		return
	}
	s.join(e)
}

// tenant finds what is known of a workload, or begins to know it.
func (s *Snapshot) tenant(k Key) *tenant {
	t, found := s.tenants[k]
	if !found {
		t = &tenant{}
		s.tenants[k] = t
	}
	return t
}

// Waiter returns the workload if it waits, nil otherwise.
func (s *Snapshot) Waiter(k Key) *Waiter {
	if t, found := s.tenants[k]; found {
		return t.waits
	}
	return nil
}

// holderOf returns the workload if it holds quota, nil otherwise.
func (s *Snapshot) holderOf(k Key) *holder {
	if t, found := s.tenants[k]; found {
		return t.holds
	}
	return nil
}

// sameAs reports whether the entry already says all that the workload, whose kind is spelled, has to say.
func (e *Waiter) sameAs(w *Workload, kind []byte) bool {
	return e.kind == string(kind) && e.UID == w.UID && e.LocalQueue == w.LocalQueue && e.Queue == w.Queue &&
		e.Priority == w.Priority && e.QueuedAt.Equal(w.QueuedAt) && e.NotBefore.Equal(w.NotBefore)
}

func (w *Workload) rank() order.Rank {
	return order.Rank{Priority: w.Priority, QueuedAt: w.QueuedAt, UID: w.UID}
}

func (w *Workload) localKey() Key { return Key{Namespace: w.Namespace, Name: w.LocalQueue} }

func (r *Reservation) localKey() Key { return Key{Namespace: r.Namespace, Name: r.LocalQueue} }

// join puts a workload that waits for nothing but quota into its queue's line.
func (s *Snapshot) join(e *Waiter) {
	e.place = e.desk.openLine().Push(e, e.rank(), order.Membership{Group: s.takeTurns(e), Class: e.kind, Origin: e.local})
	s.weigh(e)
	s.keepBusy(e.desk)
}

// leave takes a waiting workload out of wherever it waits.
func (s *Snapshot) leave(e *Waiter) {
	e.tenant.waits = nil
	if e.place != nil {
		s.unclaim(e)
		e.desk.line.Remove(e.place)
		s.keepBusy(e.desk)
	} else {
		s.delayed.Remove(e.at)
		e.desk.tally.delayed--
	}
	e.desk.tally.pending--
	e.local.pending--
	s.tidy(e.desk)
	s.tidyLocal(e.local)
}

// Remove drops a workload, waiting or holding quota; unknown keys are fine.
func (s *Snapshot) Remove(k Key) {
	t, found := s.tenants[k]
	if !found {
		return
	}
	if t.waits != nil {
		s.leave(t.waits)
	}
	s.release(t)
	delete(s.tenants, k)
}

// Admit records that a workload holds quota: seen in the API, whether or not a cycle assumed it before. It replaces what
// is known of the workload, so that it is idempotent.
func (s *Snapshot) Admit(r Reservation) {
	r.Assumed = false
	s.hold(&holder{Reservation: r, tenant: s.tenant(r.Key), desk: s.desk(r.Queue), local: s.local(r.localKey())})
}

// Assume records that a workload that waits holds since now what the assignment says, until Admit confirms it or Forget undoes
// it. Package cycle calls it for every workload it admits.
func (s *Snapshot) Assume(e *Waiter, a *Assignment, now time.Time) {
	s.hold(&holder{
		tenant: e.tenant, desk: e.desk, local: e.local, assumed: &e.Workload,
		Reservation: Reservation{
			Key: e.Key, LocalQueue: e.LocalQueue, Queue: e.Queue, Usage: a.Usage, Assumed: true,
			UID: e.UID, Priority: e.Priority, QueuedAt: e.QueuedAt, ReservedAt: now,
		},
	})
}

// hold makes h the only thing known of its workload. Quota that shrinks or moves, or is easier to have by an eviction, wakes
// those that wait for it.
func (s *Snapshot) hold(h *holder) {
	t := h.tenant
	old := t.holds
	if old != nil {
		h.inherit(old)
		s.noteConfirmed(old, h)
	}
	// It is counted before it is no longer counted as what it was, so that nothing is closed in between.
	h.count(1)
	if t.waits != nil {
		s.leave(t.waits)
	}
	if old != nil {
		s.drop(old)
		if old.Queue != h.Queue || !old.Usage.Within(h.Usage) {
			s.stir(old.Queue, old.Usage)
		}
		if h.easierToEvict(old) {
			s.stir(h.Queue, h.Usage)
		}
	}
	t.holds = h
	s.holders.add(&h.Reservation)
	if menu := h.desk.menu; menu != nil {
		menu.Node.Reserve(h.Usage)
	} else {
		s.quota.Reserve(h.Queue, h.Usage)
	}
	s.countHolder(&h.Reservation, 1)
}

// easierToEvict reports whether somebody may evict the workload now who might not as long as it was old: it fell in
// priority, counts as younger, or is not on its way out any more.
func (h *holder) easierToEvict(old *holder) bool {
	return !h.Evicted && (h.Priority < old.Priority || h.QueuedAt.After(old.QueuedAt) || old.Evicted)
}

func (h *holder) count(by int) {
	h.desk.tally.count(&h.Reservation, by)
	h.local.count(&h.Reservation, by)
}

// drop takes a reservation off the books, waking nobody.
func (s *Snapshot) drop(h *holder) {
	h.tenant.holds = nil
	s.holders.remove(&h.Reservation)
	s.quota.Release(h.Queue, h.Usage)
	h.count(-1)
	s.countHolder(&h.Reservation, -1)
	s.tidy(h.desk)
	s.tidyLocal(h.local)
}

// Release gives back what the workload holds and drops it; parked workloads of the cohort tree become eligible again.
// Unknown keys are fine.
func (s *Snapshot) Release(k Key) {
	if t, found := s.tenants[k]; found && t.holds != nil {
		s.release(t)
		delete(s.tenants, k)
	}
}

func (s *Snapshot) release(t *tenant) {
	if h := t.holds; h != nil {
		s.drop(h)
		s.stir(h.Queue, h.Usage)
	}
}

// Forget undoes a reservation that a cycle assumed and whose write failed: the quota is given back and the workload waits
// again where it was. Does nothing once Admit, Push, Release or Remove had the last word about the workload.
func (s *Snapshot) Forget(k Key) {
	if h := s.holderOf(k); h != nil && h.assumed != nil {
		s.Push(*h.assumed)
	}
}

// Pending returns a waiting workload.
func (s *Snapshot) Pending(k Key) (Workload, bool) {
	if e := s.Waiter(k); e != nil {
		return e.Workload, true
	}
	return Workload{}, false
}

// Holding returns the reservation of a workload that holds quota.
func (s *Snapshot) Holding(k Key) (Reservation, bool) {
	if h := s.holderOf(k); h != nil {
		return h.Reservation, true
	}
	return Reservation{}, false
}

// startDue moves the workloads whose backoff is over into their lines.
func (s *Snapshot) startDue(now time.Time) {
	for s.delayed.Len() > 0 && !s.delayed.First().NotBefore.After(now) {
		e := s.delayed.First()
		s.delayed.Remove(e.at)
		e.desk.tally.delayed--
		s.join(e)
	}
}
