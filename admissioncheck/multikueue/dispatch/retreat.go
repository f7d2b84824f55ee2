package dispatch

// evicted handles an eviction by the hub itself: preemption, deactivation, a stopped queue (contract: multikueue.md 4
// case 6b). The retreat is recorded before the worker is told, whatever the core does meanwhile.
func (t turn) evicted() Plan {
	if t.s.Bound != "" && !t.s.Retreating() || len(t.s.Nominated) > 0 {
		return t.move(t.s.retreat(), LocalEvicted, "the hub evicts the workload")
	}
	return t.drain()
}

// retreating waits for the core to evict after Retry or Rejected. If the retreat is recorded but the check does not say
// so, or the other way round, the missing half is written.
func (t turn) retreating() Plan {
	l := t.o.Local
	switch {
	case l.Check == Retry && t.s.Bound != "" && !t.s.Retreating():
		return t.move(t.s.retreat(), RecordLost, "the check says Retry but no retreat is recorded")
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
			plan.Actions = append(plan.Actions, t.retract(v))
		}
	}
	if t.s.Bound == "" {
		return plan
	}
	v := t.view(t.s.Bound)
	if v.connected() {
		plan.Actions = append(plan.Actions, t.drainReachable(v)...)
		return plan
	}
	if !t.o.Local.JobActive {
		return plan
	}
	if t.graceOver(v) {
		plan.Actions = append(plan.Actions, Action{Verb: DrainStatus, Cluster: v.Name, Epoch: t.s.Epoch})
	} else {
		plan.WakeAt, _ = t.deadline(v)
	}
	return plan
}

func (t turn) drainReachable(v ClusterView) []Action {
	var actions []Action
	c, l := v.Copy, t.o.Local
	running := c.Holder == Ours && c.Admitted && !c.Evicted && !c.Deactivating && !c.Deleting && c.Finished == nil
	if l.Evicted && running {
		actions = append(actions, Action{Verb: EvictRemote, Cluster: v.Name, Epoch: t.s.Epoch,
			Message: "Evicted on manager: " + l.EvictedMessage})
	}
	switch live := t.answer(v); {
	case v.Job.Holder == Ours && v.Job.Behind:
		actions = append(actions, Action{Verb: CopyStatus, Cluster: v.Name, Epoch: t.s.Epoch})
	case v.Job.Holder == Ours || !l.JobActive:
	case live == nil:
		actions = append(actions, Action{Verb: LiveRead, Cluster: v.Name, Epoch: t.s.Epoch})
	case live.Job.Holder != Ours:
		actions = append(actions, Action{Verb: DrainStatus, Cluster: v.Name, Epoch: t.s.Epoch})
	}
	return actions
}

// retract removes what earlier epochs and owners left on a cluster. While nothing is bound, the result of a run that has
// ended unseen still counts, so it is spared.
func (t turn) retract(v ClusterView) Action {
	return Action{Verb: Retract, Cluster: v.Name, Epoch: t.s.Epoch, Spare: !t.held()}
}

// withdraw removes the present epoch's objects too.
func (t turn) withdraw(v ClusterView) Action {
	return Action{Verb: Retract, Cluster: v.Name, Epoch: t.s.Epoch + 1, Spare: !t.held()}
}

// held reports whether a cluster is bound and not given up: only its run counts.
func (t turn) held() bool { return t.s.Bound != "" && !t.s.Retreating() }
