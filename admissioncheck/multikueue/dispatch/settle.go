package dispatch

import (
	"strconv"
	"time"
)

// settleDebts drops the debts that a live read has discharged, or a person's word, and notes what was found gone.
func (t decision) settleDebts(s State) (State, bool) {
	var debts []Debt
	changed := false
	for _, d := range s.Debts {
		v := t.view(d.Cluster)
		if t.isDeclaredGone(v) || t.isDischarged(v, d) {
			changed = true
			continue
		}
		if at := t.absentSince(v, d); !at.Equal(d.AbsentSince) {
			d.AbsentSince, changed = at, true
		}
		debts = append(debts, d)
	}
	if changed {
		s.Debts = debts
	}
	return s, changed
}

// isClean reports whether a live read has shown that nothing of ours is left on a debtor, which is offered nothing new
// before. Nothing but a live read can show that.
func (t decision) isClean(v ClusterView) bool {
	live := t.liveAnswer(v)
	return live != nil && !isRemovable(live.Job.Holder) && !isRemovable(live.Copy.Holder) && !live.Job.isStray()
}

// isDischarged reports whether nothing of an earlier epoch is left on a debtor, its pods included.
func (t decision) isDischarged(v ClusterView, d Debt) bool {
	if !t.isClean(v) {
		return false
	}
	d.AbsentSince = t.absentSince(v, d)
	return d.AbsentSince.IsZero() || !t.observed.Now.Before(t.podsEndedBy(d))
}

// absentSince is since when a debtor is known to have nothing of ours although its pods may not have ended yet; zero while it has
// something, and where that promises nothing: under the compatible policy, and if somebody saw that the pods had ended. Who deletes a
// job, or a namespace, does not wait for that, and the object is gone before them.
func (t decision) absentSince(v ClusterView, d Debt) time.Time {
	live := t.liveAnswer(v)
	switch {
	case !t.forbidsOverlap():
		return time.Time{}
	case live == nil:
		return d.AbsentSince
	case !t.isClean(v), v.Ended.StoppedEpoch >= d.Epoch && v.Ended.StoppedEpoch > 0:
		return time.Time{}
	case d.AbsentSince.IsZero() && !live.At.IsZero():
		return live.At.Add(time.Second - 1).Truncate(time.Second)
	}
	return d.AbsentSince
}

// podsEndedBy is when the pods of a job that was found gone have surely ended: they were told to stop no later than it was found so,
// they have their termination grace, and who stops them may be as late as anybody else.
func (t decision) podsEndedBy(d Debt) time.Time {
	return d.AbsentSince.Add(t.observed.Local.Job.KillGrace).Add(t.policy.SkewMargin)
}

// nextPodsEnded is when the next of the clusters that can be reached ceases to owe on its own, zero for never.
func (t decision) nextPodsEnded() (at time.Time) {
	for _, d := range t.state.Debts {
		if v := t.view(d.Cluster); !d.AbsentSince.IsZero() && t.forbidsOverlap() && v.connected() && t.observed.Now.Before(t.podsEndedBy(d)) {
			at = earliest(at, t.podsEndedBy(d))
		}
	}
	return at
}

// msgPodsEnding says what a cluster that shows nothing any more is waited for.
func (t decision) msgPodsEnding(d Debt) string {
	return `its job is gone from worker cluster ` + strconv.Quote(d.Cluster) + `, and its pods must have ended by ` + formatTime(t.podsEndedBy(d))
}
