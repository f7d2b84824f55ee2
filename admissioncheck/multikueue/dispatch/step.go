package dispatch

import "time"

// Step decides what happens to one Workload next. It is total and deterministic: the same three values always give the
// same Plan, and once nothing changes any more, the same State and no Actions.
func Step(s State, o Observation, p Policy) Plan {
	if s.Epoch < 1 {
		s.Epoch = 1
	}
	o = o.read(s.Epoch)
	t := turn{s: s, o: o, p: p}
	plan := t.sayable(t.decide())
	if plan.Next.Epoch > s.Epoch && t.recordLost() {
		plan.Next = t.suspect(plan.Next)
	}
	if !plan.Next.Equal(s) || plan.Verdict != t.verdict() {
		plan.Actions = nil
	}
	if !plan.Writes(s, o.Local) {
		plan.WakeAt = soonest(plan.WakeAt, t.nextEmptied())
	}
	plan.Settled = !t.anythingReachable()
	return plan
}

// Explain is Step with the explanations filled in, which cost more than the decision.
func Explain(s State, o Observation, p Policy) Plan {
	plan := Step(s, o, p)
	s.Epoch = max(s.Epoch, 1)
	t := turn{s: s, o: o.read(s.Epoch), p: p}
	plan.Clusters = t.explain(plan.Next)
	plan.Summary = t.summary(plan)
	return plan
}

// Writes reports whether the Plan is one that stores something, given what it was made from, and so must not act.
func (plan Plan) Writes(s State, l Local) bool {
	return !plan.Next.Equal(s) || plan.Verdict != Verdict{Check: l.Check, Message: l.CheckMessage}
}

// Prepares reports whether Next may go with the very write that makes the reservation that the Plan was made for, instead
// of one of its own: it begins the reservation's epoch, settles debts and nominates, and nothing else. A binding or a
// nomination that an earlier reservation left standing is never built upon: its retreat has to be stored first.
func (plan Plan) Prepares(s State, l Local) bool {
	return s.Bound == "" && len(s.Nominated) == 0 && !plan.Next.Equal(s) && plan.Next.Bound == "" && plan.Event == nil &&
		plan.Verdict == Verdict{Check: l.Check, Message: l.CheckMessage}
}

// turn is one call of Step: its three inputs, and the questions that the cases ask of them.
type turn struct {
	s State
	o Observation
	p Policy
}

// decide goes through the cases in the contract's order (multikueue.md 4), with one change: a finished run is a fact
// even when the hub has just lost its quota or evicts.
func (t turn) decide() Plan {
	l := t.o.Local
	switch {
	case l.Deleted && l.Kept && !l.Finished:
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
		return t.refuse()
	case l.Evicted:
		return t.evicted()
	case l.Check == Retry || l.Check == Rejected || t.s.Retreating():
		return t.retreating()
	case t.s.Bound != "":
		return t.bound()
	default:
		return t.open()
	}
}

// sayable is the plan where there is a check to say things in. Where the Workload has no entry for it any more, nothing is done
// that would have to be said: a run goes on, and cannot be given up, since nobody would be told to evict it.
func (t turn) sayable(plan Plan) Plan {
	switch {
	case t.o.Local.Check != "" || plan.Verdict == t.verdict():
		return plan
	case plan.Next.Equal(t.s):
		plan.Verdict, plan.Event = t.verdict(), nil
		return plan
	}
	wake := plan.WakeAt
	plan = t.stay(plan.Because, plan.Message, t.dismiss()...)
	plan.WakeAt = wake
	return plan
}

// verdict is what the check says now.
func (t turn) verdict() Verdict {
	return Verdict{Check: t.o.Local.Check, Message: t.o.Local.CheckMessage}
}

// stay is the Plan that stores nothing.
func (t turn) stay(because Reason, message string, actions ...Action) Plan {
	return Plan{Next: t.s, Verdict: t.verdict(), Because: because, Message: message, Actions: actions}
}

// move is the Plan that stores another State under the same verdict.
func (t turn) move(next State, because Reason, message string) Plan {
	return Plan{Next: next, Verdict: t.verdict(), Because: because, Message: message}
}

// giveUp is the Plan of a retreat: the epoch is raised, the debt recorded and the check set to Retry in one write.
func (t turn) giveUp(because Reason, message string, event *Event) Plan {
	return Plan{
		Next:    t.s.retreat(t.nextEpoch()),
		Verdict: Verdict{Check: Retry, Message: truncate(message)},
		Because: because,
		Message: message,
		Event:   event,
	}
}

// view returns what is known of a cluster; a cluster nobody told us about is Unknown.
func (t turn) view(name string) ClusterView {
	for _, v := range t.o.Clusters {
		if v.Name == name {
			return v
		}
	}
	return ClusterView{Name: name}
}

// soonest returns the earlier of two times, where zero means never.
func soonest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
