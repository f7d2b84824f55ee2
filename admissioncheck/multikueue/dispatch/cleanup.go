package dispatch

import (
	"slices"
	"strconv"
	"time"
)

// cleanUp removes whatever is seen of a Workload that is no more or has finished (contract: multikueue.md 4 P6, 4 case 2).
// Clusters out of reach are cleaned when they return: their events, or the orphan sweep, ask again.
func (t turn) cleanUp(because Reason) Plan {
	return t.stay(because, "removing what is left on the workers", t.retractAll(func(ClusterView) bool { return false })...)
}

// going handles a Workload that is being deleted and whose job stays. The job gets another Workload, which knows nothing of this
// one: so what may still run somewhere has to be known to be over first, by a live read or as the policy says.
func (t turn) going() Plan {
	if plan, ok := t.finished(); ok {
		return plan
	}
	if t.s.Bound != "" && !t.s.Retreating() || t.recordLost() {
		return t.move(t.s.retreat(t.nextEpoch()), Deleted, "the workload is being deleted")
	}
	if next, ok := t.acquit(); ok && !t.o.Local.JobActive {
		return t.move(next, Settled, "nothing of the deleted workload runs there any more")
	}
	plan := t.stay(Deleted, "removing what is left on the workers", t.depart()...)
	if t.o.Local.JobActive {
		t.awaitIdle(&plan)
	}
	plan.WakeAt = soonest(plan.WakeAt, t.letGo())
	t.excuse(&plan)
	return t.unbind(plan)
}

// letGo is when the next of the clusters out of reach that keep a deleted Workload may cease to on its own, zero for never.
func (t turn) letGo() (at time.Time) {
	for _, d := range t.s.Debts {
		v := t.view(d.Cluster)
		if h := t.hold(v, d.Stops); !v.connected() && !h.over {
			at = soonest(at, h.until)
		}
	}
	return at
}

// acquit is settle for a Workload that is not going to run again: also what the policy waits for no longer is settled, because
// there is no next job that would look.
func (t turn) acquit() (State, bool) {
	next, changed := t.settle(t.s)
	debts := slices.DeleteFunc(slices.Clone(next.Debts), func(d Debt) bool {
		v := t.view(d.Cluster)
		return !v.connected() && t.hold(v, d.Stops).over
	})
	if len(debts) == 0 {
		debts = nil
	}
	changed = changed || len(debts) < len(next.Debts)
	next.Debts = debts
	if changed && !next.owedBy(next.Bound) {
		next.Bound, next.Stops = "", false
	}
	return next, changed
}

// depart removes what is seen, reads the debtors that show nothing, and copies the last that is heard of the job: of several
// debtors, that of the latest one, or their statuses would take turns.
func (t turn) depart() []Action {
	var actions, copies []Action
	latest := t.latestShown()
	for _, v := range t.o.Clusters {
		owed := t.s.owedBy(v.Name)
		switch {
		case !v.connected():
			continue
		case v.removable() || t.stale(v):
			actions = append(actions, t.withdraw(v)...)
		case owed && t.answer(v) == nil && !t.o.Local.JobActive: // who waits for the job to be idle reads it anyway
			actions = append(actions, Action{Verb: LiveRead, Cluster: v.Name, Epoch: t.s.Epoch})
		}
		if v.Name == latest && v.Job.Behind {
			copies = append(copies, Action{Verb: CopyStatus, Cluster: v.Name, Epoch: t.s.Epoch})
		}
	}
	return append(actions, copies...)
}

// latestShown is the debtor whose job may be shown as the hub's and was made last, empty if there is none.
func (t turn) latestShown() string {
	name, epoch := "", int64(-1)
	for _, v := range t.o.Clusters {
		if v.connected() && t.s.owedBy(v.Name) && t.mayShow(v) && v.Job.Epoch > epoch {
			name, epoch = v.Name, v.Job.Epoch
		}
	}
	return name
}

// excuse says, after a while, why a Workload that somebody deleted does not go: in the check's message, and by an event.
func (t turn) excuse(plan *Plan) {
	l := t.o.Local
	if t.p.ExplainAfter <= 0 || l.Check == "" {
		return
	}
	text := ""
	for _, d := range t.s.Debts {
		v := t.view(d.Cluster)
		h := t.hold(v, d.Stops)
		if v.Link.State != Unreachable || h.over {
			continue
		}
		if at := v.Link.Since.Add(t.p.ExplainAfter); t.o.Now.Before(at) {
			plan.WakeAt = soonest(plan.WakeAt, at)
			continue
		}
		text += `; worker cluster ` + strconv.Quote(v.Name) + ` cannot be reached since ` + stampOf(v.Link.Since) + ": " + t.parole(h, d.Stops && v.Fenced)
	}
	if message := truncate(msgKept + text); text != "" && message != l.CheckMessage {
		plan.Verdict.Message, plan.Event = message, &Event{Warning: true, Message: message}
	}
}

// parole says what lets a deleted Workload go.
func (t turn) parole(h hold, fenced bool) string {
	if !t.strict() && !h.release.IsZero() {
		return "the workload is let go at " + stampOf(h.release)
	}
	return t.prospect(h, fenced)
}

// withoutQuota is the same for a Workload that waits for the hub's quota. A binding or nomination that the core left
// standing is turned into a retreat first, so that it cannot be mistaken for one of the next reservation. What is seen of a
// predecessor on a cluster out of reach is stored as well: a hub that starts anew sees nothing of it.
func (t turn) withoutQuota() Plan {
	next := t.s
	if next.Bound != "" && !next.Retreating() || len(next.Nominated) > 0 {
		next = next.retreat(t.nextEpoch())
	}
	next.Bound = ""
	next = t.credit(next)
	if next = t.inherit(next); !next.Equal(t.s) {
		return t.move(next, NoQuota, "the quota reservation ended, or an earlier owner of the name may still run")
	}
	return t.stay(NoQuota, "waiting for quota on the hub", t.retractAll(t.spares)...)
}

// retractAll removes everything of ours, of whatever epoch, from every cluster that can be talked to.
func (t turn) retractAll(spare func(ClusterView) bool) []Action {
	var actions []Action
	for _, v := range t.o.Clusters {
		if v.connected() && v.removable() {
			for _, a := range t.withdraw(v) {
				a.Spare = spare(v)
				actions = append(actions, a)
			}
		}
	}
	return actions
}

// refuse rejects a Workload whose owner cannot be dispatched (contract: multikueue.md 4 P3 and P4).
func (t turn) refuse() Plan {
	r := t.o.Local.Refusal
	message := `The owner is not managed by Kueue: ` + r.Detail
	switch {
	case r.Reason == NoAdapter && r.Detail != "":
		message = `No multikueue adapter found for owner kind "` + r.Detail + `"`
	case r.Reason == NoAdapter:
		message = `No multikueue adapter found`
	}
	next := t.s
	if next.Bound != "" && !next.Retreating() {
		next = next.retreat(t.nextEpoch())
	}
	return Plan{Next: next, Verdict: Verdict{Check: Rejected, Message: t.previously(message)}, Because: r.Reason, Message: message}
}
