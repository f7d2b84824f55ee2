package dispatch

// bound handles a Workload whose winner is chosen and whose job is not seen there, not yet or not any more (contract: multikueue.md
// 4 cases 3a, 4b, 5 and 6). As long as the cache shows the copy as it should be, it is believed; before a run is given up, the
// cluster itself is asked.
func (t decision) bound() Plan {
	v := t.view(t.state.Bound)
	next, settled := t.settleDebts(t.state)
	switch {
	case settled:
		return t.store(next, Settled, "a cluster owes nothing any more")
	case !v.connected():
		return t.holdLost(v)
	case v.newestEpoch() > t.state.Epoch:
		return t.restoreRecord(v.newestEpoch())
	case !t.canRunOn(v):
		return t.confirmLive(v, t.cleanOthers())
	case t.recordLacksStop(v):
		return t.recordStop()
	case v.Operator.Draining && t.canMove(v.Name):
		return t.leaveDrained(v)
	case t.checkIsBehind(v):
		return t.reportReady(v)
	}
	return t.startJob(v, t.boundActions(v))
}

// boundActions removes the losers' copies, and brings the priority of the winner's up to date.
func (t decision) boundActions(v ClusterView) []Action {
	actions := t.cleanOthers()
	if v.Copy.OnlyPriorityDiffers {
		actions = append(actions, Action{Verb: UpdateOffer, Cluster: v.Name, Epoch: t.state.Epoch})
	}
	return actions
}

// checkIsBehind reports whether the check does not say that the Workload is admitted, or says something beside that has passed.
func (t decision) checkIsBehind(v ClusterView) bool {
	check := t.observed.Local.Check.State
	return check != Ready && check != "" || t.reportsHold() || t.reportsStays(v) || t.state.isCurrentJob(v.Job) && t.reportsNoJob(v.Name)
}

func (t decision) reportReady(v ClusterView) Plan {
	return t.storeReady(t.state, v.Name, Running, "running on "+v.Name)
}

// recordLacksStop reports whether the bound copy is stamped to stop without the hub and the record does not say so.
func (t decision) recordLacksStop(v ClusterView) bool {
	return v.Copy.StopsOnHubLost && !t.state.StopsOnHubLost
}

func (t decision) recordStop() Plan {
	next := t.state
	next.StopsOnHubLost = true
	return t.store(next, RecordLost, "the record was lost of how the job stops; taking it from the bound cluster")
}

// allowsRun reports whether a copy allows its job to run.
func (t decision) allowsRun(c Copy) bool {
	return t.state.isCurrentCopy(c) && c.Admitted && !c.Evicted && !c.Deleting && c.Finished == nil && (c.SpecMatches || c.OnlyPriorityDiffers)
}

// leaveDrained gives up a cluster that is being drained. Nobody forces us to, so the run may not have ended unseen: the
// cluster is asked first.
func (t decision) leaveDrained(v ClusterView) Plan {
	live := t.liveAnswer(v)
	switch {
	case live == nil || !t.isFresh(*live):
		return t.act(Looking, "reading "+v.Name+" before its job is moved",
			append(t.cleanOthers(), Action{Verb: LiveRead, Cluster: v.Name, Epoch: t.state.Epoch})...)
	case !t.allowsRun(live.Copy), live.Copy.Adopted && !t.jobStillThere(v, *live):
		return t.confirmLive(v, t.cleanOthers())
	}
	message := t.msgDrained(v.Name)
	return t.giveUp(Drained, message, &Event{Message: message})
}

// restoreRecord takes the epoch from the bound cluster after the record of it was lost: what is there was made by us, in the
// epoch in which that cluster was bound; or from others, if nothing is there any more. What was owed then is not known, so everybody
// else is suspected.
func (t decision) restoreRecord(epoch int64) Plan {
	next := t.state
	next.Epoch = epoch
	next.Reservation = t.observed.Local.Quota.Reservation
	next.StopsOnHubLost = t.view(next.Bound).Copy.StopsOnHubLost
	return t.store(next, RecordLost, "the record of the epoch was lost; taking it from what is seen")
}

// holdLost keeps the Workload on a bound cluster that cannot be talked to, as long as the policy says (case 6a).
func (t decision) holdLost(v ClusterView) Plan {
	h := t.hold(v, t.state.StopsOnHubLost)
	if h.over {
		return t.giveUp(h.reason, msgLost, nil)
	}
	plan := t.act(h.reason, v.Name+" cannot be reached; "+t.releaseText(h, t.state.StopsOnHubLost && v.Fence.Alive), t.cleanOthers()...)
	plan.WakeAt = h.until
	t.reportHold(&plan, v)
	return plan
}

// startJob creates the job, once nothing of our name is in its way and no debt forbids it.
func (t decision) startJob(v ClusterView, actions []Action) Plan {
	if v.Job.Holder == Foreign { // ours may have ended, and another has taken its name
		return t.confirmLive(v, actions)
	}
	if t.recordIsBehind() {
		return t.act(Looking, "a cluster shows more than the record of the workload knows of", actions...)
	}
	if next := t.inheritPredecessorDebts(t.state); !next.Equal(t.state) {
		return t.store(next, Owed, "a cluster was lost where a predecessor's job may run")
	}
	owing, wake := t.blockers(t.state)
	if len(owing) > 0 {
		plan := t.act(Owed, t.msgOwed(owing), actions...)
		plan.WakeAt = wake
		return plan
	}
	live := t.liveAnswer(v)
	relabelled := live != nil && live.Job.Holder == Relabelled
	if v.Job.Holder == Absent && (v.Copy.Adopted || relabelled) {
		return t.confirmLive(v, actions)
	}
	if v.Job.Holder == Absent {
		actions = append(actions, Action{Verb: CreateJob, Cluster: v.Name, Epoch: t.state.Epoch, StopsOnHubLost: t.state.StopsOnHubLost})
	}
	plan := t.act(Starting, "creating the job on "+v.Name, actions...)
	t.reportNoJob(&plan, v)
	return plan
}

// cleanOthers removes what other clusters hold, and what earlier epochs left on the bound one, and reads the debtors that
// show nothing. A stamp above the epoch says that the record is behind what has happened, or lost: nothing is removed by it.
func (t decision) cleanOthers() []Action {
	if t.recordIsBehind() {
		return nil
	}
	var actions []Action
	for _, v := range t.observed.Clusters {
		switch {
		case !v.connected():
		case v.Name == t.state.Bound:
			if t.hasStale(v) {
				actions = append(actions, t.removeStale(v)...)
			}
		case v.removable():
			actions = append(actions, t.removeAll(v)...)
		case t.state.hasDebt(v.Name):
			actions = append(actions, t.collectDebt(v)...)
		}
	}
	return actions
}

// collectDebt works on one reachable debt: remove what is seen, else look.
func (t decision) collectDebt(v ClusterView) []Action {
	switch {
	case t.hasStale(v):
		return t.removeStale(v)
	case t.liveAnswer(v) == nil:
		return []Action{{Verb: LiveRead, Cluster: v.Name, Epoch: t.state.Epoch}}
	}
	return nil
}
