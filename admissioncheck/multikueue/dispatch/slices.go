package dispatch

import "time"

// inherit returns the State of a slice that has got its quota: what the slice from which it takes over has recorded is its own now, since both have
// one job. It returns s itself if there is nothing to inherit, or if that has been done. The other's record does not change any more.
func (s State) inherit(l Local, earlierEvictions int64) State {
	if l.Slice.Before == nil {
		return s
	}
	next := s.TakeOver(*l.Slice.Before, earlierEvictions)
	if !next.Equal(s) && (next.Epoch > 1 || len(next.Debts) > 0) {
		next.Reservation = l.Quota.Reservation
	}
	return next
}

// TakeOver returns the State of a slice together with what the one before it has recorded, if it has none of its own yet. One that has been given up
// itself since, without a record of that, has ended what it took over, and more may have been lost.
func (s State) TakeOver(from State, earlierEvictions int64) State {
	if s.Unreadable || s.Epoch > 1 || s.Reservation != "" || len(s.Debts) > 0 || s.Bound != "" && s.Bound != from.Bound {
		return s
	}
	records := from.Epoch > 1 || len(from.Debts) > 0
	switch {
	case earlierEvictions > 0 && s.Bound == "" && (records || from.Bound != ""):
		over := from.retreat(epochAfter(max(from.Epoch, 1)))
		s.Epoch, s.Debts, s.Nominated, s.Round = over.Epoch, over.Debts, nil, time.Time{}
		return s
	case earlierEvictions > 0:
		return s
	case records:
		s.Epoch, s.Debts, s.Nominated, s.Round = from.Epoch, from.Debts, nil, time.Time{}
	}
	if from.Bound != "" {
		s.Bound, s.StopsOnHubLost = from.Bound, s.StopsOnHubLost || from.StopsOnHubLost
		s.Nominated, s.Round = nil, time.Time{}
	}
	return s
}

// HadJobOn reports whether a job may have been made on a cluster in an epoch for a slice before this one. That no job has taken up this one's copy of
// then does not say that there was none.
func (s Slice) HadJobOn(cluster string, epoch int64) bool {
	return s.Before != nil && s.Before.Bound == cluster && epoch <= max(s.Before.Epoch, 1)
}

// isTakingOver reports whether the job runs on the bound cluster by what earlier slices have there, and this one is yet to be admitted.
func (t decision) isTakingOver() bool {
	l := t.observed.Local
	return l.Slice.Replacement && t.state.Bound != "" && l.Check.State == Pending
}

// takingOver handles a slice that has the hub's quota and the cluster of the slice before it, which has not admitted it yet. Its copy is offered
// there and nowhere else. The job is this slice's from now on, though it goes on as it is until then: its status and its end are those of
// this slice, and it is removed if this slice is given up.
func (t decision) takingOver() Plan {
	v := t.observed.view(t.state.Bound)
	if plan := t.mendBinding(v); plan != nil {
		return *plan
	}
	switch {
	case t.state.allowsRun(v.Copy) && !v.Job.SizeAbove && t.hasJobToTakeOver(v) && v.InConfig && t.observed.Local.Check.OthersReady:
		return t.planner.storeReady(*t.state, v.Name, Won, v.Name+" admitted the workload slice")
	case !v.InConfig, v.Operator.Draining && t.nominator.canMove(v.Name), !t.hasJobToTakeOver(v), t.cannotBeAdmitted(v.Copy):
		return t.confirmTakeover(v)
	}
	return t.planner.act(Offered, "waiting for "+v.Name+" to admit the workload slice", t.takeoverActions(v)...)
}

// hasJobToTakeOver reports whether the job is seen on the cluster, or none was ever made there.
func (t decision) hasJobToTakeOver(v ClusterView) bool {
	return t.state.isCurrentJob(v.Job) && t.state.IsWorkloadJob(v.Name, v.Copy, v.Job) || t.wasNeverMade(v)
}

// wasNeverMade reports whether no job was ever made on the cluster. It is read for that, since one may have been made a moment ago.
func (t decision) wasNeverMade(v ClusterView) bool {
	live := t.state.liveAnswer(v)
	unused := v.Replaced.Holder == Ours && !v.Replaced.Adopted && !v.Copy.Adopted
	return unused && v.Job.Holder == Absent && live != nil && live.Job.Holder == Absent
}

// hasTakenOverJob reports whether the job that is bound was made, or was to be, for a slice before this one, and has not been given up since.
func (t decision) hasTakenOverJob() bool {
	l := t.observed.Local
	return l.Slice.Before != nil && l.Slice.Before.Bound == t.state.Bound && t.state.Epoch == max(l.Slice.Before.Epoch, 1) && l.Quota.Evictions == 0
}

// cannotBeAdmitted reports whether the slice's own copy is over before it was admitted.
func (t decision) cannotBeAdmitted(c Copy) bool {
	return t.state.isCurrentCopy(c) && (c.Finished != nil || c.Deactivating || !c.canFollow())
}

