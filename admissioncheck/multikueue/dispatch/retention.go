package dispatch

import "time"

// copyGrace is how long a worker has to finish the copy of a job that has ended. Until then the copy holds quota there. It is long
// enough for the worker's program to be started anew.
const copyGrace = time.Minute

// RetainedUntil returns until when what a Workload that finished at a time has left on its cluster stays there; zero if it does not
// stay. A time further ahead than the retention itself was told by a clock that was wrong, and is not believed: so nothing stays for
// more than twice the retention, whatever the clocks say.
func (p Policy) RetainedUntil(finishedAt, now time.Time) time.Time {
	until := finishedAt.Add(p.RetainFinished)
	if p.RetainFinished <= 0 || !now.Before(until) || finishedAt.Sub(now) > p.RetainFinished {
		return time.Time{}
	}
	return until
}

// retention says what of a finished Workload stays on the cluster that ran it, and until when.
type retention struct {
	state    *State
	observed *Observation
	policy   *Policy
}

// until returns when the retention ends, zero if it is over.
func (r retention) until() time.Time {
	return r.policy.RetainedUntil(r.observed.Local.FinishedAt, r.observed.Now)
}

// appliesTo reports whether a cluster is the one whose run was recorded, keeps what it has, and has nothing of another run in the way.
// One that is being drained keeps nothing: whoever takes it away next would leave it there for ever.
func (r retention) appliesTo(v ClusterView) bool {
	return r.state.holdsCluster() && v.Name == r.state.Bound && v.connected() && !v.Operator.BeingDrained && !r.state.hasStale(v) && !r.until().IsZero()
}

// showsEnd reports whether a copy or a job of the present epoch says that the run has ended.
func (r retention) showsEnd(v ClusterView, c Copy, j Job) bool {
	return r.state.isCurrentCopy(c) && c.Finished != nil && c.Finished.isRunEnd() ||
		r.state.isCurrentJob(j) && j.Finished != nil && r.state.IsWorkloadJob(v.Name, c, j)
}

// isEndSeen reports whether the cluster shows that the run has ended, or a read of it did.
func (r retention) isEndSeen(v ClusterView) bool {
	live := r.state.liveAnswer(v)
	return r.showsEnd(v, v.Copy, v.Job) || live != nil && r.showsEnd(v, live.Copy, live.Job)
}

// quotaUntil returns until when a copy that has not finished may go on holding quota there; zero if it does not hold any.
func (r retention) quotaUntil(c Copy) time.Time {
	if c.Holder != Ours || c.Finished != nil {
		return time.Time{}
	}
	return r.observed.Local.FinishedAt.Add(copyGrace)
}

// clearFinished removes what is left of a Workload that has finished, but for the job that ended on its cluster, and its copy, as long
// as they are retained.
func (t decision) clearFinished() Plan {
	v := t.observed.view(t.state.Bound)
	if !v.removable() || !t.retained.appliesTo(v) {
		return t.cleanUp(Done)
	}
	ended, live := t.retained.isEndSeen(v), t.state.liveAnswer(v)
	quotaUntil := t.retained.quotaUntil(v.Copy)
	overdue := !quotaUntil.IsZero() && !t.observed.Now.Before(quotaUntil)
	plan := t.planner.act(Retained, "keeping the finished job on "+v.Name+" for a time", t.actions.removeExcept(v.Name, false)...)
	plan.WakeAt = t.retained.until()
	switch {
	case !ended && (live == nil || !t.observed.isFresh(*live)): // one watch may be ahead of the other
		plan.Actions = append(plan.Actions, t.actions.removeUnlessEnded(v)...)
	case !ended:
		return t.cleanUp(Done)
	case overdue && (live == nil || !live.At.IsZero() && live.At.Before(quotaUntil)):
		plan.Actions = append(plan.Actions, Action{Verb: LiveRead, Cluster: v.Name, Epoch: t.state.Epoch})
	case overdue && !t.retained.quotaUntil(live.Copy).IsZero():
		return t.cleanUp(Done)
	case v.Copy.Deleting: // it may wait for the hub to take its finalizer off
		plan.Actions = append(plan.Actions, t.actions.removeCopy(v)...)
	case !overdue:
		plan.WakeAt = earliest(quotaUntil, plan.WakeAt)
	}
	return plan
}
