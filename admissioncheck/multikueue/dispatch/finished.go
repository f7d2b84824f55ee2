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
	held := t.held()
	if held && v.Name != t.s.Bound {
		return nil
	}
	if !held && v.Copy.Holder == Ours && !v.Copy.SpecMatches && !v.Copy.PriorityOnly {
		return nil
	}
	counts := func(h Holder, stamp int64) bool {
		return h == Ours && (!held || t.s.current(stamp))
	}
	// A copy, or a job: the copy's word is the worker's own, the job's comes earlier.
	of := func(c Copy, j Job) *Outcome {
		if c.Finished != nil && c.Finished.Reason != OutOfSync && counts(c.Holder, c.Epoch) {
			return c.Finished
		}
		outOfSync := c.Holder == Ours && c.Finished != nil
		watchedEnd := j.Holder == Absent && j.Finished != nil
		if j.Finished != nil && !outOfSync && (counts(j.Holder, j.Epoch) || watchedEnd && counts(Ours, j.Epoch)) {
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
