package dispatch

// bound handles a Workload whose winner is chosen and whose job is not seen there, not yet or not any more (contract:
// multikueue.md 4 cases 3a, 4b, 5 and 6). As long as the cache shows the copy as it should be, it is believed; before a run is
// given up, the cluster itself is asked.
func (t decision) bound() Plan {
	v := t.observed.view(t.state.Bound)
	if plan := t.mendBinding(v); plan != nil {
		return *plan
	}
	switch {
	case !t.state.canRunOn(v):
		return t.confirmLive(v, t.actions.cleanOthers())
	case t.state.recordLacksStop(v):
		return t.recordStop()
	case v.Operator.Draining && t.nominator.canMove(v.Name):
		return t.leaveDrained(v)
	case t.checkIsBehind(v):
		return t.reportReady(v)
	}
	return t.startJob(v, t.actions.boundActions(v))
}

// mendBinding returns what comes before all else with the cluster that is bound: a debt is settled, the cluster is out of reach, or the record is
// behind what is seen there. It returns nil if there is none of that.
func (t decision) mendBinding(v ClusterView) *Plan {
	next, settled := t.debts.settle(*t.state)
	var plan Plan
	switch {
	case settled:
		plan = t.planner.store(next, Settled, "a cluster owes nothing any more")
	case !v.connected():
		plan = t.holdLost(v)
	case v.newestEpoch() > t.state.Epoch:
		plan = t.restoreRecord(v.newestEpoch())
	default:
		return nil
	}
	return &plan
}

// checkIsBehind reports whether the check does not say that the Workload is admitted, or says something beside that has passed.
func (t decision) checkIsBehind(v ClusterView) bool {
	check := t.observed.Local.Check.State
	return check != Ready && check != "" || t.planner.reportsHold() || t.planner.reportsStays(v) || t.state.isCurrentJob(v.Job) && t.planner.reportsNoJob(v.Name)
}

// reportReady stores again that the bound cluster has admitted the Workload, without what the message said beside that.
func (t decision) reportReady(v ClusterView) Plan {
	return t.planner.storeReady(*t.state, v.Name, Running, "running on "+v.Name)
}

// recordStop stores that the bound job stops without the hub, which the bound copy's stamp shows and the record does not.
func (t decision) recordStop() Plan {
	next := *t.state
	next.StopsOnHubLost = true
	return t.planner.store(next, RecordLost, "the record was lost of how the job stops; taking it from the bound cluster")
}

// leaveDrained gives up a cluster that is being drained. The cluster is read first: nothing forces the hub to move the job, so
// that a run that has ended unseen must not be given up.
func (t decision) leaveDrained(v ClusterView) Plan {
	live := t.state.liveAnswer(v)
	switch {
	case live == nil || !t.observed.isFresh(*live):
		return t.planner.act(Looking, "reading "+v.Name+" before its job is moved",
			append(t.actions.cleanOthers(), Action{Verb: LiveRead, Cluster: v.Name, Epoch: t.state.Epoch})...)
	case !t.state.allowsRun(live.Copy), live.Copy.Adopted && !t.state.jobStillThere(v, *live):
		return t.confirmLive(v, t.actions.cleanOthers())
	}
	message := t.planner.msgDrained(v.Name)
	return t.giveUp(Drained, message, &Event{Message: message})
}

// restoreRecord takes the epoch from the bound cluster after the record of it was lost: what is there was made by this hub, in
// the epoch in which that cluster was bound. If nothing is there any more, the epoch comes from other clusters. The debts of
// then are not known, so that every other cluster is suspected.
func (t decision) restoreRecord(epoch int64) Plan {
	next := *t.state
	next.Epoch = epoch
	next.Reservation = t.observed.Local.Quota.Reservation
	next.StopsOnHubLost = t.observed.view(next.Bound).Copy.StopsOnHubLost
	return t.planner.store(next, RecordLost, "the record of the epoch was lost; taking it from what is seen")
}

// holdLost keeps the Workload on a bound cluster that cannot be talked to, as long as the policy says (case 6a).
func (t decision) holdLost(v ClusterView) Plan {
	h := t.lost.hold(v, t.state.StopsOnHubLost)
	if h.over {
		return t.giveUp(h.reason, msgLost, nil)
	}
	plan := t.planner.act(h.reason, v.Name+" cannot be reached; "+t.lost.releaseText(h, t.state.StopsOnHubLost && v.Fence.Alive), t.actions.cleanOthers()...)
	plan.WakeAt = h.until
	t.explainer.reportHold(&plan, v)
	return plan
}

