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
	next := *t.state
	if next.Bound != "" && !next.Retreating() {
		next = next.retreat(t.record.nextEpoch())
	}
	plan := t.planner.storeCheck(next, Rejected, r.Reason, t.planner.withPrevious(message))
	plan.Message = message
	return plan
}

// evicted handles an eviction by the hub itself: preemption, deactivation, a stopped queue (contract: multikueue.md 4
// case 6b). The retreat is recorded before the worker is told, whatever the core does meanwhile.
func (t decision) evicted() Plan {
	if t.state.Bound != "" && !t.state.Retreating() || len(t.state.Nominated) > 0 || t.record.isRetreatOutdated() {
		return t.planner.store(t.state.retreat(t.record.nextEpoch()), LocalEvicted, "the hub evicts the workload")
	}
	return t.unbind(t.drainJob())
}

// unbind takes the binding back, for which the hub waits, once the cluster has stopped the job or it cannot be known when it
// will. The debt stays until the next run. Until then it returns the plan, with what is missing for that.
func (t decision) unbind(plan Plan) Plan {
	l := t.observed.Local
	if !l.Quota.AwaitsUnbinding || l.Job.Active || t.state.Bound == "" {
		return plan
	}
	v := t.observed.view(t.state.Bound)
	over, seen := t.debts.stoppedOn(v)
	switch {
	case over:
		next := *t.state
		next.Bound = ""
		return t.planner.store(next, LocalEvicted, v.Name+" has stopped the evicted workload")
	case !v.connected():
		end, _ := t.lost.graceEnd(v)
		plan.WakeAt = earliest(plan.WakeAt, end)
	case !seen && !plan.Stores && t.state.liveAnswer(v) == nil:
		plan.Actions = append(plan.Actions, Action{Verb: LiveRead, Cluster: v.Name, Epoch: t.state.Epoch})
	}
	return plan
}

// awaitEviction waits for the hub to evict after Retry or Rejected. If the retreat is recorded but the check does not say
// so, or the other way round, the missing half is written.
func (t decision) awaitEviction() Plan {
	l := t.observed.Local
	switch {
	case l.Check.State == Retry && (t.state.Bound != "" && !t.state.Retreating() || t.record.isRetreatOutdated()):
		return t.planner.store(t.state.retreat(t.record.nextEpoch()), RecordLost, "the check says Retry but no retreat is recorded")
	case l.Check.State == Pending || l.Check.State == Ready:
		return t.planner.storeCheck(*t.state, Retry, RemoteGone, msgGone)
	case t.state.Bound != "" && !t.state.Retreating():
		return t.planner.act(Draining, "waiting for the core to evict the rejected workload")
	}
	return t.drainJob()
}

// drainJob lets the job on the given-up cluster stop, and its last status reach the hub, because the core releases the
// quota only when the hub's job shows no active pods (contract: multikueue.md 4 case 4a). Everything else of the earlier
// epochs is removed at once.
func (t decision) drainJob() Plan {
	plan := t.planner.act(Draining, "waiting for the core to release the quota")
	for _, v := range t.observed.Clusters {
		if v.Name != t.state.Bound && v.connected() && t.state.hasStale(v) {
			plan.Actions = append(plan.Actions, t.actions.removeStale(v)...)
		}
	}
	if v := t.observed.view(t.state.Bound); t.state.Bound != "" && v.connected() {
		plan.Actions = append(plan.Actions, t.actions.stopJob(v)...)
	}
	if t.observed.Local.Job.Active {
		t.clearActiveWhenSilent(&plan)
	}
	return plan
}

// mayReport reports whether a job may tell what has become of the Workload's pods. One that has taken its name, and that the copy there knows
// nothing of, tells nothing; nor can the Workload's own be beside it.
func (s State) mayReport(cluster string, c Copy, j Job) bool {
	return j.Holder == Ours && (c.Holder != Ours || s.IsWorkloadJob(cluster, c, j))
}

// clearActiveWhenSilent clears what the hub's job says of active pods once no debtor is left that could still report on
// them. The job would show them for ever otherwise, and the core would wait. A reachable debtor could until a live read shows no
// job there, or until its copy tells that the job has stopped, if the status of its kind does not; any other one until its grace is over.
func (t decision) clearActiveWhenSilent(plan *Plan) {
	silent := true
	for _, d := range t.state.Debts {
		v := t.observed.view(d.Cluster)
		live := t.state.liveAnswer(v)
		switch {
		case !v.connected():
			if !t.lost.graceOver(v) {
				silent = false
				end, _ := t.lost.graceEnd(v)
				plan.WakeAt = earliest(plan.WakeAt, end)
			}
		case t.state.mayReport(v.Name, v.Copy, v.Job) || live != nil && t.state.mayReport(v.Name, live.Copy, live.Job):
			silent = silent && t.debts.toldByQuota(v) && !v.Job.StatusBehind
		case live != nil && live.Job.isHidden():
			over, _ := t.debts.stoppedOn(v) // such a job reports nothing, its copy does
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
