package dispatch

// running handles a Workload whose job is seen on the bound cluster: its status is brought back (contract: multikueue.md 4 case 5).
// The losers' copies are removed first.
func (t decision) running() Plan {
	v := t.view(t.state.Bound)
	next, settled := t.settleDebts(t.state)
	switch {
	case settled:
		return t.store(next, Settled, "a cluster owes nothing any more")
	case t.recordLacksStop(v):
		return t.recordStop()
	case v.Operator.Draining && t.canMove(v.Name):
		return t.leaveDrained(v)
	case t.checkIsBehind(v):
		return t.reportReady(v)
	case !t.isWorkloadJob(v.Name, v.Copy, v.Job):
		return t.confirmLive(v, t.boundActions(v))
	}
	actions := t.boundActions(v)
	if v.Job.StatusBehind {
		actions = append(actions, Action{Verb: CopyStatus, Cluster: v.Name, Epoch: t.state.Epoch})
	}
	plan := t.act(Running, "running on "+v.Name, actions...)
	if v.Operator.Draining {
		t.reportStays(&plan, v)
	}
	return plan
}
