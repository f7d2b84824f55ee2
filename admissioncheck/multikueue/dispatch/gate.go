package dispatch

import (
	"cmp"
	"strings"
	"time"
)

// defaultGateTimeout is how long an opened gate has to bring an admission (contract: multikueue.md 8).
const defaultGateTimeout = 5 * time.Minute

// openNextGate lets one copy preempt, if preemption is orchestrated: the first that has signalled that it must, unless a gate
// was opened a short while ago, or a cluster that would not have to preempt has the copy and still some time. Who was asked to
// open its gate remains the one for as long as it may be open, whatever becomes of the cluster and whatever signal turns up
// meanwhile: two opened gates are two preemptions.
func (t decision) openNextGate(plan *Plan) {
	if !t.policy.OrchestratePreemption || plan.Stores {
		return
	}
	if v, until := t.gateInUse(); t.observed.Now.Before(until) {
		plan.WakeAt = earliest(plan.WakeAt, until)
		if t.canOpenGate(v) && t.observed.Now.Before(v.Offer.GateFirstRequestedAt.Add(t.gateTimeout())) {
			t.addOpenGate(plan, v) // perhaps it is not open
		}
		return
	}
	var first *ClusterView
	for i := range t.observed.Clusters {
		v := &t.observed.Clusters[i]
		if t.canOpenGate(*v) && (first == nil || opensBefore(*v, *first)) {
			first = v
		}
	}
	switch {
	case first == nil:
		return
	case t.canAdmitWithoutPreemption() && !first.Offer.GateRequested:
		if until := first.Copy.BlockedSince.Add(t.policy.HedgeAfter); t.observed.Now.Before(until) {
			plan.WakeAt = earliest(plan.WakeAt, until)
			return
		}
	}
	t.addOpenGate(plan, *first)
}

func (t decision) addOpenGate(plan *Plan, v ClusterView) {
	plan.Actions = append(plan.Actions, Action{Verb: OpenGate, Cluster: v.Name, Epoch: t.state.Epoch})
}

func (t decision) gateTimeout() time.Duration {
	if t.policy.GateTimeout > 0 {
		return t.policy.GateTimeout
	}
	return defaultGateTimeout
}

// gateInUse returns the cluster whose gate was opened last, or may have been, and how long that keeps the others closed: not
// at all if there is none. One that is seen open comes before those that were asked: workers have clocks of their own.
func (t decision) gateInUse() (last ClusterView, until time.Time) {
	var at time.Time
	seen := false
	for _, v := range t.observed.Clusters {
		opened, open := t.gateOpenedAt(v), t.state.isCurrentCopy(v.Copy) && !v.Copy.GateClosed
		if open && !t.observed.Now.Before(opened.Add(t.gateTimeout())) {
			continue // it had its time
		}
		if open && !seen || open == seen && at.Before(opened) {
			last, at, seen = v, opened, open
		}
	}
	if at.IsZero() {
		return last, at
	}
	return last, at.Add(t.gateTimeout())
}

// gateOpenedAt is when the gate of a copy was opened, or may have been; zero if it was not. What has been evicted there since has a closed
// gate, and what is not there any more has none.
func (t decision) gateOpenedAt(v ClusterView) time.Time {
	c := v.Copy
	switch {
	case t.state.isCurrentCopy(c) && !c.GateClosed:
		return later(c.GateOpenedAt, v.Offer.GateRequestedAt)
	case !v.connected(), t.state.isCurrentCopy(c) && !c.Deleting && !c.evictedSince(v.Offer.GateRequestedAt) && !c.Deactivating && c.Finished == nil:
		return v.Offer.GateRequestedAt
	}
	return time.Time{}
}

// evictedSince reports whether a copy was evicted after a call, as far as the clocks of two clusters tell: a gate that was opened after
// the eviction is open.
func (c Copy) evictedSince(call time.Time) bool {
	return c.Evicted && c.EvictedAt.After(call.Add(maxClockSkew))
}

// maxClockSkew is how far the clocks of a worker and of the hub may be apart for its word on when a gate was opened, or closed, to be taken.
const maxClockSkew = time.Minute

// GateOpenedBy reports whether a copy shows the gate that a call opened, which began at a time: not one that was opened long before, and may
// have been closed since.
func (c Copy) GateOpenedBy(call time.Time) bool {
	return c.Holder == Ours && !c.GateClosed && !c.GateOpenedAt.Before(call.Add(-maxClockSkew))
}

// mayStillAdmit reports whether a nominated cluster's copy may still be admitted there.
func (t decision) mayStillAdmit(v ClusterView) bool {
	return t.state.isNominated(v.Name) && t.state.isCurrentCopy(v.Copy) && !v.Copy.Deleting && !t.cannotAdmit(v)
}

// waitsForGate reports whether a copy waits for its gate and nothing else.
func (t decision) waitsForGate(v ClusterView) bool {
	return t.policy.OrchestratePreemption && t.mayStillAdmit(v) && v.Copy.GateClosed && v.Copy.BlockedOnGate
}

// canOpenGate reports whether the gate of a copy can be opened. That the last call to open it has failed is no reason not to try again.
func (t decision) canOpenGate(v ClusterView) bool {
	if v.Offer.GateRequested {
		v.Health.Trouble = ""
	}
	return t.waitsForGate(v)
}

// canAdmitWithoutPreemption reports whether some cluster may still admit the Workload without preempting anybody.
func (t decision) canAdmitWithoutPreemption() bool {
	for _, v := range t.observed.Clusters {
		if t.mayStillAdmit(v) && !v.Fit.Preempting && !v.Copy.BlockedOnGate {
			return true
		}
	}
	return false
}

// opensBefore says whose gate is to be opened of two that are closed: of the one that is being asked; otherwise of the one whose
// signal came first, equal times by name; and of one that was asked in vain only if there is no other.
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
