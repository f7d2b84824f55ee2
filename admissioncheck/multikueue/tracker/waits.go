package tracker

import (
	"slices"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// loserRemovalTimeout is how long the winner's job waits for the losers' copies to be gone.
const loserRemovalTimeout = time.Second

// DeferJobCreation keeps the contract's order of removing the losers before the winner's job is created (contract: multikueue.md
// 4 case 6b), as long as the losers are quick: safety does not depend on the order, and a slow loser must not delay the winner.
// Pending reports whether a removal is under way and has not failed. It returns the actions to carry out, and when to decide
// again; zero for no particular time.
func (t *Tracker) DeferJobCreation(
	w Workload, actions []dispatch.Action, pending func(dispatch.Action) bool, now time.Time,
) (due []dispatch.Action, until time.Time) {
	creates := func(a dispatch.Action) bool { return a.Verb == dispatch.CreateJob }
	removes := func(a dispatch.Action) bool { return a.Verb == dispatch.Retract && pending(a) }
	if !slices.ContainsFunc(actions, creates) || !slices.ContainsFunc(actions, removes) {
		if s := t.lookup(w); s != nil {
			s.losersAwaitedAt = time.Time{}
		}
		return actions, time.Time{}
	}
	s := t.state(w, now)
	if s.losersAwaitedAt.IsZero() {
		s.losersAwaitedAt = now
	}
	if until = s.losersAwaitedAt.Add(loserRemovalTimeout); !now.Before(until) {
		return actions, time.Time{}
	}
	return slices.DeleteFunc(slices.Clone(actions), creates), until
}

// AwaitFinish returns until when the hub's job controller may record the end that the hub's job shows: several times what nine
// in ten of the last ends took, since the first call for this Workload.
func (t *Tracker) AwaitFinish(w Workload, now time.Time) (until time.Time) {
	s := t.state(w, now)
	if s.finishAwaitedAt.IsZero() {
		s.finishAwaitedAt = now
	}
	return s.finishAwaitedAt.Add(min(max(finishFactor*t.finishes.percentile90(), minFinishDelay), maxFinishDelay))
}

// FinishTaken records that the dispatcher has recorded the end itself: how long the job controller would have taken is not known.
func (t *Tracker) FinishTaken(w Workload) {
	if s := t.lookup(w); s != nil {
		s.finishAwaitedAt = time.Time{}
	}
}

// recordFinish records how long the job controller took for an end that was awaited.
func (t *Tracker) recordFinish(w Workload, now time.Time) {
	if s := t.lookup(w); s != nil && !s.finishAwaitedAt.IsZero() {
		t.finishes.add(now.Sub(s.finishAwaitedAt))
	}
}

// StatusCopied records that the status of the remote job was copied to the hub's.
func (t *Tracker) StatusCopied(w Workload, now time.Time) { t.state(w, now).statusCopiedAt = now }

// StatusCopiedAt is when that was done last; zero for never.
func (t *Tracker) StatusCopiedAt(w Workload) time.Time {
	if s := t.lookup(w); s != nil {
		return s.statusCopiedAt
	}
	return time.Time{}
}
