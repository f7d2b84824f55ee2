package dispatch

// running handles a Workload whose job is seen on the bound cluster: its status is brought back (contract: multikueue.md 4 case
// 5). The losers' copies are removed first.
func (t decision) running() Plan {
	v := t.observed.view(t.state.Bound)
	next, settled := t.debts.settle(*t.state)
	switch {
	case settled:
		return t.planner.store(next, Settled, "a cluster owes nothing any more")
	case t.state.recordLacksStop(v):
		return t.recordStop()
	case v.Operator.Draining && t.nominator.canMove(v.Name):
		return t.leaveDrained(v)
	case t.checkIsBehind(v):
		return t.reportReady(v)
	case !t.state.IsWorkloadJob(v.Name, v.Copy, v.Job):
		return t.confirmLive(v, t.actions.boundActions(v))
	}
	actions := t.actions.boundActions(v)
	if v.Job.StatusBehind {
		actions = append(actions, Action{Verb: CopyStatus, Cluster: v.Name, Epoch: t.state.Epoch})
	}
	if v.Job.SpecBehind && t.policy.SyncSpec {
		actions = append(actions, Action{Verb: SyncSpec, Cluster: v.Name, Epoch: t.state.Epoch})
	}
	if v.Job.SizeBehind {
		actions = append(actions, Action{Verb: ResizeJob, Cluster: v.Name, Epoch: t.state.Epoch})
	}
	plan := t.planner.act(Running, "running on "+v.Name, actions...)
	if v.Operator.Draining {
		t.explainer.reportStays(&plan, v)
	}
	return plan
}
