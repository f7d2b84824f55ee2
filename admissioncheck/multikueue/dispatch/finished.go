package dispatch

// finished honours a run that has ended (contract: multikueue.md 4 case 3b): one of the present epoch on the bound
// cluster or, while no cluster is bound, of any epoch on any cluster. A run of an earlier epoch that ends while a later
// one is bound is not ours any more.
func (t turn) finished() (Plan, bool) {
	for _, v := range t.o.Clusters {
		out := t.result(v)
		if out == nil {
			continue
		}
		if t.settling(v) && t.answer(v) == nil {
			return t.stay(RunFinished, "the run on "+v.Name+" has ended; reading its last status",
				Action{Verb: LiveRead, Cluster: v.Name, Epoch: t.s.Epoch}), true
		}
		return t.stay(RunFinished, "the run on "+v.Name+" has ended",
			Action{Verb: Finish, Cluster: v.Name, Epoch: t.s.Epoch, Outcome: *out}), true
	}
	return Plan{}, false
}

// settling reports whether the copy is known to be finished while the job seen in the cache is not yet: its final status
// would be missed if it were copied now.
func (t turn) settling(v ClusterView) bool {
	return v.connected() && v.Copy.Finished != nil && v.Job.Holder == Ours && v.Job.Finished == nil
}

// result returns how the Workload's run on a cluster ended, nil if it did not or does not count.
func (t turn) result(v ClusterView) *Outcome {
	if !t.counts(v) {
		return nil
	}
	held := t.held()
	ours := func(h Holder, stamp int64) bool {
		return h == Ours && (!held || t.s.current(stamp))
	}
	// A copy, or a job: the copy's word is the worker's own, the job's comes earlier.
	of := func(c Copy, j Job) *Outcome {
		if c.Finished != nil && c.Finished.Reason != OutOfSync && ours(c.Holder, c.Epoch) {
			return c.Finished
		}
		outOfSync := c.Holder == Ours && c.Finished != nil
		watchedEnd := j.Holder == Absent && j.Finished != nil
		if j.Finished != nil && !outOfSync && (ours(j.Holder, j.Epoch) || watchedEnd && ours(Ours, j.Epoch)) {
			return j.Finished
		}
		return nil
	}
	if out := of(v.Copy, v.Job); out != nil {
		return out
	}
	if live := t.answer(v); live != nil {
		return of(live.Copy, live.Job)
	}
	return nil
}

// held reports whether a cluster is bound and not given up.
func (t turn) held() bool { return t.s.Bound != "" && !t.s.Retreating() }

// counts reports whether a run that ends on a cluster would be the Workload's result: while a cluster is held, only its
// runs are; otherwise any, unless the Workload has become another one since, or the worker says that the job has.
func (t turn) counts(v ClusterView) bool {
	if t.held() {
		return v.Name == t.s.Bound
	}
	c := v.Copy
	outOfSync := c.Finished != nil && c.Finished.Reason == OutOfSync
	return c.Holder != Ours || (c.SpecMatches || c.PriorityOnly) && !outOfSync
}
