package dispatch

import (
	"slices"
	"time"
)

// showsWorkload reports whether anything of the Workload is seen, or remembered, on the cluster.
func (v ClusterView) showsWorkload() bool {
	return v.Copy.Holder != Absent || v.Job.Holder != Absent || v.Job.Finished != nil || v.Ended.Unfinished || v.Live != nil
}

// connected reports whether the cluster can be talked to.
func (v ClusterView) connected() bool { return v.Link.State == Connected }

// removable reports whether an object of ours or of a predecessor is seen.
func (v ClusterView) removable() bool {
	return isRemovable(v.Copy.Holder) || isRemovable(v.Job.Holder)
}

// hasCollision reports whether a foreign object bears our name.
func (v ClusterView) hasCollision() bool { return v.Copy.Holder == Foreign || v.Job.Holder == Foreign }

// newestEpoch returns the highest stamp seen on an object of ours on the cluster.
func (v ClusterView) newestEpoch() int64 {
	top := max(v.Copy.epochStamp(), v.Job.epochStamp())
	if v.Live != nil {
		top = max(top, v.Live.Copy.epochStamp(), v.Live.Job.epochStamp())
	}
	return top
}

// collisionSince is when an object that is not ours took the name; zero if that is not known.
func (v ClusterView) collisionSince() time.Time {
	if v.Copy.Holder == Foreign {
		return v.Copy.Since
	}
	return v.Job.Since
}

// isStray reports whether a job that is not ours by its label, but names our Workload or bears its UID, may run: a client may
// have changed the rest. It is not the hub's to remove.
func (j Job) isStray() bool {
	return j.Holder == Foreign && (j.NamesWorkload || j.HasWorkloadUID) && j.Finished == nil
}

// isHidden reports whether a live read has found a job that may run and that no informer shows.
func (j Job) isHidden() bool { return j.Holder == Relabelled || j.isStray() }

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

// waitingFor says what a copy without quota waits for, by the worker's own reason (contract: kueue-api.md 1.13, QuotaReserved).
// Workers that give no detailed reasons say Pending of nearly everything.
func (c Copy) waitingFor() (because Reason, words string) {
	switch c.WaitingReason {
	case "", "WaitingForQuota":
		return WaitingForQuota, "waits for quota"
	case "WaitingForPreemptedWorkloads":
		return WaitingForQuota, "waits for preempted workloads to stop"
	case "WaitingForPodsReady":
		return WaitingThere, "waits for the pods of other workloads to be ready"
	case "TopologyPlacementFailed":
		return WaitingThere, "waits for nodes that are close enough to each other"
	case "PendingEvaluation":
		return WaitingThere, "waits to be looked at"
	case "AdmissionGated":
		return WaitingThere, "waits for its admission gates"
	case "OnHold":
		return WaitingThere, "is on hold"
	}
	return WaitingThere, "waits"
}

// waitingText is what the worker itself says about a copy without quota: message, and reason in brackets.
func (c Copy) waitingText() string {
	text := ""
	if c.WaitingMessage != "" {
		text = ": " + c.WaitingMessage
	}
	if c.WaitingReason != "" {
		text += " (" + c.WaitingReason + ")"
	}
	return text
}

// recordLacksStop reports whether the bound copy is stamped to stop without the hub and the record does not say so.
func (s State) recordLacksStop(v ClusterView) bool {
	return v.Copy.StopsOnHubLost && !s.StopsOnHubLost
}

// canFollow reports whether a copy equals the hub's Workload, or can be made to without being made anew.
func (c Copy) canFollow() bool { return c.SpecMatches || c.OnlyPriorityDiffers || c.OnlyLarger }

// allowsRun reports whether a copy allows its job to run.
func (s State) allowsRun(c Copy) bool {
	return s.isCurrentCopy(c) && c.Admitted && !c.Evicted && !c.Deleting && c.Finished == nil && c.canFollow()
}

// jobStillThere reports whether the job that was made in this epoch is still there.
func (s State) jobStillThere(v ClusterView, live Live) bool {
	return s.isCurrentJob(live.Job) && s.IsWorkloadJob(v.Name, live.Copy, live.Job)
}

// hasStaleJob reports whether a job of an earlier epoch or owner is seen.
func (s State) hasStaleJob(v ClusterView) bool {
	if live := s.liveAnswer(v); live != nil {
		return s.isStaleJob(live.Job)
	}
	return s.isStaleJob(v.Job)
}

// isRunning reports whether a bound cluster shows the job of this epoch, and a copy that allows it to run.
func (s State) isRunning(v ClusterView) bool { return s.canRunOn(v) && s.isCurrentJob(v.Job) }

// canRunOn reports whether a bound cluster can be reached and its copy allows the job to run.
func (s State) canRunOn(v ClusterView) bool {
	return v.connected() && v.newestEpoch() <= s.Epoch && v.InConfig && s.allowsRun(v.Copy)
}

// isClean reports whether a live read has shown that nothing of ours is left on a debtor, which is offered nothing new
// before. Nothing but a live read can show that.
func (s State) isClean(v ClusterView) bool {
	live := s.liveAnswer(v)
	return live != nil && !isRemovable(live.Job.Holder) && !isRemovable(live.Copy.Holder) && !live.Job.isStray()
}

