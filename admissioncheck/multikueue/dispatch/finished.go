package dispatch

// finished honours a run that has ended (contract: multikueue.md 4 case 3b): one of the present epoch on the bound
// cluster or, while no cluster is bound, of any epoch on any cluster that the State names. A run of an earlier epoch that ends
// while a later one is bound is not ours any more.
func (t turn) finished() (Plan, bool) {
	for _, v := range t.o.Clusters {
		out := t.result(v)
		switch {
		case out == nil && t.unproven(v):
			return t.stay(Looking, "something on "+v.Name+" says that the run has ended; reading what it is",
				Action{Verb: LiveRead, Cluster: v.Name, Epoch: t.s.Epoch}), true
		case out == nil:
			continue
		case t.settling(v) && t.answer(v) == nil:
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
	if !t.counts(v) || !t.named(v) {
		return nil
	}
	if out := t.outcome(v, v.Copy, v.Job); out != nil {
		return out
	}
	if live := t.answer(v); live != nil {
		return t.outcome(v, live.Copy, live.Job)
	}
	return nil
}

// outcome is what a copy and a job say of the end: the copy's word is the worker's own, the job's comes earlier.
func (t turn) outcome(v ClusterView, c Copy, j Job) *Outcome {
	if t.copyEnded(c) && t.ran(v, c, j) {
		return c.Finished
	}
	if t.saysEnded(c, j) && t.believed(v.Name, c, j) {
		return j.Finished
	}
	return nil
}

// mayEnd reports whether an object is ours and of an epoch whose end would count.
func (t turn) mayEnd(h Holder, stamp int64) bool {
	return h == Ours && (!t.held() || t.s.current(stamp))
}

// copyEnded reports whether a copy says that the run has ended, also one that is no more.
func (t turn) copyEnded(c Copy) bool {
	return c.Finished != nil && c.Finished.Reason != OutOfSync && (t.mayEnd(c.Holder, c.Epoch) || c.Holder == Absent && t.mayEnd(Ours, c.Epoch))
}

// saysEnded reports whether a job says that it has ended, also one that is no more, and its copy does not say that it was no job
// of that Workload.
func (t turn) saysEnded(c Copy, j Job) bool {
	outOfSync := (c.Holder == Ours || c.Holder == Absent) && c.Finished != nil && c.Finished.Reason == OutOfSync
	watchedEnd := j.Holder == Absent && j.Finished != nil
	return j.Finished != nil && !outOfSync && (t.mayEnd(j.Holder, j.Epoch) || watchedEnd && t.mayEnd(Ours, j.Epoch))
}

// unproven reports whether the cache shows a result that would count but for a proof which the cluster itself may have: one
// watch may be ahead of the other.
func (t turn) unproven(v ClusterView) bool {
	if !v.connected() || t.answer(v) != nil || !t.counts(v) || !t.named(v) {
		return false
	}
	return t.copyEnded(v.Copy) || t.saysEnded(v.Copy, v.Job)
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

// spares reports whether a removal has to leave a job alone that has ended meanwhile: its result would count, and nobody has seen
// it. What was read and has been found not to count may go.
func (t turn) spares(v ClusterView) bool {
	live := t.answer(v)
	return t.counts(v) && (live == nil || !t.saysEnded(live.Copy, live.Job))
}
