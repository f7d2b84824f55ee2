package dispatch

import (
	"slices"
	"strconv"
	"time"
)

// gone handles a Workload that is being deleted, or was. One that is kept for its job goes in an orderly way; of any other, what
// is seen is removed.
func (t decision) gone() Plan {
	if t.observed.Local.KeptForJob && !t.observed.Local.Finished {
		return t.release()
	}
	return t.cleanUp(Deleted)
}

// cleanUp removes whatever is seen of a Workload that is deleted or has finished (contract: multikueue.md 4 P6, 4 case 2).
// Clusters out of reach are cleaned when they return: their events, or the orphan sweep, ask again.
func (t decision) cleanUp(reason Reason) Plan {
	return t.act(reason, "removing what is left on the workers", t.removeEverywhere(func(ClusterView) bool { return false })...)
}

// release handles a Workload that is being deleted and whose job stays. The job gets another Workload, which knows nothing of this
// one: so what may still run somewhere has to be known to be over first, by a live read or as the policy says.
func (t decision) release() Plan {
	if t.state.Bound != "" && !t.state.Retreating() || t.recordLost() {
		return t.store(t.state.retreat(t.nextEpoch()), Deleted, "the workload is being deleted")
	}
	if next, ok := t.settleForGood(); ok && !t.observed.Local.Job.Active {
		return t.store(next, Settled, "nothing of the deleted workload runs there any more")
	}
	plan := t.act(Deleted, "removing what is left on the workers", t.deletionActions()...)
	if t.observed.Local.Job.Active {
		t.clearActiveWhenSilent(&plan)
	}
	plan.WakeAt = earliest(plan.WakeAt, t.nextRelease())
	t.reportWhyKept(&plan)
	return t.unbind(plan)
}

// nextRelease is when the next of the clusters out of reach that keep a deleted Workload may cease to on its own, zero for never.
func (t decision) nextRelease() (at time.Time) {
	for _, d := range t.state.Debts {
		v := t.view(d.Cluster)
		if h := t.hold(v, d.StopsOnHubLost); !v.connected() && !h.over {
			at = earliest(at, h.until)
		}
	}
	return at
}

// settleForGood is settle for a Workload that is not going to run again: also what the policy waits for no longer is settled, because
// there is no next job that would look.
func (t decision) settleForGood() (State, bool) {
	next, changed := t.settleDebts(t.state)
	debts := slices.DeleteFunc(slices.Clone(next.Debts), func(d Debt) bool {
		v := t.view(d.Cluster)
		return !v.connected() && t.hold(v, d.StopsOnHubLost).over
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

// deletionActions removes what is seen, reads the debtors that show nothing, and copies the last that is heard of the job: of several
// debtors, that of the latest one, or their statuses would take turns.
func (t decision) deletionActions() []Action {
	var actions, copies []Action
	latest := t.latestReporter()
	for _, v := range t.observed.Clusters {
		owed := t.state.hasDebt(v.Name)
		switch {
		case !v.connected():
			continue
		case v.removable() || t.hasStale(v):
			actions = append(actions, t.removeAll(v)...)
		case owed && t.liveAnswer(v) == nil && !t.observed.Local.Job.Active: // who waits for the job to be idle reads it anyway
			actions = append(actions, Action{Verb: LiveRead, Cluster: v.Name, Epoch: t.state.Epoch})
		}
		if v.Name == latest && v.Job.StatusBehind {
			copies = append(copies, Action{Verb: CopyStatus, Cluster: v.Name, Epoch: t.state.Epoch})
		}
	}
	return append(actions, copies...)
}

// latestReporter is the debtor whose job may be shown as the hub's and was made last, empty if there is none.
func (t decision) latestReporter() string {
	name, epoch := "", int64(-1)
	for _, v := range t.observed.Clusters {
		if v.connected() && t.state.hasDebt(v.Name) && t.mayCopyStatus(v) && v.Job.Epoch > epoch {
			name, epoch = v.Name, v.Job.Epoch
		}
	}
	return name
}

// reportWhyKept says, after a while, why a Workload that somebody deleted does not go: in the check's message, and by an event.
func (t decision) reportWhyKept(plan *Plan) {
	l := t.observed.Local
	if t.policy.ExplainAfter <= 0 || l.Check.State == "" {
		return
	}
	text := ""
	for _, d := range t.state.Debts {
		v := t.view(d.Cluster)
		h := t.hold(v, d.StopsOnHubLost)
		if v.Link.State != Unreachable || h.over {
			continue
		}
		if at := v.Link.Since.Add(t.policy.ExplainAfter); t.observed.Now.Before(at) {
			plan.WakeAt = earliest(plan.WakeAt, at)
			continue
		}
		text += `; worker cluster ` + strconv.Quote(v.Name) + ` cannot be reached since ` + formatTime(v.Link.Since) + ": " + t.deletionReleaseText(h, d.StopsOnHubLost && v.Fence.Alive)
	}
	if text == "" {
		return
	}
	t.report(plan, msgKept+text)
	if plan.Stores {
		plan.Event = &Event{Warning: true, Message: plan.CheckResult.Message}
	}
}

// deletionReleaseText says what lets a deleted Workload go.
func (t decision) deletionReleaseText(h hold, fenced bool) string {
	if !t.forbidsOverlap() && !h.release.IsZero() {
		return "the workload is let go at " + formatTime(h.release)
	}
	return t.releaseText(h, fenced)
}

// removeEverywhere removes everything of ours, of whatever epoch, from every cluster that can be talked to.
func (t decision) removeEverywhere(spare func(ClusterView) bool) []Action {
	var actions []Action
	for _, v := range t.observed.Clusters {
		if v.connected() && v.removable() {
			for _, a := range t.removeAll(v) {
				a.SpareFinished = spare(v)
				actions = append(actions, a)
			}
		}
	}
	return actions
}
