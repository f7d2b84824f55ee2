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
	phase := t.phase()
	plan := t.withoutEntry(t.decide(phase))
	plan.Phase = phase
	if plan.Next.Epoch > s.Epoch && t.recordLost() {
		plan.Next = t.suspectAll(plan.Next)
	}
	if plan.Stores {
		plan.Actions = nil
	} else {
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

// FitsReservationWrite reports whether Next may go with the very write that makes the reservation that the Plan was made for, instead
// of one of its own: it begins the reservation's epoch, settles debts and nominates, and nothing else. A binding or a
// nomination that an earlier reservation left standing is never built upon: its retreat has to be stored first.
func (plan Plan) FitsReservationWrite(s State, l Local) bool {
	return s.Bound == "" && len(s.Nominated) == 0 && !plan.Next.Equal(s) && plan.Next.Bound == "" && plan.Event == nil &&
		plan.CheckResult == CheckResult{State: l.Check.State, Message: l.Check.Message}
}

// decision is one call of Step: its three inputs, and the questions that the cases ask of them.
type decision struct {
	state    State
	observed Observation
	policy   Policy
}

// decide calls the function of the phase.
func (t decision) decide(phase Phase) Plan {
	switch phase {
	case PhaseQueued:
		return t.queued()
	case PhaseOpen:
		return t.open()
	case PhaseBound:
		return t.bound()
	case PhaseRunning:
		return t.running()
	case PhaseRetreating:
		return t.retreating()
	case PhaseFinished:
		return t.finished()
	case PhaseGone:
		return t.gone()
	}
	panic("dispatch: unknown phase " + string(phase))
}

// withoutEntry is the plan of a Workload that has no entry for the check: nothing is stored that the entry would have to say. A
// run goes on, and cannot be given up, since the hub would not learn that it has to evict.
func (t decision) withoutEntry(plan Plan) Plan {
	if t.observed.Local.Check.State != "" || plan.CheckResult == t.presentResult() {
		return plan
	}
	instead := t.act(plan.Reason, plan.Message)
	instead.WakeAt = plan.WakeAt
	if !plan.Next.Equal(t.state) {
		instead.Actions = t.cleanOthers()
	}
	return instead
}

// presentResult is what the check says now.
func (t decision) presentResult() CheckResult {
	return CheckResult{State: t.observed.Local.Check.State, Message: t.observed.Local.Check.Message}
}

// act is the Plan that stores nothing.
func (t decision) act(reason Reason, message string, actions ...Action) Plan {
	return Plan{Next: t.state, CheckResult: t.presentResult(), Reason: reason, Message: message, Actions: actions}
}

// store is the Plan that stores another State and leaves the check as it is.
func (t decision) store(next State, reason Reason, message string) Plan {
	return Plan{Stores: true, Next: next, CheckResult: t.presentResult(), Reason: reason, Message: message}
}

// storeCheck is the Plan that stores another State, which may be the present one, and what the check says.
func (t decision) storeCheck(next State, check CheckState, reason Reason, message string) Plan {
	plan := t.store(next, reason, message)
	plan.CheckResult = CheckResult{State: check, Message: truncate(message)}
	return plan
}

// giveUp is the Plan of a retreat: the epoch is raised, the debt recorded and the check set to Retry in one write.
func (t decision) giveUp(reason Reason, message string, event *Event) Plan {
	plan := t.storeCheck(t.state.retreat(t.nextEpoch()), Retry, reason, message)
	plan.Event = event
	return plan
}

// report makes the plan store another message of the check, unless the check says that already or the Workload has no entry
// for it.
func (t decision) report(plan *Plan, message string) {
	l := t.observed.Local
	if message = truncate(message); l.Check.State == "" || message == l.Check.Message {
		return
	}
	plan.CheckResult.Message, plan.Stores = message, true
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
