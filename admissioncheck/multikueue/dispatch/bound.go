package dispatch

// bound handles a Workload whose winner is chosen (contract: multikueue.md 4 cases 3a, 4b, 5 and 6).
func (t turn) bound() Plan {
	if next, settled := t.settle(t.s); settled {
		return t.move(next, Settled, "a cluster owes nothing any more")
	}
	v := t.view(t.s.Bound)
	if !v.connected() {
		return t.lost(v)
	}
	c := v.Copy
	switch {
	case v.newest() > t.s.Epoch:
		return t.restore(v.newest())
	case !t.s.currentCopy(c):
		return t.gone(v)
	case !v.InConfig:
		return t.unlisted(v)
	case c.Finished != nil:
		return t.outOfSync(v)
	case c.Evicted:
		message := t.msgEvicted(v.Name)
		return t.giveUp(RemoteEvicted, message, &Event{Message: message})
	case c.Deleting:
		return t.stay(Looking, "the copy on "+v.Name+" is being deleted", t.dismiss()...)
	case !c.Admitted || !c.SpecMatches && !c.PriorityOnly:
		return t.giveUp(RemoteGone, msgGone, nil)
	}
	return t.run(v)
}

// restore takes the epoch from the bound cluster after the record of it was lost: what is there was made by us, in the
// epoch in which that cluster was bound. What was owed then is not known, so everybody else is suspected.
func (t turn) restore(epoch int64) Plan {
	next := t.s
	next.Epoch = epoch
	next.Reservation = t.o.Local.Reservation
	for _, v := range t.o.Clusters {
		if v.Name != next.Bound {
			next = next.owing(v.Name, epoch-1)
		}
	}
	return t.move(next, RecordLost, "the record of the epoch was lost; taking it from the bound cluster")
}

// lost keeps the Workload on a bound cluster that cannot be talked to, until its grace is over (case 6a).
func (t turn) lost(v ClusterView) Plan {
	end, runs := t.deadline(v)
	switch {
	case v.Link.State == Unreachable && !runs:
		return t.stay(CutOffHub, "most clusters vanished together; the hub waits for them", t.dismiss()...)
	case !t.graceOver(v):
		plan := t.stay(InGrace, v.Name+" cannot be reached", t.dismiss()...)
		plan.WakeAt = end
		return plan
	case t.p.OnWorkerLost == Hold:
		return t.stay(Held, v.Name+" cannot be reached; the policy is to wait for it", t.dismiss()...)
	}
	return t.giveUp(RemoteLost, msgLost, nil)
}

// outOfSync handles a bound copy that its worker has declared unequal to its job (case 3a); every other way to finish
// was handled before.
func (t turn) outOfSync(v ClusterView) Plan {
	message := t.previously(`Remote workload on worker cluster "` + v.Name + `" is out of sync with its user job, resetting for re-dispatch`)
	return t.giveUp(RemoteOutOfSync, message, &Event{Warning: true, Message: message})
}

// unlisted gives up a bound cluster that was taken out of the MultiKueueConfig (case 6a, "otherwise"), once a live read
// has shown that there is still something to give up: a run that has ended there counts.
func (t turn) unlisted(v ClusterView) Plan {
	switch live := t.answer(v); {
	case live == nil:
		return t.look(v, t.dismiss())
	case !t.s.currentCopy(live.Copy):
		return t.gone(v)
	case !t.s.currentJob(live.Job) && (live.Copy.Adopted || t.o.Local.Check == Ready):
		return t.vanished(v, t.dismiss())
	}
	return t.giveUp(RemoteGone, msgGone, nil)
}

// run brings the job to the bound cluster and its status back. The losers' copies are removed first.
func (t turn) run(v ClusterView) Plan {
	if t.s.currentJob(v.Job) && t.o.Local.Check != Ready {
		message := `The workload was admitted on "` + v.Name + `"`
		plan := t.move(t.s, Running, message)
		plan.Verdict = Verdict{Check: Ready, Message: message}
		plan.Event = &Event{Message: message}
		return plan
	}
	actions := t.dismiss()
	if v.Copy.PriorityOnly {
		actions = append(actions, Action{Verb: UpdateOffer, Cluster: v.Name, Epoch: t.s.Epoch})
	}
	switch {
	case t.s.currentJob(v.Job):
		if v.Job.Behind {
			actions = append(actions, Action{Verb: CopyStatus, Cluster: v.Name, Epoch: t.s.Epoch})
		}
		return t.stay(Running, "running on "+v.Name, actions...)
	case t.o.Local.Check == Ready:
		return t.vanished(v, actions)
	}
	return t.start(v, actions)
}

// start creates the job, once nothing of our name is in its way and no debt forbids it.
func (t turn) start(v ClusterView, actions []Action) Plan {
	if v.Job.Holder == Foreign {
		return t.giveUp(NameCollision, t.msgCollision(v.Name), &Event{Warning: true, Message: t.msgCollision(v.Name)})
	}
	owing, wake := t.blockers(t.s)
	if len(owing) > 0 {
		plan := t.stay(Owed, msgOwed(owing), actions...)
		plan.WakeAt = wake
		return plan
	}
	if v.Copy.Adopted && v.Job.Holder == Absent {
		return t.vanished(v, actions)
	}
	if v.Job.Holder == Absent {
		actions = append(actions, Action{Verb: CreateJob, Cluster: v.Name, Epoch: t.s.Epoch})
	}
	return t.stay(Starting, "creating the job on "+v.Name, actions...)
}

// dismiss removes what other clusters hold, and what earlier epochs left on the bound one, and reads the debtors that
// show nothing.
func (t turn) dismiss() []Action {
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
