package dispatch

import "slices"

// recordLost reports whether the record cannot be all that there was: somebody has dropped it or put an older one in its place, or
// an epoch ended that nobody could record. Who owed then is not known. The evidence lasts until an epoch begins, which hides it,
// and whichever case begins one, every cluster is suspected with it (see Step).
func (t decision) recordLost() bool {
	s, l := t.state, t.observed.Local
	switch {
	case s.Unreadable || t.recordContradicted():
		return true
	case s.Reservation != "":
		return l.Quota.Reserved && s.Reservation != l.Quota.Reservation
	}
	return s.Epoch == 1 && t.earlierEvictions() > 0
}

// earlierEvictions is how often the Workload was evicted before the reservation that it has, or had last. Each has ended an epoch,
// so that the first is not the present one. One that is being deleted gets no other reservation that would show that the last
// eviction ended an epoch as well: it did once its quota is released.
func (t decision) earlierEvictions() int64 {
	l := t.observed.Local
	if l.Quota.Reserved && !l.Quota.Evicted || l.KeptForJob && !l.Quota.Reserved {
		return l.Quota.Evictions
	}
	return l.Quota.Evictions - 1
}

// recordIsBehind reports whether something is seen that was made in an epoch which the record does not know of.
func (t decision) recordIsBehind() bool { return t.newestEpoch() > t.state.Epoch }

// recordContradicted reports whether something is seen that cannot be, if the record is true: a stamp above the present epoch,
// a job of this epoch on a cluster that is not bound, or anything of this epoch on a debtor, which is offered nothing.
func (t decision) recordContradicted() bool {
	return t.recordIsBehind() || slices.ContainsFunc(t.observed.Clusters, func(v ClusterView) bool {
		owed := t.state.hasDebt(v.Name)
		cannotBe := func(c Copy, j Job) bool {
			return t.state.isCurrentJob(j) && v.Name != t.state.Bound || owed && t.state.isCurrentCopy(c)
		}
		live := t.liveAnswer(v)
		return cannotBe(v.Copy, v.Job) || live != nil && cannotBe(live.Copy, live.Job)
	})
}

// retreatOutdated reports whether a retreat was stored that does not reach what is seen, and another would.
func (t decision) retreatOutdated() bool {
	return t.recordContradicted() && t.nextEpoch() > t.state.Epoch
}

// suspectAll adds a debt of every cluster but the one that is held. What is known of one that owes already stays as it is, unless
// something is seen there that the record does not know of: nothing was offered to it since. If the record is there and only its
// end is missing, all that may run is what the last epoch made, and its copies show whether it stops without the hub.
func (t decision) suspectAll(s State) State {
	s.Unreadable = false
	known := t.state.Reservation != "" && !t.state.Unreadable && !t.recordContradicted()
	for _, v := range t.observed.Clusters {
		if v.Name == s.Bound && !s.hasDebt(s.Bound) || s.hasDebt(v.Name) && v.newestEpoch() < t.state.Epoch {
			continue
		}
		s = s.withDebt(Debt{Cluster: v.Name, Epoch: s.Epoch - 1, StopsOnHubLost: known && t.state.isCurrentCopy(v.Copy) && v.Copy.StopsOnHubLost})
	}
	return s
}
