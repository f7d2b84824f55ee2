package dispatch

// isCurrent reports whether an epoch stamp is that of the present epoch. An object without a stamp was made by another
// program with our origin, which knows no epochs: it counts as one of the first epoch, so that a hub can take over what
// another one began.
func (s State) isCurrent(stamp int64) bool {
	return stamp == s.Epoch || stamp == 0 && s.Epoch == 1
}

// lostLabels reports whether a job of the present epoch has lost our label, or all our marks, so that only its copy knows it: it runs
// on, and its copy tells how it ends.
func (s State) lostLabels(c Copy, j Job) bool {
	return j.Holder == Relabelled && s.isCurrent(j.Epoch) || j.Holder == Foreign && j.NamesWorkload && c.isAdoptedBy(j)
}

// isCurrentCopy and currentJob report whether a fact is about an object of ours and of the present epoch.
func (s State) isCurrentCopy(c Copy) bool { return c.Holder == Ours && s.isCurrent(c.Epoch) }
func (s State) isCurrentJob(j Job) bool   { return j.Holder == Ours && s.isCurrent(j.Epoch) }

// isStaleJob reports whether a job is ours to remove before anything new may happen on its cluster.
func (s State) isStaleJob(j Job) bool {
	return s.isStaleObject(j.Holder, j.Epoch)
}

// isStaleCopy is staleJob for a copy.
func (s State) isStaleCopy(c Copy) bool { return s.isStaleObject(c.Holder, c.Epoch) }

func (s State) isStaleObject(h Holder, stamp int64) bool {
	return h == Predecessor || (h == Ours || h == Relabelled) && !s.isCurrent(stamp)
}

// connected reports whether the cluster can be talked to.
func (v ClusterView) connected() bool { return v.Link.State == Connected }

// removable reports whether an object of ours or of a predecessor is seen.
func (v ClusterView) removable() bool {
	return isRemovable(v.Copy.Holder) || isRemovable(v.Job.Holder)
}

func isRemovable(h Holder) bool { return h == Ours || h == Predecessor || h == Relabelled }

// hasCollision reports whether a foreign object bears our name.
func (v ClusterView) hasCollision() bool { return v.Copy.Holder == Foreign || v.Job.Holder == Foreign }

// liveAnswer returns the live read made in the present epoch over the present connection, nil if there is none.
func (t decision) liveAnswer(v ClusterView) *Live {
	if v.Live == nil || v.Live.Epoch != t.state.Epoch || !v.connected() {
		return nil
	}
	return v.Live
}

// isStray reports whether a job that is not ours by its label, but names our Workload or bears its UID, may run: somebody may have
// changed the rest. It is not ours to remove.
func (j Job) isStray() bool {
	return j.Holder == Foreign && (j.NamesWorkload || j.HasWorkloadUID) && j.Finished == nil
}

// isHidden reports whether a live read has found a job that may run and that no informer shows.
func (j Job) isHidden() bool { return j.Holder == Relabelled || j.isStray() }

// hasStale reports whether something of an earlier epoch or owner is seen on the cluster; a live answer wins over the cache.
func (t decision) hasStale(v ClusterView) bool {
	if live := t.liveAnswer(v); live != nil {
		return t.state.isStaleJob(live.Job) || t.state.isStaleCopy(live.Copy)
	}
	return t.state.isStaleJob(v.Job) || t.state.isStaleCopy(v.Copy)
}

// newestEpoch returns the highest stamp seen on any object of ours.
func (t decision) newestEpoch() int64 {
	var top int64
	for _, v := range t.observed.Clusters {
		top = max(top, v.newestEpoch())
	}
	return top
}

// newestEpoch returns the highest stamp seen on an object of ours on the cluster.
func (v ClusterView) newestEpoch() int64 {
	top := max(v.Copy.epochStamp(), v.Job.epochStamp())
	if v.Live != nil {
		top = max(top, v.Live.Copy.epochStamp(), v.Live.Job.epochStamp())
	}
	return top
}

// epochStamp returns the epoch of an object of ours, 0 for any other.
func (c Copy) epochStamp() int64 {
	if c.Holder != Ours && c.Holder != Relabelled {
		return 0
	}
	return c.Epoch
}

// epochStamp is the same for a job.
func (j Job) epochStamp() int64 {
	if j.Holder != Ours && j.Holder != Relabelled {
		return 0
	}
	return j.Epoch
}

// nextEpoch is the epoch after this one: higher than any that may have been used, even if the record was lost. There is
// an epoch for every eviction, so one that follows n evictions is at least n+1; a retreat that the core has yet to
// answer with an eviction counts that one too.
func (t decision) nextEpoch() int64 {
	l := t.observed.Local
	evictions := l.Quota.Evictions
	if l.Quota.Reserved && !l.Quota.Evicted && (t.state.Bound != "" || l.Check.State == Ready) {
		evictions++
	}
	return epochAfter(max(t.state.Epoch, t.newestEpoch(), evictions))
}

// anythingReachable reports whether an object of ours is seen on a cluster that can be talked to.
func (t decision) anythingReachable() bool {
	for _, v := range t.observed.Clusters {
		if v.connected() && v.removable() {
			return true
		}
	}
	return false
}
