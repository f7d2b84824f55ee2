package dispatch

// finished records a run that has ended, and then removes what is left on the workers (contract: multikueue.md 4 cases 2 and 3b).
func (t decision) finished() Plan {
	if t.observed.Local.Finished {
		return t.cleanUp(Done)
	}
	v, result := t.endedRun()
	read := Action{Verb: LiveRead, Cluster: v.Name, Epoch: t.state.Epoch}
	switch {
	case result == nil:
		return t.act(Looking, "something on "+v.Name+" says that the run has ended; reading what it is", read)
	case t.finalStatusPending(v) && t.liveAnswer(v) == nil:
		return t.act(RunFinished, "the run on "+v.Name+" has ended; reading its last status", read)
	}
	return t.act(RunFinished, "the run on "+v.Name+" has ended",
		Action{Verb: Finish, Cluster: v.Name, Epoch: t.state.Epoch, Outcome: *result})
}

// hasEndedRun reports whether endedRun finds a cluster.
func (t decision) hasEndedRun() bool {
	v, _ := t.endedRun()
	return v.Name != ""
}

// endedRun returns the first cluster that shows how the Workload's run has ended, and how; without a result it has yet to be
// read there. What counts is a run of the present epoch on the bound cluster or, while no cluster is bound, of any epoch on any
// cluster that the State names. A run of an earlier epoch that ends while a later one is bound is not the Workload's any more.
func (t decision) endedRun() (ClusterView, *Outcome) {
	for _, v := range t.observed.Clusters {
		if result := t.runResult(v); result != nil || t.needsProof(v) {
			return v, result
		}
	}
	return ClusterView{}, nil
}

// finalStatusPending reports whether the copy is known to be finished while the job seen in the cache is not yet: its final status
// would be missed if it were copied now.
func (t decision) finalStatusPending(v ClusterView) bool {
	return v.connected() && v.Copy.Finished != nil && v.Job.Holder == Ours && v.Job.Finished == nil
}

// runResult returns how the Workload's run on a cluster ended, nil if it did not or does not count.
func (t decision) runResult(v ClusterView) *Outcome {
	if !t.resultCounts(v) || !t.resultMayComeFrom(v) {
		return nil
	}
	if out := t.resultFrom(v, v.Copy, v.Job); out != nil {
		return out
	}
	if live := t.liveAnswer(v); live != nil {
		return t.resultFrom(v, live.Copy, live.Job)
	}
	return nil
}

// resultFrom is what a copy and a job say of the end: the copy's word is the worker's own, the job's comes earlier.
func (t decision) resultFrom(v ClusterView, c Copy, j Job) *Outcome {
	if t.copySaysEnded(c) && t.copyHadRun(v, c, j) {
		return c.Finished
	}
	if t.jobSaysEnded(c, j) && t.isWorkloadJob(v.Name, c, j) {
		return j.Finished
	}
	return nil
}

// endCounts reports whether an object is ours and of an epoch whose end would count.
func (t decision) endCounts(h Holder, stamp int64) bool {
	return h == Ours && (!t.holdsCluster() || t.state.isCurrent(stamp))
}

// copySaysEnded reports whether a copy says that the run has ended, also one that is no more.
func (t decision) copySaysEnded(c Copy) bool {
	return c.Finished != nil && c.Finished.Reason != OutOfSync && (t.endCounts(c.Holder, c.Epoch) || c.Holder == Absent && t.endCounts(Ours, c.Epoch))
}

// jobSaysEnded reports whether a job says that it has ended, also one that is no more, and its copy does not say that it was no job
// of that Workload.
func (t decision) jobSaysEnded(c Copy, j Job) bool {
	outOfSync := (c.Holder == Ours || c.Holder == Absent) && c.Finished != nil && c.Finished.Reason == OutOfSync
	watchedEnd := j.Holder == Absent && j.Finished != nil
	return j.Finished != nil && !outOfSync && (t.endCounts(j.Holder, j.Epoch) || watchedEnd && t.endCounts(Ours, j.Epoch))
}

// needsProof reports whether the cache shows a result that would count but for a proof which the cluster itself may have: one
// watch may be ahead of the other.
func (t decision) needsProof(v ClusterView) bool {
	if !v.connected() || t.liveAnswer(v) != nil || !t.resultCounts(v) || !t.resultMayComeFrom(v) {
		return false
	}
	return t.copySaysEnded(v.Copy) || t.jobSaysEnded(v.Copy, v.Job)
}

// holdsCluster reports whether a cluster is bound and not given up.
func (t decision) holdsCluster() bool { return t.state.Bound != "" && !t.state.Retreating() }

// resultCounts reports whether a run that ends on a cluster would be the Workload's result: while a cluster is held, only its
// runs are; otherwise any, unless the Workload has become another one since, or the worker says that the job has.
func (t decision) resultCounts(v ClusterView) bool {
	if t.holdsCluster() {
		return v.Name == t.state.Bound
	}
	c := v.Copy
	outOfSync := c.Finished != nil && c.Finished.Reason == OutOfSync
	return c.Holder != Ours || (c.SpecMatches || c.OnlyPriorityDiffers) && !outOfSync
}

// mustSpareFinished reports whether a removal has to leave a job alone that has ended meanwhile: its result would count, and nobody has seen
// it. What was read and has been found not to count may go.
func (t decision) mustSpareFinished(v ClusterView) bool {
	live := t.liveAnswer(v)
	return t.resultCounts(v) && (live == nil || !t.jobSaysEnded(live.Copy, live.Job))
}
