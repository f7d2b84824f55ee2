package dispatch

import (
	"strconv"
	"time"
)

// settle drops the debts that a live read has discharged, or a person's word, and notes what was found gone.
func (t turn) settle(s State) (State, bool) {
	var debts []Debt
	changed := false
	for _, d := range s.Debts {
		v := t.view(d.Cluster)
		if t.declaredGone(v) || t.discharged(v, d) {
			changed = true
			continue
		}
		if at := t.absent(v, d); !at.Equal(d.Absent) {
			d.Absent, changed = at, true
		}
		debts = append(debts, d)
	}
	if changed {
		s.Debts = debts
	}
	return s, changed
}

// clean reports whether a live read has shown that nothing of ours is left on a debtor, which is offered nothing new
// before. Nothing but a live read can show that.
func (t turn) clean(v ClusterView) bool {
	live := t.answer(v)
	return live != nil && !touchable(live.Job.Holder) && !touchable(live.Copy.Holder) && !live.Job.stray()
}

// discharged reports whether nothing of an earlier epoch is left on a debtor, its pods included.
func (t turn) discharged(v ClusterView, d Debt) bool {
	if !t.clean(v) {
		return false
	}
	d.Absent = t.absent(v, d)
	return d.Absent.IsZero() || !t.o.Now.Before(t.emptied(d))
}

// absent is since when a debtor is known to have nothing of ours although its pods may not have ended yet; zero while it has
// something, and where that promises nothing: under the compatible policy, and if somebody saw that the pods had ended. Who deletes a
// job, or a namespace, does not wait for that, and the object is gone before them.
func (t turn) absent(v ClusterView, d Debt) time.Time {
	live := t.answer(v)
	switch {
	case !t.strict():
		return time.Time{}
	case live == nil:
		return d.Absent
	case !t.clean(v), v.Stopped >= d.Epoch && v.Stopped > 0:
		return time.Time{}
	case d.Absent.IsZero() && !live.At.IsZero():
		return live.At.Add(time.Second - 1).Truncate(time.Second)
	}
	return d.Absent
}

// emptied is when the pods of a job that was found gone have surely ended: they were told to stop no later than it was found so,
// they have their termination grace, and who stops them may be as late as anybody else.
func (t turn) emptied(d Debt) time.Time {
	return d.Absent.Add(t.o.Local.KillGrace).Add(t.p.SkewMargin)
}

// nextEmptied is when the next of the clusters that can be reached ceases to owe on its own, zero for never.
func (t turn) nextEmptied() (at time.Time) {
	for _, d := range t.s.Debts {
		if v := t.view(d.Cluster); !d.Absent.IsZero() && t.strict() && v.connected() && t.o.Now.Before(t.emptied(d)) {
			at = soonest(at, t.emptied(d))
		}
	}
	return at
}

// msgEmptied says what a cluster that shows nothing any more is waited for.
func (t turn) msgEmptied(d Debt) string {
	return `its job is gone from worker cluster ` + strconv.Quote(d.Cluster) + `, and its pods must have ended by ` + stampOf(t.emptied(d))
}
