package dispatch

// retreating handles a reservation that cannot bring a run any more. First it is recorded why; then the hub is waited for, which
// evicts the Workload and releases its quota.
func (t decision) retreating() Plan {
	l := t.observed.Local
	switch {
	case l.Job.Refusal.Reason != "" && l.Check.State != Rejected:
		return t.reject()
	case l.Quota.Evicted:
		return t.evicted()
	default:
		return t.awaitEviction()
	}
}

// reject rejects a Workload whose owner cannot be dispatched (contract: multikueue.md 4 P3 and P4).
func (t decision) reject() Plan {
	r := t.observed.Local.Job.Refusal
	message := `The owner is not managed by Kueue: ` + r.Detail
	switch {
	case r.Reason == NoAdapter && r.Detail != "":
		message = `No multikueue adapter found for owner kind "` + r.Detail + `"`
	case r.Reason == NoAdapter:
		message = `No multikueue adapter found`
	}
	next := t.state
	if next.Bound != "" && !next.Retreating() {
		next = next.retreat(t.nextEpoch())
	}
	plan := t.storeCheck(next, Rejected, r.Reason, t.withPrevious(message))
	plan.Message = message
	return plan
}

// evicted handles an eviction by the hub itself: preemption, deactivation, a stopped queue (contract: multikueue.md 4
// case 6b). The retreat is recorded before the worker is told, whatever the core does meanwhile.
func (t decision) evicted() Plan {
	if t.state.Bound != "" && !t.state.Retreating() || len(t.state.Nominated) > 0 || t.retreatOutdated() {
		return t.store(t.state.retreat(t.nextEpoch()), LocalEvicted, "the hub evicts the workload")
	}
	return t.unbind(t.drainJob())
}

// unbind takes the binding back, for which the hub waits, once the cluster has stopped the job or nobody can say when it will.
// The debt stays until the next run. Until then it returns the plan, with what is missing for that.
func (t decision) unbind(plan Plan) Plan {
	l := t.observed.Local
	if !l.Quota.AwaitsUnbinding || l.Job.Active || t.state.Bound == "" {
		return plan
	}
	v := t.view(t.state.Bound)
	over, seen := t.stoppedOn(v)
	switch {
	case over:
		next := t.state
		next.Bound = ""
		return t.store(next, LocalEvicted, v.Name+" has stopped the evicted workload")
	case !v.connected():
		end, _ := t.graceEnd(v)
		plan.WakeAt = earliest(plan.WakeAt, end)
	case !seen && !plan.Stores && t.liveAnswer(v) == nil:
		plan.Actions = append(plan.Actions, Action{Verb: LiveRead, Cluster: v.Name, Epoch: t.state.Epoch})
	}
	return plan
}

// stoppedOn reports whether a given-up cluster has no pods of the Workload any more, as far as anybody will ever say, and whether
// its cache shows enough to wait for that. A copy that has lost its quota has lost its pods before; one that is out of sync is over
// while the pods still end.
func (t decision) stoppedOn(v ClusterView) (over, seen bool) {
	c, live := v.Copy, t.liveAnswer(v)
	switch {
	case !v.connected():
		return t.graceOver(v), true
	case live != nil && !isRemovable(live.Job.Holder) && !live.Job.isStray() && (!isRemovable(live.Copy.Holder) || !live.Copy.Admitted || live.Copy.Evicted):
		return true, true
	case c.Holder == Ours:
		ended := !c.QuotaReserved || c.Finished != nil && c.Finished.Reason != OutOfSync
		return ended || c.Evicted && !c.Adopted && v.Job.Holder == Absent, !c.Adopted || v.Job.Holder != Absent
	}
	return false, isRemovable(v.Job.Holder)
}

// awaitEviction waits for the hub to evict after Retry or Rejected. If the retreat is recorded but the check does not say
// so, or the other way round, the missing half is written.
func (t decision) awaitEviction() Plan {
	l := t.observed.Local
	switch {
	case l.Check.State == Retry && (t.state.Bound != "" && !t.state.Retreating() || t.retreatOutdated()):
		return t.store(t.state.retreat(t.nextEpoch()), RecordLost, "the check says Retry but no retreat is recorded")
	case l.Check.State == Pending || l.Check.State == Ready:
		return t.storeCheck(t.state, Retry, RemoteGone, msgGone)
	case t.state.Bound != "" && !t.state.Retreating():
		return t.act(Draining, "waiting for the core to evict the rejected workload")
	}
	return t.drainJob()
}

