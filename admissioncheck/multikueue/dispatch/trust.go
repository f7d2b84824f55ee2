package dispatch

// Whose word counts. Anybody who may make a Job on a worker can put the public origin label on it, and a worker that is not
// asked to run a Workload has nothing to say about it: what an object says of itself is a claim.

// resultMayComeFrom reports whether a result may come from a cluster: the State says that the job may be there. One that was merely nominated
// has to be listed, too, because others may nominate; who is bound or owes was listed when that was stored.
func (t decision) resultMayComeFrom(v ClusterView) bool {
	return t.mayHaveJob(v.Name) || v.InConfig && t.state.isNominated(v.Name)
}

// mayHaveJob reports whether the State says that a job was made on a cluster, or may have been.
func (t decision) mayHaveJob(cluster string) bool {
	return cluster != "" && (t.state.Bound == cluster || t.state.hasDebt(cluster))
}

// isAdoptedBy reports whether a copy of ours says that this very job has taken it up.
func (c Copy) isAdoptedBy(j Job) bool { return c.Holder == Ours && j.UID != "" && c.AdoptedBy == j.UID }

// isWorkloadJob reports whether a job is the one that was made for the Workload, and not one that has taken its name. A copy that
// another job has taken up speaks against it. One that bears the UID of the Workload needs no more where a job was to be made;
// one that does not is another program's, and has to be the one that the copy there belongs to.
func (t decision) isWorkloadJob(cluster string, c Copy, j Job) bool {
	switch {
	case c.isAdoptedBy(j):
		return j.HasWorkloadUID || j.NamesWorkload
	case c.Holder == Ours && c.AdoptedBy != "":
		return false
	}
	return j.HasWorkloadUID && t.mayHaveJob(cluster)
}

// copyHadRun reports whether a copy that says how its run ended had one: a job has taken it up, and, where none was to be made, is there
// and says so as well.
func (t decision) copyHadRun(v ClusterView, c Copy, j Job) bool {
	return c.Adopted && (t.mayHaveJob(v.Name) || c.isAdoptedBy(j) && j.Finished != nil)
}

// mayCopyStatus reports whether the status of the job that is seen on a cluster may be shown as that of the hub's.
func (t decision) mayCopyStatus(v ClusterView) bool {
	return v.Job.Holder == Ours && t.isWorkloadJob(v.Name, v.Copy, v.Job)
}

// IsWorkloadJob reports whether a job that is seen on a cluster together with a copy, or was seen before it went, is the one that was
// made for the Workload, whose State this is. The status of any other must not be shown as its own.
func (s State) IsWorkloadJob(cluster string, c Copy, j Job) bool {
	return decision{state: s}.isWorkloadJob(cluster, c, j)
}

// creditUnrecordedRun turns to the clusters that show how a run ended which nobody has recorded: an epoch was over before its retreat was
// stored, as the hub's own counters or reservations tell, and who was bound then is not known. From there a result counts.
func (t decision) creditUnrecordedRun(s State) State {
	if s.Reservation == "" && (s.Epoch > 1 || t.observed.Local.Quota.Evictions == 0) {
		return s
	}
	epoch := t.nextEpoch()
	for _, v := range t.observed.Clusters {
		told := v.Copy.Finished != nil && v.Copy.Adopted && t.endCounts(v.Copy.Holder, v.Copy.Epoch)
		if t.resultCounts(v) && !s.hasDebt(v.Name) && (told || t.jobSaysEnded(v.Copy, v.Job)) {
			s.Epoch, s.Reservation = epoch, ""
			s = s.withDebt(Debt{Cluster: v.Name, Epoch: epoch - 1})
		}
	}
	return s
}
