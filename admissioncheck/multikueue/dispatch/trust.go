package dispatch

// Whose word counts. Anybody who may make a Job on a worker can put the public origin label on it, and a worker that is not
// asked to run a Workload has nothing to say about it: what an object says of itself is a claim.

// named reports whether a result may come from a cluster: the State says that the job may be there. One that was merely nominated
// has to be listed, too, because others may nominate; who is bound or owes was listed when that was stored.
func (t turn) named(v ClusterView) bool {
	return t.entrusted(v.Name) || v.InConfig && t.s.nominates(v.Name)
}

// entrusted reports whether the State says that a job was made on a cluster, or may have been.
func (t turn) entrusted(cluster string) bool {
	return cluster != "" && (t.s.Bound == cluster || t.s.owedBy(cluster))
}

// adopts reports whether a copy of ours says that this very job has taken it up.
func (c Copy) adopts(j Job) bool { return c.Holder == Ours && j.UID != "" && c.AdoptedBy == j.UID }

// believed reports whether a job is the one that was made for the Workload, and not one that has taken its name. A copy that
// another job has taken up speaks against it. One that bears the UID of the Workload needs no more where a job was to be made;
// one that does not is another program's, and has to be the one that the copy there belongs to.
func (t turn) believed(cluster string, c Copy, j Job) bool {
	switch {
	case c.adopts(j):
		return j.Stamped || j.Named
	case c.Holder == Ours && c.AdoptedBy != "":
		return false
	}
	return j.Stamped && t.entrusted(cluster)
}

// ran reports whether a copy that says how its run ended had one: a job has taken it up, and, where none was to be made, is there
// and says so as well.
func (t turn) ran(v ClusterView, c Copy, j Job) bool {
	return c.Adopted && (t.entrusted(v.Name) || c.adopts(j) && j.Finished != nil)
}

// mayShow reports whether the status of the job that is seen on a cluster may be shown as that of the hub's.
func (t turn) mayShow(v ClusterView) bool {
	return v.Job.Holder == Ours && t.believed(v.Name, v.Copy, v.Job)
}

// Believes reports whether a job that is seen on a cluster together with a copy, or was seen before it went, is the one that was
// made for the Workload, whose State this is. The status of any other must not be shown as its own.
func (s State) Believes(cluster string, c Copy, j Job) bool {
	return turn{s: s}.believed(cluster, c, j)
}

// credit turns to the clusters that show how a run ended which nobody has recorded: an epoch was over before its retreat was
// stored, as the hub's own counters or reservations tell, and who was bound then is not known. From there a result counts.
func (t turn) credit(s State) State {
	if s.Reservation == "" && (s.Epoch > 1 || t.o.Local.Evictions == 0) {
		return s
	}
	epoch := t.nextEpoch()
	for _, v := range t.o.Clusters {
		told := v.Copy.Finished != nil && v.Copy.Adopted && t.mayEnd(v.Copy.Holder, v.Copy.Epoch)
		if t.counts(v) && !s.owedBy(v.Name) && (told || t.saysEnded(v.Copy, v.Job)) {
			s.Epoch, s.Reservation = epoch, ""
			s = s.owing(Debt{Cluster: v.Name, Epoch: epoch - 1})
		}
	}
	return s
}