// isCurrent reports whether an epoch stamp is that of the present epoch. An object without a stamp was made by another
// program with our origin, which knows no epochs: it counts as one of the first epoch, so that a hub can take over what
// another one began.
func (s State) isCurrent(stamp int64) bool {
	return stamp == s.Epoch || stamp == 0 && s.Epoch == 1
}

// lostLabels reports whether a job of the present epoch has lost our label, or all our marks, so that only its copy knows it: it
// runs on, and its copy tells how it ends.
func (s State) lostLabels(c Copy, j Job) bool {
	return j.Holder == Relabelled && s.isCurrent(j.Epoch) || j.Holder == Foreign && j.NamesWorkload && c.isAdoptedBy(j)
}

// isCurrentCopy and isCurrentJob report whether a fact is about an object of ours and of the present epoch.
func (s State) isCurrentCopy(c Copy) bool { return c.Holder == Ours && s.isCurrent(c.Epoch) }
func (s State) isCurrentJob(j Job) bool   { return j.Holder == Ours && s.isCurrent(j.Epoch) }

// isStaleJob reports whether a job is ours to remove before anything new may happen on its cluster.
func (s State) isStaleJob(j Job) bool {
	return s.isStaleObject(j.Holder, j.Epoch)
}

// isStaleCopy is isStaleJob for a copy.
func (s State) isStaleCopy(c Copy) bool { return s.isStaleObject(c.Holder, c.Epoch) }

// isStaleObject reports whether an object is a predecessor's, or ours and of another epoch than the present one.
func (s State) isStaleObject(h Holder, stamp int64) bool {
	return h == Predecessor || (h == Ours || h == Relabelled) && !s.isCurrent(stamp)
}

// liveAnswer returns the live read made in the present epoch over the present connection, nil if there is none.
func (s State) liveAnswer(v ClusterView) *Live {
	if v.Live == nil || v.Live.Epoch != s.Epoch || !v.connected() {
		return nil
	}
	return v.Live
}

// hasStale reports whether something of an earlier epoch or owner is seen on the cluster; a live answer wins over the cache.
func (s State) hasStale(v ClusterView) bool {
	if live := s.liveAnswer(v); live != nil {
		return s.isStaleJob(live.Job) || s.isStaleCopy(live.Copy)
	}
	return s.isStaleJob(v.Job) || s.isStaleCopy(v.Copy)
}

// isFresh reports whether an answer is young enough for a run to be given up on it.
func (o Observation) isFresh(live Live) bool {
	return live.At.IsZero() || o.Now.Before(live.At.Add(maxAnswerAge))
}

// Relevant is the Observation without the clusters that the State does not name and that show nothing.
func (o Observation) Relevant(s State) Observation {
	names := s.Names()
	near := make([]ClusterView, 0, len(names)+1)
	for _, v := range o.Clusters {
		if slices.Contains(names, v.Name) || v.showsWorkload() {
			near = append(near, v)
		}
	}
	o.Clusters = near
	return o
}

// view returns what is known of a cluster; a cluster that is not among Clusters is Unknown.
func (o Observation) view(name string) ClusterView {
	for _, v := range o.Clusters {
		if v.Name == name {
			return v
		}
	}
	return ClusterView{Name: name}
}

// newestEpoch returns the highest stamp seen on any object of ours.
func (o Observation) newestEpoch() int64 {
	var top int64
	for _, v := range o.Clusters {
		top = max(top, v.newestEpoch())
	}
	return top
}

// anythingReachable reports whether an object of ours is seen on a cluster that can be talked to.
func (o Observation) anythingReachable() bool {
	for _, v := range o.Clusters {
		if v.connected() && v.removable() {
			return true
		}
	}
	return false
}

// NeedsAll reports whether Step has to know every cluster to decide. Otherwise it is enough to show it those that the State
// names and those where something of the Workload is seen or remembered (Near), and it decides alike: most Workloads run
// where they are, and looking at a hundred clusters for each of them would cost more than everything else.
//
// All are needed to choose among them, to move a drained job, to suspect them when the record was lost, and to tell a lost
// cluster from a hub that is cut off.
func NeedsAll(s State, o Observation) bool {
	s.Epoch = max(s.Epoch, 1)
	o = o.normalizeStamps(s.Epoch)
	if slices.ContainsFunc(s.Names(), func(name string) bool { return o.view(name).Link.State == Unreachable }) {
		return true
	}
	switch l := o.Local; {
	case l.Deleted && !l.KeptForJob, l.Finished:
		return false
	case recordCheck{state: &s, observed: &o}.isLost():
		return true
	case l.Deleted, !l.Quota.Reserved:
		return false
	case s.Retreating() && (l.Check.State == Retry || l.Check.State == Rejected || l.Quota.Evicted):
		return false
	case s.Bound == "", l.Check.State != Ready:
		return true
	}
	v := o.view(s.Bound)
	return v.Operator.Draining || v.newestEpoch() > max(s.Epoch, 1)
}

// isRemovable reports whether the hub may remove an object of the holder.
func isRemovable(h Holder) bool { return h == Ours || h == Predecessor || h == Relabelled }
