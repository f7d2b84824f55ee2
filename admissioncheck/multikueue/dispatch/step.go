package dispatch

import "time"

// Step decides what happens to one Workload next. It is total and deterministic: the same three values always give the
// same Plan, and once nothing changes any more, the same State and no Actions.
func Step(s State, o Observation, p Policy) Plan {
	if s.Epoch < 1 {
		s.Epoch = 1
	}
	o = o.normalizeStamps(s.Epoch)
	t := decision{state: s, observed: o, policy: p}
	plan := t.withoutEntry(t.decide())
	if plan.Next.Epoch > s.Epoch && t.recordLost() {
		plan.Next = t.suspectAll(plan.Next)
	}
	if !plan.Next.Equal(s) || plan.CheckResult != t.presentResult() {
		plan.Actions = nil
	}
	if !plan.Writes(s, o.Local) {
		plan.WakeAt = earliest(plan.WakeAt, t.nextPodsEnded())
	}
	plan.NothingReachable = !t.anythingReachable()
	return plan
}

// Explain is Step with the explanations filled in, which cost more than the decision.
func Explain(s State, o Observation, p Policy) Plan {
	plan := Step(s, o, p)
	s.Epoch = max(s.Epoch, 1)
	t := decision{state: s, observed: o.normalizeStamps(s.Epoch), policy: p}
	plan.Clusters = t.explainClusters(plan.Next)
	plan.Summary = t.summarize(plan)
	return plan
}

// Writes reports whether the Plan is one that stores something, given what it was made from, and so must not act.
func (plan Plan) Writes(s State, l Local) bool {
	return !plan.Next.Equal(s) || plan.CheckResult != CheckResult{State: l.Check, Message: l.CheckMessage}
}

// FitsReservationWrite reports whether Next may go with the very write that makes the reservation that the Plan was made for, instead
// of one of its own: it begins the reservation's epoch, settles debts and nominates, and nothing else. A binding or a
// nomination that an earlier reservation left standing is never built upon: its retreat has to be stored first.
func (plan Plan) FitsReservationWrite(s State, l Local) bool {
	return s.Bound == "" && len(s.Nominated) == 0 && !plan.Next.Equal(s) && plan.Next.Bound == "" && plan.Event == nil &&
		plan.CheckResult == CheckResult{State: l.Check, Message: l.CheckMessage}
}

// decision is one call of Step: its three inputs, and the questions that the cases ask of them.
type decision struct {
	state    State
	observed Observation
	policy   Policy
}

// decide goes through the cases in the contract's order (multikueue.md 4), with one change: a finished run is a fact
// even when the hub has just lost its quota or evicts.
func (t decision) decide() Plan {
	l := t.observed.Local
	switch {
	case l.Deleted && l.KeptForJob && !l.Finished:
		return t.going()
	case l.Deleted:
		return t.cleanUp(Deleted)
	case l.Finished:
		return t.cleanUp(Done)
	}
	if plan, ok := t.finished(); ok {
		return plan
	}
	switch {
	case !l.QuotaReserved:
		return t.withoutQuota()
	case l.Refusal.Reason != "" && l.Check != Rejected:
		return t.reject()
	case l.Evicted:
		return t.evicted()
	case l.Check == Retry || l.Check == Rejected || t.state.Retreating():
		return t.retreating()
	case t.state.Bound != "":
		return t.bound()
	default:
		return t.open()
	}
}

// withoutEntry is the plan where there is a check to say things in. Where the Workload has no entry for it any more, nothing is done
// that would have to be said: a run goes on, and cannot be given up, since nobody would be told to evict it.
func (t decision) withoutEntry(plan Plan) Plan {
	switch {
	case t.observed.Local.Check != "" || plan.CheckResult == t.presentResult():
		return plan
	case plan.Next.Equal(t.state):
		plan.CheckResult, plan.Event = t.presentResult(), nil
		return plan
	}
	wake := plan.WakeAt
	plan = t.act(plan.Reason, plan.Message, t.cleanOthers()...)
	plan.WakeAt = wake
	return plan
}

// presentResult is what the check says now.
func (t decision) presentResult() CheckResult {
	return CheckResult{State: t.observed.Local.Check, Message: t.observed.Local.CheckMessage}
}

// act is the Plan that stores nothing.
func (t decision) act(because Reason, message string, actions ...Action) Plan {
	return Plan{Next: t.state, CheckResult: t.presentResult(), Reason: because, Message: message, Actions: actions}
}

// store is the Plan that stores another State under the same verdict.
func (t decision) store(next State, because Reason, message string) Plan {
	return Plan{Next: next, CheckResult: t.presentResult(), Reason: because, Message: message}
}

// giveUp is the Plan of a retreat: the epoch is raised, the debt recorded and the check set to Retry in one write.
func (t decision) giveUp(because Reason, message string, event *Event) Plan {
	return Plan{
		Next:        t.state.retreat(t.nextEpoch()),
		CheckResult: CheckResult{State: Retry, Message: truncate(message)},
		Reason:      because,
		Message:     message,
		Event:       event,
	}
}

// view returns what is known of a cluster; a cluster nobody told us about is Unknown.
func (t decision) view(name string) ClusterView {
	for _, v := range t.observed.Clusters {
		if v.Name == name {
			return v
		}
	}
	return ClusterView{Name: name}
}

// earliest returns the earlier of two times, where zero means never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
