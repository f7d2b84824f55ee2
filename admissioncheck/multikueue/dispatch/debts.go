package dispatch

import (
	"slices"
	"strconv"
	"time"
)

// debts says what earlier epochs, and earlier owners of the name, may still run on clusters; what of it is settled; and until
// when the rest forbids a new job.
type debts struct {
	state    *State
	observed *Observation
	policy   *Policy
	lost     lostClusters
}

// settle drops the debts that a live read has discharged, or a person's word, and notes what was found gone.
func (ds debts) settle(s State) (State, bool) {
	var debts []Debt
	changed := false
	for _, d := range s.Debts {
		v := ds.observed.view(d.Cluster)
		if ds.lost.isDeclaredGone(v) || ds.isDischarged(v, d) {
			changed = true
			continue
		}
		if at := ds.absentSince(v, d); !at.Equal(d.AbsentSince) {
			d.AbsentSince, changed = at, true
		}
		debts = append(debts, d)
	}
	if changed {
		s.Debts = debts
	}
	return s, changed
}

// settleForGood is settle for a Workload that is not going to run again: also what the policy waits for no longer is settled,
// because there is no next job that would look.
func (ds debts) settleForGood() (State, bool) {
	next, changed := ds.settle(*ds.state)
	debts := slices.DeleteFunc(slices.Clone(next.Debts), func(d Debt) bool {
		v := ds.observed.view(d.Cluster)
		return !v.connected() && ds.lost.hold(v, d.StopsOnHubLost).over
	})
	if len(debts) == 0 {
		debts = nil
	}
	changed = changed || len(debts) < len(next.Debts)
	next.Debts = debts
	if changed && !next.hasDebt(next.Bound) {
		next.Bound, next.StopsOnHubLost = "", false
	}
	return next, changed
}

// isDischarged reports whether nothing of an earlier epoch is left on a debtor, its pods included.
func (ds debts) isDischarged(v ClusterView, d Debt) bool {
	if !ds.state.isClean(v) {
		return false
	}
	d.AbsentSince = ds.absentSince(v, d)
	return d.AbsentSince.IsZero() || !ds.observed.Now.Before(ds.podsEndedBy(d))
}

// absentSince is since when a debtor is known to have nothing of ours although its pods may not have ended yet; zero while it
// has something, and where that promises nothing: under the compatible policy, and if the pods were seen to have ended. A client
// that deletes a job, or a namespace, need not wait for the pods, so that the object may be gone before them.
func (ds debts) absentSince(v ClusterView, d Debt) time.Time {
	live := ds.state.liveAnswer(v)
	switch {
	case !ds.policy.forbidsOverlap():
		return time.Time{}
	case live == nil:
		return d.AbsentSince
	case !ds.state.isClean(v), v.Ended.StoppedEpoch >= d.Epoch && v.Ended.StoppedEpoch > 0:
		return time.Time{}
	case d.AbsentSince.IsZero() && !live.At.IsZero():
		return live.At.Add(time.Second - 1).Truncate(time.Second)
	}
	return d.AbsentSince
}

// podsEndedBy is when the pods of a job that was found gone have surely ended: they were told to stop no later than it was found
// so, they have their termination grace, and the program that stops them may be as late as the margin allows.
func (ds debts) podsEndedBy(d Debt) time.Time {
	return d.AbsentSince.Add(ds.observed.Local.Job.KillGrace).Add(ds.policy.SkewMargin)
}

// nextPodsEnded is when the next of the clusters that can be reached ceases to owe on its own, zero for never.
func (ds debts) nextPodsEnded() (at time.Time) {
	for _, d := range ds.state.Debts {
		if v := ds.observed.view(d.Cluster); !d.AbsentSince.IsZero() && ds.policy.forbidsOverlap() && v.connected() && ds.observed.Now.Before(ds.podsEndedBy(d)) {
			at = earliest(at, ds.podsEndedBy(d))
		}
	}
	return at
}

// nextRelease is when the next of the clusters out of reach that keep a deleted Workload may cease to on its own, zero for never.
func (ds debts) nextRelease() (at time.Time) {
	for _, d := range ds.state.Debts {
		v := ds.observed.view(d.Cluster)
		if h := ds.lost.hold(v, d.StopsOnHubLost); !v.connected() && !h.over {
			at = earliest(at, h.until)
		}
	}
	return at
}

