package dispatch

// evicted handles an eviction by the hub itself: preemption, deactivation, a stopped queue (contract: multikueue.md 4
// case 6b). The retreat is recorded before the worker is told, whatever the core does meanwhile.
func (t turn) evicted() Plan {
	if t.s.Bound != "" && !t.s.Retreating() || len(t.s.Nominated) > 0 || t.outdated() {
		return t.move(t.s.retreat(t.nextEpoch()), LocalEvicted, "the hub evicts the workload")
	}
	return t.unbind(t.drain())
}

// unbind takes the binding back, for which the hub waits, once the cluster has stopped the job or nobody can say when it will.
// The debt stays until the next run. Until then it returns the plan, with what is missing for that.
func (t turn) unbind(plan Plan) Plan {
	l := t.o.Local
	if !l.Awaited || l.JobActive || t.s.Bound == "" {
		return plan
	}
	v := t.view(t.s.Bound)
	over, seen := t.stoppedOn(v)
	switch {
	case over:
		next := t.s
		next.Bound = ""
		return t.move(next, LocalEvicted, v.Name+" has stopped the evicted workload")
	case !v.connected():
		end, _ := t.deadline(v)
		plan.WakeAt = soonest(plan.WakeAt, end)
	case !seen && t.answer(v) == nil:
		plan.Actions = append(plan.Actions, Action{Verb: LiveRead, Cluster: v.Name, Epoch: t.s.Epoch})
	}
	return plan
}

// stoppedOn reports whether a given-up cluster has no pods of the Workload any more, as far as anybody will ever say, and whether
// its cache shows enough to wait for that. A copy that has lost its quota has lost its pods before; one that is out of sync is over
// while the pods still end.
func (t turn) stoppedOn(v ClusterView) (over, seen bool) {
	c, live := v.Copy, t.answer(v)
	switch {
	case !v.connected():
		return t.graceOver(v), true
	case live != nil && !touchable(live.Job.Holder) && !live.Job.stray() && (!touchable(live.Copy.Holder) || !live.Copy.Admitted || live.Copy.Evicted):
		return true, true
	case c.Holder == Ours:
		ended := !c.Quota || c.Finished != nil && c.Finished.Reason != OutOfSync
		return ended || c.Evicted && !c.Adopted && v.Job.Holder == Absent, !c.Adopted || v.Job.Holder != Absent
	}
	return false, touchable(v.Job.Holder)
}

// retreating waits for the core to evict after Retry or Rejected. If the retreat is recorded but the check does not say
// so, or the other way round, the missing half is written.
func (t turn) retreating() Plan {
	l := t.o.Local
	switch {
	case l.Check == Retry && (t.s.Bound != "" && !t.s.Retreating() || t.outdated()):
		return t.move(t.s.retreat(t.nextEpoch()), RecordLost, "the check says Retry but no retreat is recorded")
	case l.Check == Pending || l.Check == Ready:
		plan := t.move(t.s, RemoteGone, msgGone)
		plan.Verdict = Verdict{Check: Retry, Message: msgGone}
		return plan
	case t.s.Bound != "" && !t.s.Retreating():
		return t.stay(Draining, "waiting for the core to evict the rejected workload")
	}
	return t.drain()
}

// drain lets the job on the given-up cluster stop, and its last status reach the hub, because the core releases the
// quota only when the hub's job shows no active pods (contract: multikueue.md 4 case 4a). Everything else of the earlier
// epochs is removed at once.
func (t turn) drain() Plan {
	plan := t.stay(Draining, "waiting for the core to release the quota")
	for _, v := range t.o.Clusters {
		if v.Name != t.s.Bound && v.connected() && t.stale(v) {
			plan.Actions = append(plan.Actions, t.retract(v)...)
		}
	}
	if v := t.view(t.s.Bound); t.s.Bound != "" && v.connected() {
		plan.Actions = append(plan.Actions, t.stop(v)...)
	}
	if t.o.Local.JobActive {
		t.awaitIdle(&plan)
	}
	return plan
}

// stop tells the given-up cluster that the hub evicts, and copies the status of its job while it stops.
func (t turn) stop(v ClusterView) []Action {
	var actions []Action
	c := v.Copy
	running := c.Holder == Ours && (c.Admitted || c.Quota) && !c.Evicted && !c.Deactivating && !c.Deleting && c.Finished == nil
	if t.o.Local.Evicted && running {
		actions = append(actions, Action{Verb: EvictRemote, Cluster: v.Name, Epoch: t.s.Epoch,
			Message: "Evicted on manager: " + t.o.Local.EvictedMessage})
	}
	if v.Job.Behind && t.mayShow(v) {
		actions = append(actions, Action{Verb: CopyStatus, Cluster: v.Name, Epoch: t.s.Epoch})
	}
	outOfSync := c.Finished != nil && c.Finished.Reason == OutOfSync
	live := t.answer(v)
	hidden := live != nil && live.Job.Holder == Relabelled
	if t.o.Local.Awaited && (v.removable() || hidden) && (c.Holder != Ours || outOfSync) {
		actions = append(actions, t.abandon(v)...)
	}
	return actions
}

// abandon removes a job whose copy somebody has removed, or that is out of sync with its copy: nobody over there would tell any more
// that it has stopped. Its object stays until its pods have ended, so that a read that finds nothing tells that.
func (t turn) abandon(v ClusterView) []Action {
	actions := t.remove(v, max(t.s.Epoch, v.newest()+1))
	for i := range actions {
		actions[i].Foreground = true
	}
	return actions
}

// awaitIdle sees to it that the hub's job does not show active pods for ever: once no debtor is left that could still
// report on them, their counts are cleared. A reachable debtor could until a live read shows no job there, any other
// one until its grace is over.
func (t turn) awaitIdle(plan *Plan) {
	silent := true
	for _, d := range t.s.Debts {
		v := t.view(d.Cluster)
		live := t.answer(v)
		switch {
		case !v.connected():
			if !t.graceOver(v) {
				silent = false
				end, _ := t.deadline(v)
				plan.WakeAt = soonest(plan.WakeAt, end)
			}
		case v.Job.Holder == Ours || live != nil && live.Job.Holder == Ours:
			silent = false
		case live != nil && live.Job.unseen():
			over, _ := t.stoppedOn(v) // it tells nobody, its copy does
			silent = silent && over
		case live == nil:
			silent = false
			plan.Actions = append(plan.Actions, Action{Verb: LiveRead, Cluster: v.Name, Epoch: t.s.Epoch})
		}
	}
	if silent {
		plan.Actions = append(plan.Actions, Action{Verb: DrainStatus, Epoch: t.s.Epoch})
	}
}

// retract removes what earlier epochs and owners left on a cluster.
func (t turn) retract(v ClusterView) []Action { return t.remove(v, t.s.Epoch) }

// withdraw removes everything of ours that is seen there, of whatever epoch.
func (t turn) withdraw(v ClusterView) []Action {
	newest := max(t.s.Epoch, t.newest())
	if newest >= farEpoch {
		newest = MaxEpoch
	}
	return t.remove(v, newest+1)
}

// remove is nothing if all that is left is a job on its way out already. A copy is told again: it may wait for us to
// strip its finalizer.
func (t turn) remove(v ClusterView, below int64) []Action {
	if v.Copy.Holder == Absent && v.Job.Deleting {
		return nil
	}
	return []Action{{Verb: Retract, Cluster: v.Name, Epoch: below, Spare: t.spares(v), Foreground: t.strict()}}
}
