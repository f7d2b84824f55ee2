package dispatch

// current reports whether an epoch stamp is that of the present epoch. An object without a stamp was made by another
// program with our origin, which knows no epochs: it counts as one of the first epoch, so that a hub can take over what
// another one began.
func (s State) current(stamp int64) bool {
	return stamp == s.Epoch || stamp == 0 && s.Epoch == 1
}

// tampered reports whether a job of the present epoch has lost our label, or all our marks, so that only its copy knows it: it runs
// on, and its copy tells how it ends.
func (s State) tampered(c Copy, j Job) bool {
	return j.Holder == Relabelled && s.current(j.Epoch) || j.Holder == Foreign && j.Named && c.adopts(j)
}

// currentCopy and currentJob report whether a fact is about an object of ours and of the present epoch.
func (s State) currentCopy(c Copy) bool { return c.Holder == Ours && s.current(c.Epoch) }
func (s State) currentJob(j Job) bool   { return j.Holder == Ours && s.current(j.Epoch) }

// staleJob reports whether a job is ours to remove before anything new may happen on its cluster.
func (s State) staleJob(j Job) bool {
	return s.staleObject(j.Holder, j.Epoch)
}

// staleCopy is staleJob for a copy.
func (s State) staleCopy(c Copy) bool { return s.staleObject(c.Holder, c.Epoch) }

func (s State) staleObject(h Holder, stamp int64) bool {
	return h == Predecessor || (h == Ours || h == Relabelled) && !s.current(stamp)
}

// connected reports whether the cluster can be talked to.
func (v ClusterView) connected() bool { return v.Link.State == Connected }

// removable reports whether an object of ours or of a predecessor is seen.
func (v ClusterView) removable() bool {
	return touchable(v.Copy.Holder) || touchable(v.Job.Holder)
}

func touchable(h Holder) bool { return h == Ours || h == Predecessor || h == Relabelled }

// collision reports whether a foreign object bears our name.
func (v ClusterView) collision() bool { return v.Copy.Holder == Foreign || v.Job.Holder == Foreign }

// answer returns the live read made in the present epoch over the present connection, nil if there is none.
func (t turn) answer(v ClusterView) *Live {
	if v.Live == nil || v.Live.Epoch != t.s.Epoch || !v.connected() {
		return nil
	}
	return v.Live
}

// stray reports whether a job that is not ours by its label, but names our Workload or bears its UID, may run: somebody may have
// changed the rest. It is not ours to remove.
func (j Job) stray() bool { return j.Holder == Foreign && (j.Named || j.Stamped) && j.Finished == nil }

// unseen reports whether a live read has found a job that may run and that no informer shows.
func (j Job) unseen() bool { return j.Holder == Relabelled || j.stray() }

// stale reports whether something of an earlier epoch or owner is seen on the cluster; a live answer wins over the cache.
func (t turn) stale(v ClusterView) bool {
	if live := t.answer(v); live != nil {
		return t.s.staleJob(live.Job) || t.s.staleCopy(live.Copy)
	}
	return t.s.staleJob(v.Job) || t.s.staleCopy(v.Copy)
}

// newest returns the highest stamp seen on any object of ours.
func (t turn) newest() int64 {
	var top int64
	for _, v := range t.o.Clusters {
		top = max(top, v.newest())
	}
	return top
}

// newest returns the highest stamp seen on an object of ours on the cluster.
func (v ClusterView) newest() int64 {
	top := max(v.Copy.stamp(), v.Job.stamp())
	if v.Live != nil {
		top = max(top, v.Live.Copy.stamp(), v.Live.Job.stamp())
	}
	return top
}

// stamp returns the epoch of an object of ours, 0 for any other.
func (c Copy) stamp() int64 {
	if c.Holder != Ours && c.Holder != Relabelled {
		return 0
	}
	return c.Epoch
}

// stamp is the same for a job.
func (j Job) stamp() int64 {
	if j.Holder != Ours && j.Holder != Relabelled {
		return 0
	}
	return j.Epoch
}

// nextEpoch is the epoch after this one: higher than any that may have been used, even if the record was lost. There is
// an epoch for every eviction, so one that follows n evictions is at least n+1; a retreat that the core has yet to
// answer with an eviction counts that one too.
func (t turn) nextEpoch() int64 {
	l := t.o.Local
	evictions := l.Evictions
	if l.QuotaReserved && !l.Evicted && (t.s.Bound != "" || l.Check == Ready) {
		evictions++
	}
	return following(max(t.s.Epoch, t.newest(), evictions))
}

// anythingReachable reports whether an object of ours is seen on a cluster that can be talked to.
func (t turn) anythingReachable() bool {
	for _, v := range t.o.Clusters {
		if v.connected() && v.removable() {
			return true
		}
	}
	return false
}
