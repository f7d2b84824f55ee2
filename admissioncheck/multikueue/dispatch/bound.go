package dispatch

// bound handles a Workload whose winner is chosen (contract: multikueue.md 4 cases 3a, 4b, 5 and 6). As long as the cache
// shows the copy as it should be, it is believed; before a run is given up, the cluster itself is asked.
func (t turn) bound() Plan {
	if next, settled := t.settle(t.s); settled {
		return t.move(next, Settled, "a cluster owes nothing any more")
	}
	v := t.view(t.s.Bound)
	switch {
	case !v.connected():
		return t.lost(v)
	case v.newest() > t.s.Epoch:
		return t.restore(v.newest())
	case v.InConfig && t.healthy(v.Copy) && v.Copy.Stops && !t.s.Stops:
		next := t.s
		next.Stops = true
		return t.move(next, RecordLost, "the record was lost of how the job stops; taking it from the bound cluster")
	case v.InConfig && t.healthy(v.Copy) && v.Draining && t.elsewhere(v.Name):
		return t.drainAway(v)
	case v.InConfig && t.healthy(v.Copy) && v.Draining:
		return t.stays(v)
	case v.InConfig && t.healthy(v.Copy):
		return t.run(v)
	}
	return t.look(v, t.dismiss())
}

// healthy reports whether a copy allows its job to run.
func (t turn) healthy(c Copy) bool {
	return t.s.currentCopy(c) && c.Admitted && !c.Evicted && !c.Deleting && c.Finished == nil && (c.SpecMatches || c.PriorityOnly)
}

// drainAway gives up a cluster that is being drained. Nobody forces us to, so the run may not have ended unseen: the
// cluster is asked first.
func (t turn) drainAway(v ClusterView) Plan {
	live := t.answer(v)
	switch {
	case live == nil || !t.fresh(*live):
		return t.stay(Looking, "reading "+v.Name+" before its job is moved",
			append(t.dismiss(), Action{Verb: LiveRead, Cluster: v.Name, Epoch: t.s.Epoch})...)
	case !t.healthy(live.Copy), live.Copy.Adopted && !t.runs(v, *live):
		return t.look(v, t.dismiss())
	}
	message := t.msgDrained(v.Name)
	return t.giveUp(Drained, message, &Event{Message: message})
}

// restore takes the epoch from the bound cluster after the record of it was lost: what is there was made by us, in the
// epoch in which that cluster was bound; or from others, if nothing is there any more. What was owed then is not known, so everybody
// else is suspected.
func (t turn) restore(epoch int64) Plan {
	next := t.s
	next.Epoch = epoch
	next.Reservation = t.o.Local.Reservation
	next.Stops = t.view(next.Bound).Copy.Stops
	return t.move(next, RecordLost, "the record of the epoch was lost; taking it from what is seen")
}

// lost keeps the Workload on a bound cluster that cannot be talked to, as long as the policy says (case 6a).
func (t turn) lost(v ClusterView) Plan {
	h := t.hold(v, t.s.Stops)
	if h.over {
		return t.giveUp(h.because, msgLost, nil)
	}
	plan := t.stay(h.because, v.Name+" cannot be reached; "+t.prospect(h, t.s.Stops && v.Fenced), t.dismiss()...)
	plan.WakeAt = h.until
	t.announce(&plan, v)
	return plan
}

// run brings the job to the bound cluster and its status back. The losers' copies are removed first.
func (t turn) run(v ClusterView) Plan {
	if l := t.o.Local; l.Check != Ready && l.Check != "" || t.announced() || t.stayed(v) || t.s.currentJob(v.Job) && t.complained(v.Name) {
		plan := t.move(t.s, Running, "running on "+v.Name)
		t.ready(&plan, v.Name)
		return plan
	}
	actions := t.dismiss()
	if v.Copy.PriorityOnly {
		actions = append(actions, Action{Verb: UpdateOffer, Cluster: v.Name, Epoch: t.s.Epoch})
	}
	switch {
	case !t.s.currentJob(v.Job):
		return t.start(v, actions)
	case !t.believed(v.Name, v.Copy, v.Job):
		return t.look(v, actions)
	}
	if v.Job.Behind {
		actions = append(actions, Action{Verb: CopyStatus, Cluster: v.Name, Epoch: t.s.Epoch})
	}
	return t.stay(Running, "running on "+v.Name, actions...)
}

// start creates the job, once nothing of our name is in its way and no debt forbids it.
func (t turn) start(v ClusterView, actions []Action) Plan {
	if v.Job.Holder == Foreign { // ours may have ended, and another has taken its name
		return t.look(v, actions)
	}
	if t.behind() {
		return t.stay(Looking, "a cluster shows more than the record of the workload knows of", actions...)
	}
	if next := t.inherit(t.s); !next.Equal(t.s) {
		return t.move(next, Owed, "a cluster was lost where a predecessor's job may run")
	}
	owing, wake := t.blockers(t.s)
	if len(owing) > 0 {
		plan := t.stay(Owed, t.msgOwed(owing), actions...)
		plan.WakeAt = wake
		return plan
	}
	live := t.answer(v)
	relabelled := live != nil && live.Job.Holder == Relabelled
	if v.Job.Holder == Absent && (v.Copy.Adopted || relabelled) {
		return t.look(v, actions)
	}
	if v.Job.Holder == Absent {
		actions = append(actions, Action{Verb: CreateJob, Cluster: v.Name, Epoch: t.s.Epoch, Stops: t.s.Stops})
	}
	plan := t.stay(Starting, "creating the job on "+v.Name, actions...)
	t.complain(&plan, v)
	return plan
}

// dismiss removes what other clusters hold, and what earlier epochs left on the bound one, and reads the debtors that
// show nothing. A stamp above the epoch says that the record is behind what has happened, or lost: nothing is removed by it.
func (t turn) dismiss() []Action {
	if t.behind() {
		return nil
	}
	var actions []Action
	for _, v := range t.o.Clusters {
		switch {
		case !v.connected():
		case v.Name == t.s.Bound:
			if t.stale(v) {
				actions = append(actions, t.retract(v)...)
			}
		case v.removable():
			actions = append(actions, t.withdraw(v)...)
		case t.s.owedBy(v.Name):
			actions = append(actions, t.collect(v)...)
		}
	}
	return actions
}

// collect works on one reachable debt: remove what is seen, else look.
func (t turn) collect(v ClusterView) []Action {
	switch {
	case t.stale(v):
		return t.retract(v)
	case t.answer(v) == nil:
		return []Action{{Verb: LiveRead, Cluster: v.Name, Epoch: t.s.Epoch}}
	}
	return nil
}
