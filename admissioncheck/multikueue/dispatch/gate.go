package dispatch

import (
	"cmp"
	"strings"
	"time"
)

// preemptionGates says which copy's preemption gate is opened next, of those that wait for nothing else.
type preemptionGates struct {
	state       *State
	observed    *Observation
	policy      *Policy
	eligibility eligibility
}

// defaultGateTimeout is how long an opened gate has to bring an admission (contract: multikueue.md 8).
const defaultGateTimeout = 5 * time.Minute

// openNextGate lets one copy preempt, if preemption is orchestrated: the first that has signalled that it must, unless a gate
// was opened a short while ago, or a cluster that would not have to preempt has the copy and still some time. A cluster that was
// asked to open its gate remains the one for as long as that may be open, whatever becomes of the cluster and whatever signal
// turns up meanwhile: two opened gates are two preemptions.
func (g preemptionGates) openNextGate(plan *Plan) {
	if !g.policy.OrchestratePreemption || plan.Stores {
		return
	}
	if v, until := g.gateInUse(); g.observed.Now.Before(until) {
		plan.WakeAt = earliest(plan.WakeAt, until)
		if g.eligibility.canOpenGate(v) && g.observed.Now.Before(v.Offer.GateFirstRequestedAt.Add(g.policy.gateTimeout())) {
			g.addOpenGate(plan, v) // perhaps it is not open
		}
		return
	}
	var first *ClusterView
	for i := range g.observed.Clusters {
		v := &g.observed.Clusters[i]
		if g.eligibility.canOpenGate(*v) && (first == nil || opensBefore(*v, *first)) {
			first = v
		}
	}
	switch {
	case first == nil:
		return
	case g.canAdmitWithoutPreemption() && !first.Offer.GateRequested:
		if until := first.Copy.BlockedSince.Add(g.policy.HedgeAfter); g.observed.Now.Before(until) {
			plan.WakeAt = earliest(plan.WakeAt, until)
			return
		}
	}
	g.addOpenGate(plan, *first)
}

// addOpenGate adds to the plan that the gate of a cluster's copy is opened.
func (g preemptionGates) addOpenGate(plan *Plan, v ClusterView) {
	plan.Actions = append(plan.Actions, Action{Verb: OpenGate, Cluster: v.Name, Epoch: g.state.Epoch})
}

// gateInUse returns the cluster whose gate was opened last, or may have been, and how long that keeps the others closed: not
// at all if there is none. One that is seen open comes before those that were asked: workers have clocks of their own.
func (g preemptionGates) gateInUse() (last ClusterView, until time.Time) {
	var at time.Time
	seen := false
	for _, v := range g.observed.Clusters {
		opened, open := g.state.gateOpenedAt(v), g.state.isCurrentCopy(v.Copy) && !v.Copy.GateClosed
		if open && !g.observed.Now.Before(opened.Add(g.policy.gateTimeout())) {
			continue // it had its time
		}
		if open && !seen || open == seen && at.Before(opened) {
			last, at, seen = v, opened, open
		}
	}
	if at.IsZero() {
		return last, at
	}
	return last, at.Add(g.policy.gateTimeout())
}

// gateOpenedAt is when the gate of a copy was opened, or may have been; zero if it was not. What has been evicted there since
// has a closed gate, and what is not there any more has none.
func (s State) gateOpenedAt(v ClusterView) time.Time {
	c := v.Copy
	switch {
	case s.isCurrentCopy(c) && !c.GateClosed:
		return later(c.GateOpenedAt, v.Offer.GateRequestedAt)
	case !v.connected(), s.isCurrentCopy(c) && !c.Deleting && !c.evictedSince(v.Offer.GateRequestedAt) && !c.Deactivating && c.Finished == nil:
		return v.Offer.GateRequestedAt
	}
	return time.Time{}
}

// evictedSince reports whether a copy was evicted after a call, as far as the clocks of two clusters tell: a gate that was
// opened after the eviction is open.
func (c Copy) evictedSince(call time.Time) bool {
	return c.Evicted && c.EvictedAt.After(call.Add(maxClockSkew))
}

// maxClockSkew is how far the clocks of a worker and of the hub may be apart for its word on when a gate was opened, or closed,
// to be taken.
const maxClockSkew = time.Minute

// GateOpenedBy reports whether a copy shows the gate that a call opened, which began at a time: not one that was opened long
// before, and may have been closed since.
func (c Copy) GateOpenedBy(call time.Time) bool {
	return c.Holder == Ours && !c.GateClosed && !c.GateOpenedAt.Before(call.Add(-maxClockSkew))
}

// canAdmitWithoutPreemption reports whether some cluster may still admit the Workload without preempting others.
func (g preemptionGates) canAdmitWithoutPreemption() bool {
	for _, v := range g.observed.Clusters {
		if g.eligibility.mayStillAdmit(v) && !v.Fit.Preempting && !v.Copy.BlockedOnGate {
			return true
		}
	}
	return false
}

// opensBefore reports whether the gate on a is opened before that on b. A cluster that is being asked comes first, one that was
// asked in vain last. Otherwise the earlier signal decides, and then the name.
func opensBefore(a, b ClusterView) bool {
	return cmp.Or(cmp.Compare(a.gateRank(), b.gateRank()), a.Copy.BlockedSince.Compare(b.Copy.BlockedSince), strings.Compare(a.Name, b.Name)) < 0
}

// gateRank ranks a cluster: it is being asked to open its gate, was not asked, or was asked in vain.
func (v ClusterView) gateRank() int {
	switch {
	case !v.Offer.GateRequested:
		return 1
	case v.Offer.GateRequestedAt.IsZero() && v.Health.Trouble == "":
		return 0
	}
	return 2
}