// startJob creates the job, once nothing of our name is in its way and no debt forbids it.
func (t decision) startJob(v ClusterView, actions []Action) Plan {
	if v.Job.Holder == Foreign { // ours may have ended, and another has taken its name
		return t.confirmLive(v, actions)
	}
	if t.record.isBehind() {
		return t.planner.act(Looking, "a cluster shows more than the record of the workload knows of", actions...)
	}
	if next := t.debts.inheritFromPredecessors(*t.state); !next.Equal(*t.state) {
		return t.planner.store(next, Owed, "a cluster was lost where a predecessor's job may run")
	}
	owing, wake := t.debts.blockers(*t.state)
	if len(owing) > 0 {
		plan := t.planner.act(Owed, t.debts.msgOwed(owing), actions...)
		plan.WakeAt = wake
		return plan
	}
	live := t.state.liveAnswer(v)
	relabelled := live != nil && live.Job.Holder == Relabelled
	lost := t.hasTakenOverJob() && !t.hasJobToTakeOver(v) // nothing tells that it was not made
	if v.Job.Holder == Absent && (v.Copy.Adopted || relabelled || lost) {
		return t.confirmLive(v, actions)
	}
	if v.Job.Holder == Absent {
		actions = append(actions, Action{Verb: CreateJob, Cluster: v.Name, Epoch: t.state.Epoch, StopsOnHubLost: t.state.StopsOnHubLost})
	}
	plan := t.planner.act(Starting, "creating the job on "+v.Name, actions...)
	t.explainer.reportNoJob(&plan, v)
	return plan
}

// confirmLive asks the bound cluster itself, because the cache shows nothing there or something wrong. Absence in a cache is no
// evidence, and what it shows may be over.
func (t decision) confirmLive(v ClusterView, actions []Action) Plan {
	if live := t.state.liveAnswer(v); live != nil {
		plan := t.decideFromLiveRead(v, *live, actions)
		if !plan.Stores || t.observed.isFresh(*live) {
			return plan
		}
	}
	return t.planner.act(Looking, "reading "+v.Name,
		append(actions, Action{Verb: LiveRead, Cluster: v.Name, Epoch: t.state.Epoch})...)
}

// decideFromLiveRead decides from what a live read found on the bound cluster. A run that has ended counts before this is
// called: it makes the phase PhaseFinished. The first case that holds decides. Where none holds, the cache is merely behind.
func (t decision) decideFromLiveRead(v ClusterView, live Live, actions []Action) Plan {
	c := live.Copy
	vanished := !t.state.jobStillThere(v, live) && (c.Adopted || t.hasTakenOverJob() && !t.hasJobToTakeOver(v))
	switch {
	case t.state.allowsRun(c) && t.state.lostLabels(c, live.Job):
		return t.planner.act(Looking, msgRelabelled(v.Name), actions...)
	case !t.state.isCurrentCopy(c):
		return t.runGone(v, live, actions)
	case c.Finished != nil && (c.Finished.Reason != OutOfSync || t.observed.Local.Slice.Elastic): // without a job that could have
		return t.giveUp(RemoteGone, msgGone, nil)
	case c.Finished != nil:
		message := t.planner.msgOutOfSync(v.Name)
		return t.giveUp(RemoteOutOfSync, message, &Event{Warning: true, Message: message})
	case vanished && !v.Ended.Unfinished:
		return t.runGone(v, live, actions)
	case c.Evicted:
		message := t.planner.msgEvicted(v.Name)
		return t.giveUp(RemoteEvicted, message, &Event{Message: message})
	case c.Deleting:
		return t.planner.act(Looking, "the copy on "+v.Name+" is being deleted", actions...)
	case vanished:
		return t.runGone(v, live, actions)
	case live.Job.Holder == Foreign, t.state.isCurrentJob(live.Job) && !t.state.jobStillThere(v, live) && c.HasWorkloadUID: // it was here before ours, and is none of ours
		return t.giveUp(NameCollision, t.planner.msgCollision(v.Name), &Event{Warning: true, Message: t.planner.msgCollision(v.Name)})
	case !v.InConfig || !t.state.allowsRun(c):
		return t.giveUp(RemoteGone, msgGone, nil)
	}
	return t.planner.act(Looking, "the cache of "+v.Name+" is behind", actions...)
}

// runGone handles a bound copy or job that is not there any more (case 6a). If the job is still there, its run has lost its
// permission and nothing else has happened. If it is not, it may have finished and been cleaned up: the Workload is dispatched
// again only if it was seen that it had not. A job is never made again within an epoch. Where nothing is left of it and others
// show a later epoch than the record, the record was lost: without an epoch above theirs their offers would stay for ever.
func (t decision) runGone(v ClusterView, live Live, actions []Action) Plan {
	if t.state.jobStillThere(v, live) || v.Ended.Unfinished {
		return t.giveUp(RemoteGone, msgGone, nil)
	}
	if t.record.isBehind() && live.Copy.Holder != Ours && live.Job.Holder != Ours {
		return t.restoreRecord(t.observed.newestEpoch())
	}
	message := `Result unknown: the job is gone from worker cluster "` + v.Name +
		`" and nobody saw how it ended; delete the workload, or deactivate and reactivate it to run it again`
	plan := t.planner.act(ResultUnknown, message, actions...)
	t.planner.report(&plan, message)
	return plan
}
