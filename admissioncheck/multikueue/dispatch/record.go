package dispatch

import "slices"

// recordCheck compares the State that is stored with what is seen: whether the record is all that there was, and which epoch
// comes next.
type recordCheck struct {
	state    *State
	observed *Observation
}

// isLost reports whether the record cannot be all that there was: a client has dropped it or put an older one in its place, or
// an epoch ended unrecorded. The debts of then are not known. The evidence lasts until an epoch begins, which hides it,
// and whichever case begins one, every cluster is suspected with it (see Step).
func (r recordCheck) isLost() bool {
	s, l := *r.state, r.observed.Local
	switch {
	case s.Unreadable || r.isContradicted():
		return true
	case s.Reservation != "":
		return l.Quota.Reserved && s.Reservation != l.Quota.Reservation
	}
	return s.Epoch == 1 && (r.earlierEvictions() > 0 || l.Slice.EarlierEvictions > 0)
}

// earlierEvictions is how often the Workload was evicted before the reservation that it has, or had last. Each has ended an
// epoch, so that the first is not the present one. One that is being deleted gets no other reservation that would show that the
// last eviction ended an epoch as well: it did once its quota is released.
func (r recordCheck) earlierEvictions() int64 {
	l := r.observed.Local
	if l.Quota.Reserved && !l.Quota.Evicted || l.KeptForJob && !l.Quota.Reserved {
		return l.Quota.Evictions
	}
	return l.Quota.Evictions - 1
}

// isBehind reports whether something is seen that was made in an epoch which the record does not know of.
func (r recordCheck) isBehind() bool { return r.observed.newestEpoch() > r.state.Epoch }

// isContradicted reports whether something is seen that cannot be, if the record is true: a stamp above the present epoch,
// a job of this epoch on a cluster that is not bound, or anything of this epoch on a debtor, which is offered nothing.
func (r recordCheck) isContradicted() bool {
	return r.isBehind() || slices.ContainsFunc(r.observed.Clusters, func(v ClusterView) bool {
		owed := r.state.hasDebt(v.Name)
		cannotBe := func(c Copy, j Job) bool {
			return r.state.isCurrentJob(j) && v.Name != r.state.Bound || owed && r.state.isCurrentCopy(c)
		}
		live := r.state.liveAnswer(v)
		return cannotBe(v.Copy, v.Job) || live != nil && cannotBe(live.Copy, live.Job)
	})
}

// isRetreatOutdated reports whether a retreat was stored that does not reach what is seen, and another would.
func (r recordCheck) isRetreatOutdated() bool {
	return r.isContradicted() && r.nextEpoch() > r.state.Epoch
}

// suspectAll adds a debt of every cluster but the one that is held. What is known of one that owes already stays as it is, unless
// something is seen there that the record does not know of: nothing was offered to it since. If the record is there and only its
// end is missing, all that may run is what the last epoch made, and its copies show whether it stops without the hub.
func (r recordCheck) suspectAll(s State) State {
	s.Unreadable = false
	known := r.state.Reservation != "" && !r.state.Unreadable && !r.isContradicted()
	for _, v := range r.observed.Clusters {
		if v.Name == s.Bound && !s.hasDebt(s.Bound) || s.hasDebt(v.Name) && v.newestEpoch() < r.state.Epoch {
			continue
		}
		s = s.withDebt(Debt{Cluster: v.Name, Epoch: s.Epoch - 1, StopsOnHubLost: known && r.state.isCurrentCopy(v.Copy) && v.Copy.StopsOnHubLost})
	}
	return s
}

// nextEpoch is the epoch after this one: higher than any that may have been used, even if the record was lost. There is
// an epoch for every eviction, so one that follows n evictions is at least n+1; a retreat that the core has yet to
// answer with an eviction counts that one too.
func (r recordCheck) nextEpoch() int64 {
	l := r.observed.Local
	evictions := l.Quota.Evictions + l.Slice.EarlierEvictions
	if l.Quota.Reserved && !l.Quota.Evicted && (r.state.Bound != "" || l.Check.State == Ready) {
		evictions++
	}
	return epochAfter(max(r.state.Epoch, r.observed.newestEpoch(), evictions))
}

// MaxEpoch is the last epoch that there is, and the largest stamp that can be read.
const MaxEpoch int64 = 1 << 53

// maxPlausibleEpoch is above any epoch that is ever reached. A stamp above it does not raise a Workload's epoch: a forged stamp
// must not leave the Workload without epochs to come.
const maxPlausibleEpoch = MaxEpoch / 2

// UnreadableEpoch is the epoch of an object whose stamp is none, is negative, or is above maxPlausibleEpoch. No Workload is ever
// in that epoch: such an object is always one to be removed.
const UnreadableEpoch int64 = -1

// ReadStamp returns the epoch that a stamp says to a Workload in the given epoch.
func ReadStamp(stamp, epoch int64) int64 {
	if stamp < 0 || stamp > max(epoch, maxPlausibleEpoch) {
		return UnreadableEpoch
	}
	return stamp
}

// IsBelow reports whether an object with a stamp is to go with what was made below an epoch, see Action.Epoch.
func IsBelow(stamp, below int64) bool { return ReadStamp(stamp, below) < below }

// epochAfter is the epoch after another. The last is followed by itself.
func epochAfter(epoch int64) int64 { return min(epoch, MaxEpoch-1) + 1 }

// normalizeStamps returns the Observation with the stamps as they are read in an epoch. Nearly always that is what they are.
func (o Observation) normalizeStamps(epoch int64) Observation {
	odd := func(v ClusterView) bool { return v.normalizeStamps(epoch).changed != 0 }
	if !slices.ContainsFunc(o.Clusters, odd) {
		return o
	}
	o.Clusters = slices.Clone(o.Clusters)
	for i, v := range o.Clusters {
		o.Clusters[i] = v.normalizeStamps(epoch).ClusterView
	}
	return o
}

// stampReader is a ClusterView with its stamps read, and how many of them could not be.
type stampReader struct {
	ClusterView
	changed int
}

// normalizeStamps returns the view with its stamps as they are read in an epoch. The view itself, and its Live, stay as they are.
func (v ClusterView) normalizeStamps(epoch int64) stampReader {
	r := stampReader{ClusterView: v}
	r.normalize(&r.Copy.Epoch, epoch)
	r.normalize(&r.Job.Epoch, epoch)
	if v.Live != nil {
		live := *v.Live
		r.Live = &live
		r.normalize(&live.Copy.Epoch, epoch)
		r.normalize(&live.Job.Epoch, epoch)
	}
	return r
}

// normalize replaces a stamp by the epoch that it says, and counts that if the two differ.
func (r *stampReader) normalize(stamp *int64, epoch int64) {
	if is := ReadStamp(*stamp, epoch); is != *stamp {
		*stamp = is
		r.changed++
	}
}
