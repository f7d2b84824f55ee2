package dispatch

// gone handles a Workload that is being deleted, or was. One that is kept for its job goes in an orderly way; of any other, what
// is seen is removed.
func (t decision) gone() Plan {
	if t.observed.Local.KeptForJob && !t.observed.Local.Finished {
		return t.release()
	}
	return t.cleanUp(Deleted)
}

// cleanUp removes whatever is seen of a Workload that is deleted or has finished (contract: multikueue.md 4 P6, 4 case 2).
// Clusters out of reach are cleaned when they return: their events, or the orphan sweep, ask again.
func (t decision) cleanUp(reason Reason) Plan {
	return t.planner.act(reason, "removing what is left on the workers", t.actions.removeEverywhere(false)...)
}

// release handles a Workload that is being deleted and whose job stays. The job gets another Workload, which knows nothing of
// this one: so what may still run somewhere has to be known to be over first, by a live read or as the policy says.
func (t decision) release() Plan {
	if t.state.Bound != "" && !t.state.Retreating() || t.record.isLost() {
		return t.planner.store(t.state.retreat(t.record.nextEpoch()), Deleted, "the workload is being deleted")
	}
	if next, ok := t.debts.settleForGood(); ok && !t.observed.Local.Job.Active {
		return t.planner.store(next, Settled, "nothing of the deleted workload runs there any more")
	}
	plan := t.planner.act(Deleted, "removing what is left on the workers", t.actions.deletionActions()...)
	if t.observed.Local.Job.Active {
		t.clearActiveWhenSilent(&plan)
	}
	plan.WakeAt = earliest(plan.WakeAt, t.debts.nextRelease())
	t.explainer.reportWhyKept(&plan)
	return t.unbind(plan)
}
