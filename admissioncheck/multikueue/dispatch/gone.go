package dispatch

// gone handles a bound copy that the cache does not show. That is no evidence: the cluster is read first. If the copy is
// gone but the job is there, its run has lost its permission and nothing else has happened (case 6a). If both are gone,
// the run may have finished and been cleaned up: it is dispatched again only if somebody saw that it had not.
func (t turn) gone(v ClusterView) Plan {
	live := t.answer(v)
	switch {
	case live == nil:
		return t.look(v, t.dismiss())
	case t.s.currentCopy(live.Copy):
		return t.stay(Looking, "the cache of "+v.Name+" is behind", t.dismiss()...)
	case t.s.currentJob(live.Job), v.EndedUnfinished:
		return t.giveUp(RemoteGone, msgGone, nil)
	}
	return t.resultUnknown(v, t.dismiss())
}

// vanished is gone for a job that was there once, while its copy is still admitted. The job is not made again within an
// epoch: either the worker removes the copy too, or it declares it finished.
func (t turn) vanished(v ClusterView, actions []Action) Plan {
	live := t.answer(v)
	switch {
	case live == nil:
		return t.look(v, actions)
	case t.s.currentJob(live.Job):
		return t.stay(Looking, "the cache of "+v.Name+" is behind", actions...)
	case v.EndedUnfinished:
		return t.giveUp(RemoteGone, msgGone, nil)
	}
	return t.resultUnknown(v, actions)
}

// look reads the cluster itself.
func (t turn) look(v ClusterView, actions []Action) Plan {
	return t.stay(Looking, "the cache shows nothing on "+v.Name+"; reading it",
		append(actions, Action{Verb: LiveRead, Cluster: v.Name, Epoch: t.s.Epoch})...)
}

// resultUnknown holds the Workload where it is until a person decides.
func (t turn) resultUnknown(v ClusterView, actions []Action) Plan {
	message := `Result unknown: the job is gone from worker cluster "` + v.Name +
		`" and nobody saw how it ended; delete the workload, or deactivate and reactivate it to run it again`
	plan := t.stay(ResultUnknown, message, actions...)
	plan.Verdict.Message = message
	return plan
}