// confirmTakeover gives the cluster up for what was seen there, if a read of it says so as well.
func (t decision) confirmTakeover(v ClusterView) Plan {
	live, actions := t.state.liveAnswer(v), t.actions.cleanOthers()
	if live == nil || !t.observed.isFresh(*live) {
		return t.planner.act(Looking, "reading "+v.Name, append(actions, Action{Verb: LiveRead, Cluster: v.Name, Epoch: t.state.Epoch})...)
	}
	message := t.planner.msgDrained(v.Name)
	switch {
	case live.Job.isHidden():
		return t.planner.act(Looking, msgRelabelled(v.Name), actions...)
	case !t.state.jobStillThere(v, *live) && !t.wasNeverMade(v):
		return t.runGone(v, *live, t.takeoverActions(v))
	case !v.InConfig, live.Copy.Holder == Foreign:
		return t.giveUp(RemoteGone, msgGone, nil)
	case v.Operator.Draining && t.nominator.canMove(v.Name):
		return t.giveUp(Drained, message, &Event{Message: message})
	case t.cannotBeAdmitted(live.Copy):
		message = t.planner.msgEvicted(v.Name)
		return t.giveUp(RemoteEvicted, message, &Event{Message: message})
	}
	return t.planner.act(Looking, "the cache of "+v.Name+" is behind", append(actions, t.takeoverActions(v)...)...)
}

// takeoverActions offer the slice to the cluster and copy the status of the job, which runs by an earlier one. What was promised of how that stops
// without the hub holds for the slice, too. As long as the job is there and not seen, its size is not known.
func (t decision) takeoverActions(v ClusterView) []Action {
	actions := t.actions.cleanOthers()
	switch c := v.Copy; {
	case v.Job.SizeAbove: // once the slice is admitted, a worker would stop a job that runs more pods than that is for
		actions = append(actions, Action{Verb: ResizeJob, Cluster: v.Name, Epoch: t.state.Epoch, OnlyShrink: true})
	case t.state.isCurrentCopy(c) && c.OnlyPriorityDiffers && !c.Deleting:
		actions = append(actions, Action{Verb: UpdateOffer, Cluster: v.Name, Epoch: t.state.Epoch})
	case !t.hasJobToTakeOver(v):
	case c.Holder == Absent && !v.EarlierWaits && t.eligibility.ineligibleReason(v) == "" && !t.policy.awaitsLease(v) && t.observed.Local.Check.OthersReady:
		actions = append(actions, Action{Verb: CreateOffer, Cluster: v.Name, Epoch: t.state.Epoch, StopsOnHubLost: t.state.StopsOnHubLost})
	case t.state.isCurrentCopy(c) && c.OnlyLarger && !c.Deleting:
		actions = append(actions, Action{Verb: UpdateOffer, Cluster: v.Name, Epoch: t.state.Epoch})
	}
	if v.Job.StatusBehind && t.state.mayCopyStatus(v) {
		actions = append(actions, Action{Verb: CopyStatus, Cluster: v.Name, Epoch: t.state.Epoch})
	}
	return actions
}

// passive handles a slice whose job is another's. What is left of its own copies is removed, but never the job, nor a copy by which that may run.
func (t decision) passive() Plan {
	var actions []Action
	for _, v := range t.observed.Clusters {
		if !v.connected() || !isRemovable(v.Copy.Holder) || v.Copy.Deleting {
			continue
		}
		used, known := t.isCopyInUse(v)
		switch {
		case !known:
			actions = append(actions, Action{Verb: LiveRead, Cluster: v.Name, Epoch: t.state.Epoch})
		case !used:
			actions = append(actions, t.actions.removeCopy(v)...)
		}
	}
	return t.planner.act(SlicePassive, "another slice of the workload has the job", actions...)
}

// isCopyInUse reports whether the job may run by the copy of a passive slice. A copy that waits for quota is in nobody's use, but in the way of the
// next one. If a job has taken the copy up and is not seen, the cluster has to be asked by which slice that runs.
func (t decision) isCopyInUse(v ClusterView) (used, known bool) {
	c, j := v.Copy, v.Job
	waits := !c.QuotaReserved && !c.Admitted && c.Finished == nil
	switch live := t.state.liveAnswer(v); {
	case v.Name == t.observed.Local.Slice.NextOn:
		return !waits, true
	case !c.Adopted && !waits && !j.NamesWorkload && !j.OfSlice && v.Name == t.observed.Local.Slice.JobOn: // it tells that no job was made yet
		return true, true
	case c.Finished != nil:
		return false, true
	case !j.NamesWorkload && !j.OfSlice && c.Adopted && live == nil:
		return false, false
	case !j.NamesWorkload && !j.OfSlice && c.Adopted:
		return live.Job.NamesWorkload, true
	}
	return j.NamesWorkload, true
}
