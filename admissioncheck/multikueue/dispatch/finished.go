package dispatch

// finished records a run that has ended, and then removes what is left on the workers (contract: multikueue.md 4 cases 2 and 3b), but
// for what is kept for a time.
func (t decision) finished() Plan {
	if t.observed.Local.Finished {
		return t.clearFinished()
	}
	v, result := t.results.endedRun()
	read := Action{Verb: LiveRead, Cluster: v.Name, Epoch: t.state.Epoch}
	switch {
	case result == nil:
		return t.planner.act(Looking, "something on "+v.Name+" says that the run has ended; reading what it is", read)
	case v.finalStatusPending() && t.state.liveAnswer(v) == nil:
		return t.planner.act(RunFinished, "the run on "+v.Name+" has ended; reading its last status", read)
	}
	return t.planner.act(RunFinished, "the run on "+v.Name+" has ended",
		Action{Verb: Finish, Cluster: v.Name, Epoch: t.state.Epoch, Outcome: *result})
}

// finalStatusPending reports whether the copy is known to be finished while the job seen in the cache is not yet: its final
// status would be missed if it were copied now.
func (v ClusterView) finalStatusPending() bool {
	return v.connected() && v.Copy.Finished != nil && v.Job.Holder == Ours && v.Job.Finished == nil
}
