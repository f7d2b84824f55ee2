package dispatch

// Phase is how far a Workload has come, by the hub's record of it and by what is seen of the clusters. One function of this
// package decides what happens in each.
type Phase string

// The phases.
const (
	// PhaseQueued: the Workload waits for the hub's quota.
	PhaseQueued Phase = "Queued"
	// PhaseOpen: it has the hub's quota and is offered to clusters; none is bound.
	PhaseOpen Phase = "Open"
	// PhaseBound: a cluster is bound, and does not show the job that was, or is to be, created there.
	PhaseBound Phase = "Bound"
	// PhaseRunning: the bound cluster shows the job, and a copy that allows it to run.
	PhaseRunning Phase = "Running"
	// PhaseRetreating: the reservation is being given up, by the hub or by us, until the hub releases the quota.
	PhaseRetreating Phase = "Retreating"
	// PhaseFinished: a run has ended. That is recorded on the hub, and then the workers are cleaned up.
	PhaseFinished Phase = "Finished"
	// PhaseTakingOver: it takes over from another slice of an elastic job, on the cluster where that runs, which has yet to admit it.
	PhaseTakingOver Phase = "TakingOver"
	// PhasePassive: another slice of the elastic job has the job.
	PhasePassive Phase = "Passive"
	// PhaseGone: the Workload is being deleted, or was.
	PhaseGone Phase = "Gone"
)

// phase is total: every State and Observation has one phase. The order of its cases is that of the contract (multikueue.md 4),
// with one change: a run that has ended is a fact even when the hub has just lost its quota or evicts.
func (t decision) phase() Phase {
	l := t.observed.Local
	switch {
	case l.Slice.Passive:
		return PhasePassive
	case l.Deleted && (l.Finished || !l.KeptForJob):
		return PhaseGone
	case l.Finished || t.results.hasEndedRun():
		return PhaseFinished
	case l.Deleted:
		return PhaseGone
	case !l.Quota.Reserved:
		return PhaseQueued
	case t.isRetreating():
		return PhaseRetreating
	case t.isTakingOver():
		return PhaseTakingOver
	case t.state.Bound == "":
		return PhaseOpen
	case t.state.isRunning(t.observed.view(t.state.Bound)):
		return PhaseRunning
	default:
		return PhaseBound
	}
}

// isRetreating reports whether the present reservation cannot bring a run any more.
func (t decision) isRetreating() bool {
	l := t.observed.Local
	return l.Job.Refusal.Reason != "" || l.Quota.Evicted || l.Check.State == Retry || l.Check.State == Rejected || t.state.Retreating()
}

// inheritOr stores what the slice before has recorded, if that has not been done, and decides otherwise.
func (t decision) inheritOr(phase Phase) Plan {
	l := t.observed.Local
	next := t.state.inherit(l, t.record.earlierEvictions())
	if next.Epoch > t.state.Epoch && t.record.earlierEvictions() > 0 { // epochs of its own may have been used, too
		next.Epoch = max(next.Epoch, t.record.nextEpoch())
	}
	if !next.Equal(*t.state) && !l.Slice.Passive && (!l.Deleted || l.KeptForJob) && !l.Finished {
		return t.planner.store(next, TakenOver, "taking over from the slice before")
	}
	return t.decide(phase)
}

// decide calls the function of the phase.
func (t decision) decide(phase Phase) Plan {
	switch phase {
	case PhaseQueued:
		return t.queued()
	case PhaseOpen:
		return t.open()
	case PhaseBound:
		return t.bound()
	case PhaseRunning:
		return t.running()
	case PhaseTakingOver:
		return t.takingOver()
	case PhasePassive:
		return t.passive()
	case PhaseRetreating:
		return t.retreating()
	case PhaseFinished:
		return t.finished()
	case PhaseGone:
		return t.gone()
	}
	panic("dispatch: unknown phase " + string(phase))
}

// withoutEntry is the plan of a Workload that has no entry for the check: nothing is stored that the entry would have to say. A
// run goes on, and cannot be given up, since the hub would not learn that it has to evict.
func (t decision) withoutEntry(plan Plan) Plan {
	if t.observed.Local.Check.State != "" || plan.CheckResult == t.planner.presentResult() {
		return plan
	}
	instead := t.planner.act(plan.Reason, plan.Message)
	instead.WakeAt = plan.WakeAt
	if !plan.Next.Equal(*t.state) {
		instead.Actions = t.actions.cleanOthers()
	}
	return instead
}

// giveUp is the Plan of a retreat: the epoch is raised, the debt recorded and the check set to Retry in one write.
func (t decision) giveUp(reason Reason, message string, event *Event) Plan {
	plan := t.planner.storeCheck(t.state.retreat(t.record.nextEpoch()), Retry, reason, message)
	plan.Event = event
	return plan
}
