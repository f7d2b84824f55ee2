package dispatch

import "slices"

// recordLost reports whether the record cannot be all that there was: somebody has dropped it or put an older one in its place, or
// an epoch ended that nobody could record. Who owed then is not known. The evidence lasts until an epoch begins, which hides it,
// and whichever case begins one, every cluster is suspected with it (see Step).
func (t turn) recordLost() bool {
	s, l := t.s, t.o.Local
	switch {
	case s.Garbled || t.contradicted():
		return true
	case s.Reservation != "":
		return l.QuotaReserved && s.Reservation != l.Reservation
	}
	return s.Epoch == 1 && t.earlierEvictions() > 0
}

// earlierEvictions is how often the Workload was evicted before the reservation that it has, or had last. Each has ended an epoch,
// so that the first is not the present one. One that is being deleted gets no other reservation that would show that the last
// eviction ended an epoch as well: it did once its quota is released.
func (t turn) earlierEvictions() int64 {
	l := t.o.Local
	if l.QuotaReserved && !l.Evicted || l.Kept && !l.QuotaReserved {
		return l.Evictions
	}
	return l.Evictions - 1
}

// behind reports whether something is seen that was made in an epoch which the record does not know of.
func (t turn) behind() bool { return t.newest() > t.s.Epoch }

// contradicted reports whether something is seen that cannot be, if the record is true: a stamp above the present epoch,
// a job of this epoch on a cluster that is not bound, or anything of this epoch on a debtor, which is offered nothing.
func (t turn) contradicted() bool {
	return t.behind() || slices.ContainsFunc(t.o.Clusters, func(v ClusterView) bool {
		owed := t.s.owedBy(v.Name)
		cannotBe := func(c Copy, j Job) bool {
			return t.s.currentJob(j) && v.Name != t.s.Bound || owed && t.s.currentCopy(c)
		}
		live := t.answer(v)
		return cannotBe(v.Copy, v.Job) || live != nil && cannotBe(live.Copy, live.Job)
	})
}

// outdated reports whether a retreat was stored that does not reach what is seen, and another would.
func (t turn) outdated() bool { return t.contradicted() && t.nextEpoch() > t.s.Epoch }

// suspect adds a debt of every cluster but the one that is held. What is known of one that owes already stays as it is, unless
// something is seen there that the record does not know of: nothing was offered to it since. If the record is there and only its
// end is missing, all that may run is what the last epoch made, and its copies show whether it stops without the hub.
func (t turn) suspect(s State) State {
	s.Garbled = false
	known := t.s.Reservation != "" && !t.s.Garbled && !t.contradicted()
	for _, v := range t.o.Clusters {
		if v.Name == s.Bound && !s.owedBy(s.Bound) || s.owedBy(v.Name) && v.newest() < t.s.Epoch {
			continue
		}
		s = s.owing(Debt{Cluster: v.Name, Epoch: s.Epoch - 1, Stops: known && t.s.currentCopy(v.Copy) && v.Copy.Stops})
	}
	return s
}
