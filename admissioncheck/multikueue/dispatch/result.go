package dispatch

// runResults says whether the Workload's run has ended on some cluster, and whose word counts for that.
type runResults struct {
	state    *State
	observed *Observation
}

// hasEndedRun reports whether endedRun finds a cluster.
func (r runResults) hasEndedRun() bool {
	v, _ := r.endedRun()
	return v.Name != ""
}

// endedRun returns the first cluster that shows how the Workload's run has ended, and how; without a result it has yet to be
// read there. What counts is a run of the present epoch on the bound cluster or, while no cluster is bound, of any epoch on any
// cluster that the State names. A run of an earlier epoch that ends while a later one is bound is not the Workload's any more.
func (r runResults) endedRun() (ClusterView, *Outcome) {
	for _, v := range r.observed.Clusters {
		if result := r.resultOn(v); result != nil || r.needsProof(v) {
			return v, result
		}
	}
	return ClusterView{}, nil
}

// resultOn returns how the Workload's run on a cluster ended, nil if it did not or does not count.
func (r runResults) resultOn(v ClusterView) *Outcome {
	if !r.countsOn(v) || !r.mayComeFrom(v) {
		return nil
	}
	if out := r.claimedResult(v, v.Copy, v.Job); out != nil {
		return out
	}
	if live := r.state.liveAnswer(v); live != nil {
		return r.claimedResult(v, live.Copy, live.Job)
	}
	return nil
}

// claimedResult is what a copy and a job say of the end: the copy's word is the worker's own, the job's comes earlier.
func (r runResults) claimedResult(v ClusterView, c Copy, j Job) *Outcome {
	if r.copySaysEnded(c) && r.copyHadRun(v, c, j) {
		return c.Finished
	}
	if r.jobSaysEnded(c, j) && r.state.IsWorkloadJob(v.Name, c, j) {
		return j.Finished
	}
	return nil
}

// endCounts reports whether an object is ours and of an epoch whose end would count.
func (r runResults) endCounts(h Holder, stamp int64) bool {
	return h == Ours && (!r.state.holdsCluster() || r.state.isCurrent(stamp))
}

// copySaysEnded reports whether a copy says that the run has ended, also one that is no more.
func (r runResults) copySaysEnded(c Copy) bool {
	return c.Finished != nil && c.Finished.isRunEnd() && (r.endCounts(c.Holder, c.Epoch) || c.Holder == Absent && r.endCounts(Ours, c.Epoch))
}

// jobSaysEnded reports whether a job says that it has ended, also one that is no more, and its copy does not say that it was no
// job of that Workload. The copy of a slice says nothing of a job that runs by another.
func (r runResults) jobSaysEnded(c Copy, j Job) bool {
	outOfSync := (c.Holder == Ours || c.Holder == Absent) && c.Finished != nil && c.Finished.Reason == OutOfSync && !j.OfSlice
	watchedEnd := j.Holder == Absent && j.Finished != nil
	return j.Finished != nil && !outOfSync && (r.endCounts(j.Holder, j.Epoch) || watchedEnd && r.endCounts(Ours, j.Epoch))
}

// tellsEnd reports whether a copy that a job has taken up, or a job, says that a run has ended, whatever cluster it was to be on.
func (r runResults) tellsEnd(c Copy, j Job) bool {
	return c.Finished != nil && c.Adopted && r.endCounts(c.Holder, c.Epoch) || r.jobSaysEnded(c, j)
}

// needsProof reports whether the cache shows a result that would count but for a proof which the cluster itself may have: one
// watch may be ahead of the other.
func (r runResults) needsProof(v ClusterView) bool {
	if !v.connected() || r.state.liveAnswer(v) != nil || !r.countsOn(v) || !r.mayComeFrom(v) {
		return false
	}
	return r.copySaysEnded(v.Copy) || r.jobSaysEnded(v.Copy, v.Job)
}

// countsOn reports whether a run that ends on a cluster would be the Workload's result: while a cluster is held, only its
// runs are; otherwise any, unless the Workload has become another one since, or the worker says that the job has. Of a job that runs by another slice's
// copy this one's says nothing.
func (r runResults) countsOn(v ClusterView) bool {
	if r.state.holdsCluster() {
		return v.Name == r.state.Bound
	}
	c := v.Copy
	outOfSync := c.Finished != nil && c.Finished.Reason == OutOfSync
	return c.Holder != Ours || v.Job.OfSlice || c.canFollow() && !outOfSync
}

// mustSpareFinished reports whether a removal has to leave a job alone that has ended meanwhile: its result would count, and has
// not been seen. What was read and has been found not to count may go.
func (r runResults) mustSpareFinished(v ClusterView) bool {
	live := r.state.liveAnswer(v)
	return r.countsOn(v) && (live == nil || !r.jobSaysEnded(live.Copy, live.Job))
}

// mayComeFrom reports whether a result may come from a cluster: the State says that the job may be there. One that was merely
// nominated has to be listed, too, because others may nominate; a cluster that is bound or owes was listed when that was stored.
func (r runResults) mayComeFrom(v ClusterView) bool {
	return r.state.mayHaveJob(v.Name) || v.InConfig && r.state.isNominated(v.Name)
}

// copyHadRun reports whether a copy that says how its run ended had one: a job has taken it up, and, where none was to be made,
// is there and says so as well.
func (r runResults) copyHadRun(v ClusterView, c Copy, j Job) bool {
	return c.Adopted && (r.state.mayHaveJob(v.Name) || c.isAdoptedBy(j) && j.Finished != nil)
}

// holdsCluster reports whether a cluster is bound and not given up.
func (s State) holdsCluster() bool { return s.Bound != "" && !s.Retreating() }

// The queries below say whose word counts. What an object says of itself is a claim: any user that may make Jobs on a worker can
// put the public origin label on one. A worker that is not asked to run a Workload has nothing to say about it.

// mayHaveJob reports whether the State says that a job was made on a cluster, or may have been.
func (s State) mayHaveJob(cluster string) bool {
	return cluster != "" && (s.Bound == cluster || s.hasDebt(cluster))
}

// isAdoptedBy reports whether a copy of ours says that this very job has taken it up.
func (c Copy) isAdoptedBy(j Job) bool { return c.Holder == Ours && j.UID != "" && c.AdoptedBy == j.UID }

// wasAdoptedByOther reports whether a copy that is gone had been taken up by another job of the epoch: no job is made twice within one.
func (c Copy) wasAdoptedByOther(j Job) bool {
	return c.Holder == Absent && c.AdoptedBy != "" && c.AdoptedBy != j.UID && c.Epoch == j.Epoch
}

// IsWorkloadJob reports whether a job is the one that was made for the Workload, and not one that has taken its name. A copy that
// another job has taken up speaks against it. One that bears the UID of the Workload needs no more where a job was to be made;
// one that does not is another program's, and has to be the one that the copy there belongs to.
func (s State) IsWorkloadJob(cluster string, c Copy, j Job) bool {
	switch {
	case c.isAdoptedBy(j):
		return j.HasWorkloadUID || j.NamesWorkload
	case c.Holder == Ours && c.AdoptedBy != "", c.wasAdoptedByOther(j):
		return false
	}
	return j.HasWorkloadUID && s.mayHaveJob(cluster)
}

// mayCopyStatus reports whether the status of the job that is seen on a cluster may be shown as that of the hub's.
func (s State) mayCopyStatus(v ClusterView) bool {
	return v.Job.Holder == Ours && s.IsWorkloadJob(v.Name, v.Copy, v.Job)
}