// blockers returns the clusters that may still run an earlier epoch's job and so forbid a new one, and when the first
// of them may cease to on its own. A cluster out of reach ceases to when the policy says (see hold); one in reach, never.
func (ds debts) blockers(s State) (names []string, wake time.Time) {
	for _, d := range s.Debts {
		v := ds.observed.view(d.Cluster)
		if !v.connected() {
			h := ds.lost.hold(v, d.StopsOnHubLost)
			if h.over {
				continue
			}
			wake = earliest(wake, h.until)
		}
		names = append(names, d.Cluster)
	}
	for _, v := range ds.observed.Clusters {
		if v.connected() && !s.hasDebt(v.Name) && ds.state.hasStale(v) && ds.state.hasStaleJob(v) {
			names = append(names, v.Name)
		}
	}
	slices.Sort(names)
	return names, wake
}

// inheritFromPredecessors adds a debt of every cluster out of reach where a predecessor's job was seen last, or may have been
// made since: it runs under the same name, and possibly for the very same job.
func (ds debts) inheritFromPredecessors(s State) State {
	for _, v := range ds.observed.Clusters {
		c, j := v.Copy, v.Job
		running := j.Holder == Predecessor && j.Finished == nil ||
			c.Holder == Predecessor && (c.Admitted || c.Adopted) && c.Finished == nil && j.Finished == nil
		if !v.connected() && running && !ds.lost.isDeclaredGone(v) && !s.hasDebt(v.Name) {
			s = s.withDebt(Debt{Cluster: v.Name, Epoch: s.Epoch - 1, StopsOnHubLost: c.StopsOnHubLost})
		}
	}
	return s
}

// stoppedOn reports whether a given-up cluster has no pods of the Workload any more, as far as will ever be known, and whether
// its cache shows enough to wait for that. A copy that has lost its quota has lost its pods before; one that is out of sync is
// over while the pods still end.
func (ds debts) stoppedOn(v ClusterView) (over, seen bool) {
	c, live := v.Copy, ds.state.liveAnswer(v)
	switch {
	case !v.connected():
		return ds.lost.graceOver(v), true
	case live != nil && !isRemovable(live.Job.Holder) && !live.Job.isStray() && (!isRemovable(live.Copy.Holder) || !live.Copy.Admitted || live.Copy.Evicted):
		return true, true
	case v.Job.OfSlice || live != nil && live.Job.OfSlice: // its own copy tells nothing of a job that runs by another's
		return false, true
	case live == nil && v.Job.Holder == Absent && ds.observed.Local.Slice.HadJobOn(v.Name, max(c.Epoch, 1)): // nor of one that no informer shows
		return false, false
	case c.Holder == Ours:
		ended := !c.QuotaReserved || c.Finished != nil && c.Finished.Reason != OutOfSync
		return ended || c.Evicted && !c.Adopted && v.Job.Holder == Absent, !c.Adopted || v.Job.Holder != Absent
	}
	return false, isRemovable(v.Job.Holder)
}

// toldByQuota tells of a job whose status does not tell whether it has pods that the given-up cluster's copy has told that it has none.
func (ds debts) toldByQuota(v ClusterView) bool {
	over, _ := ds.stoppedOn(v)
	return over && ds.observed.Local.Job.StatusOutlivesPods
}

// msgOwed says which clusters may still run an earlier epoch's job and, if the policy promises that runs never overlap, how that
// ends.
func (ds debts) msgOwed(clusters []string) string {
	text := "an earlier attempt may still run on " + joinNames(clusters)
	for _, d := range ds.state.Debts {
		v := ds.observed.view(d.Cluster)
		if live := ds.state.liveAnswer(v); live != nil && live.Job.isStray() {
			text += "; the job on " + strconv.Quote(d.Cluster) + " names this workload, though its label " + originLabel +
				" is not the hub's: delete it, or put the label back"
		}
		if ds.policy.forbidsOverlap() && !v.connected() && slices.Contains(clusters, d.Cluster) {
			text += "; " + ds.lost.msgHeld(v, d.StopsOnHubLost)
		}
		if ds.policy.forbidsOverlap() && v.connected() && !d.AbsentSince.IsZero() {
			text += "; " + ds.msgPodsEnding(d)
		}
	}
	return text
}

// msgPodsEnding says what a cluster that shows nothing any more is waited for.
func (ds debts) msgPodsEnding(d Debt) string {
	return `its job is gone from worker cluster ` + strconv.Quote(d.Cluster) + `, and its pods must have ended by ` + formatTime(ds.podsEndedBy(d))
}