// drainJob lets the job on the given-up cluster stop, and its last status reach the hub, because the core releases the
// quota only when the hub's job shows no active pods (contract: multikueue.md 4 case 4a). Everything else of the earlier
// epochs is removed at once.
func (t decision) drainJob() Plan {
	plan := t.act(Draining, "waiting for the core to release the quota")
	for _, v := range t.observed.Clusters {
		if v.Name != t.state.Bound && v.connected() && t.hasStale(v) {
			plan.Actions = append(plan.Actions, t.removeStale(v)...)
		}
	}
	if v := t.view(t.state.Bound); t.state.Bound != "" && v.connected() {
		plan.Actions = append(plan.Actions, t.stopJob(v)...)
	}
	if t.observed.Local.Job.Active {
		t.clearActiveWhenSilent(&plan)
	}
	return plan
}

// stopJob tells the given-up cluster that the hub evicts, and copies the status of its job while it stops.
func (t decision) stopJob(v ClusterView) []Action {
	var actions []Action
	c := v.Copy
	running := c.Holder == Ours && (c.Admitted || c.QuotaReserved) && !c.Evicted && !c.Deactivating && !c.Deleting && c.Finished == nil
	if t.observed.Local.Quota.Evicted && running {
		actions = append(actions, Action{Verb: EvictRemote, Cluster: v.Name, Epoch: t.state.Epoch,
			Message: "Evicted on manager: " + t.observed.Local.Quota.EvictedMessage})
	}
	if v.Job.StatusBehind && t.mayCopyStatus(v) {
		actions = append(actions, Action{Verb: CopyStatus, Cluster: v.Name, Epoch: t.state.Epoch})
	}
	outOfSync := c.Finished != nil && c.Finished.Reason == OutOfSync
	live := t.liveAnswer(v)
	hidden := live != nil && live.Job.Holder == Relabelled
	if t.observed.Local.Quota.AwaitsUnbinding && (v.removable() || hidden) && (c.Holder != Ours || outOfSync) {
		actions = append(actions, t.removeAbandoned(v)...)
	}
	return actions
}

// removeAbandoned removes a job whose copy somebody has removed, or that is out of sync with its copy: nobody over there would tell any more
// that it has stopped. Its object stays until its pods have ended, so that a read that finds nothing tells that.
func (t decision) removeAbandoned(v ClusterView) []Action {
	actions := t.remove(v, max(t.state.Epoch, v.newestEpoch()+1))
	for i := range actions {
		actions[i].Foreground = true
	}
	return actions
}

// clearActiveWhenSilent sees to it that the hub's job does not show active pods for ever: once no debtor is left that could still
// report on them, their counts are cleared. A reachable debtor could until a live read shows no job there, any other
// one until its grace is over.
func (t decision) clearActiveWhenSilent(plan *Plan) {
	silent := true
	for _, d := range t.state.Debts {
		v := t.view(d.Cluster)
		live := t.liveAnswer(v)
		switch {
		case !v.connected():
			if !t.graceOver(v) {
				silent = false
				end, _ := t.graceEnd(v)
				plan.WakeAt = earliest(plan.WakeAt, end)
			}
		case v.Job.Holder == Ours || live != nil && live.Job.Holder == Ours:
			silent = false
		case live != nil && live.Job.isHidden():
			over, _ := t.stoppedOn(v) // it tells nobody, its copy does
			silent = silent && over
		case live == nil:
			silent = false
			plan.Actions = append(plan.Actions, Action{Verb: LiveRead, Cluster: v.Name, Epoch: t.state.Epoch})
		}
	}
	if silent {
		plan.Actions = append(plan.Actions, Action{Verb: DrainStatus, Epoch: t.state.Epoch})
	}
}

// removeStale removes what earlier epochs and owners left on a cluster.
func (t decision) removeStale(v ClusterView) []Action { return t.remove(v, t.state.Epoch) }

// removeAll removes everything of ours that is seen there, of whatever epoch.
func (t decision) removeAll(v ClusterView) []Action {
	newest := max(t.state.Epoch, t.newestEpoch())
	if newest >= maxPlausibleEpoch {
		newest = MaxEpoch
	}
	return t.remove(v, newest+1)
}

// remove is nothing if all that is left is a job on its way out already. A copy is told again: it may wait for us to
// strip its finalizer.
func (t decision) remove(v ClusterView, below int64) []Action {
	if v.Copy.Holder == Absent && v.Job.Deleting {
		return nil
	}
	return []Action{{Verb: Retract, Cluster: v.Name, Epoch: below, SpareFinished: t.mustSpareFinished(v), Foreground: t.forbidsOverlap()}}
}
