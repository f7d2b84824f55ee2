package dispatch

import "time"

// Step decides what happens to one Workload next. It is total and deterministic: the same three values always give the
// same Plan, and once nothing changes any more, the same State and no Actions.
func Step(s State, o Observation, p Policy) Plan {
	if s.Epoch < 1 {
		s.Epoch = 1
	}
	o = o.normalizeStamps(s.Epoch)
	t := newDecision(&s, &o, &p)
	phase := t.phase()
	plan := t.withoutEntry(t.inheritOr(phase))
	plan.Phase = phase
	if plan.Next.Epoch > s.Epoch && (plan.Reason != TakenOver || t.record.earlierEvictions() > 0) && t.record.isLost() {
		plan.Next = t.record.suspectAll(plan.Next)
	}
	if plan.Stores {
		plan.Actions = nil
	} else {
		plan.WakeAt = earliest(plan.WakeAt, t.debts.nextPodsEnded())
	}
	plan.NothingReachable = !o.anythingReachable()
	return plan
}

// Explain is Step with the explanations filled in, which cost more than the decision.
func Explain(s State, o Observation, p Policy) Plan {
	plan := Step(s, o, p)
	s.Epoch = max(s.Epoch, 1)
	o = o.normalizeStamps(s.Epoch)
	x := newDecision(&s, &o, &p).explainer
	plan.Clusters = x.explainClusters(plan.Next)
	plan.Summary = x.summarize(plan)
	return plan
}

// FitsReservationWrite reports whether Next may go with the very write that makes the reservation that the Plan was made for,
// instead of one of its own: it begins the reservation's epoch, settles debts and nominates, and nothing else. A binding or a
// nomination that an earlier reservation left standing is never built upon: its retreat has to be stored first.
func (plan Plan) FitsReservationWrite(s State, l Local) bool {
	return s.Bound == "" && len(s.Nominated) == 0 && !plan.Next.Equal(s) && plan.Next.Bound == "" && plan.Event == nil &&
		plan.CheckResult == CheckResult{State: l.Check.State, Message: l.Check.Message}
}

// decision is one call of Step. Its methods are the phases: each looks at the three inputs, asks the parts below, and returns a
// Plan. Nothing in it changes while it decides.
type decision struct {
	// state, observed and policy are the inputs. The epoch is at least 1, and the stamps are those that count.
	state    *State
	observed *Observation
	policy   *Policy
	// lost, debts, record and results say what is known: of clusters out of reach, of what earlier epochs left, of the stored
	// record, and of how a run has ended.
	lost    lostClusters
	debts   debts
	record  recordCheck
	results runResults
	// retained says what of a finished Workload stays where it ran.
	retained retention
	// eligibility, nominator and gates choose clusters: those that may have an offer, those that get one, and the one whose
	// preemption gate is opened.
	eligibility eligibility
	nominator   nominator
	gates       preemptionGates
	// actions, planner and explainer make the outcome: the actions for each cluster, the Plan, and the words of the check's
	// message.
	actions   workerActions
	planner   planner
	explainer explainer
}

// newDecision returns the decision on the three inputs. The caller must not change them afterwards.
func newDecision(s *State, o *Observation, p *Policy) decision {
	lost := lostClusters{observed: o, policy: p}
	ds := debts{state: s, observed: o, policy: p, lost: lost}
	record := recordCheck{state: s, observed: o}
	results := runResults{state: s, observed: o}
	el := eligibility{state: s, policy: p, siblings: o.Local.Siblings}
	pl := planner{state: s, check: o.Local.Check, note: unfencedNote(o.Local.Job, p)}
	return decision{
		state: s, observed: o, policy: p,
		lost:        lost,
		debts:       ds,
		record:      record,
		results:     results,
		retained:    retention{state: s, observed: o, policy: p},
		eligibility: el,
		nominator:   nominator{state: s, observed: o, policy: p, lost: lost, eligibility: el},
		gates:       preemptionGates{state: s, observed: o, policy: p, eligibility: el},
		actions:     workerActions{state: s, observed: o, policy: p, record: record, results: results, eligibility: el, debts: ds},
		planner:     pl,
		explainer:   explainer{state: s, observed: o, policy: p, lost: lost, eligibility: el, planner: pl},
	}
}

// earliest returns the earlier of two times, where zero means never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
