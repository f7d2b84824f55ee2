package dispatch

import (
	"cmp"
	"strings"
	"time"
)

// gateTimeout is how long an opened gate has to bring an admission (contract: multikueue.md 8).
const gateTimeout = 5 * time.Minute

// openGate lets one copy preempt, if preemption is orchestrated: the first that has signalled that it must, unless a gate
// was opened a short while ago, or a cluster that would not have to preempt has the copy and still some time. Who was asked to
// open its gate remains the one for as long as it may be open, whatever becomes of the cluster and whatever signal turns up
// meanwhile: two opened gates are two preemptions.
func (t turn) openGate(plan *Plan) {
	if !t.p.Orchestrate || plan.Writes(t.s, t.o.Local) {
		return
	}
	if v, until := t.openOrAsked(); t.o.Now.Before(until) {
		plan.WakeAt = soonest(plan.WakeAt, until)
		if t.askable(v) && t.o.Now.Before(v.GateAskedFrom.Add(t.gateTime())) {
			t.ask(plan, v) // perhaps it is not open
		}
		return
	}
	var first *ClusterView
	for i := range t.o.Clusters {
		v := &t.o.Clusters[i]
		if t.askable(*v) && (first == nil || opensBefore(*v, *first)) {
			first = v
		}
	}
	switch {
	case first == nil:
		return
	case t.easier() && !first.GateAsked:
		if until := first.Copy.BlockedSince.Add(t.p.HedgeAfter); t.o.Now.Before(until) {
			plan.WakeAt = soonest(plan.WakeAt, until)
			return
		}
	}
	t.ask(plan, *first)
}

func (t turn) ask(plan *Plan, v ClusterView) {
	plan.Actions = append(plan.Actions, Action{Verb: OpenGate, Cluster: v.Name, Epoch: t.s.Epoch})
}

func (t turn) gateTime() time.Duration {
	if t.p.GateTimeout > 0 {
		return t.p.GateTimeout
	}
	return gateTimeout
}

// openOrAsked returns the cluster whose gate was opened last, or may have been, and how long that keeps the others closed: not
// at all if there is none. One that is seen open comes before those that were asked: workers have clocks of their own.
func (t turn) openOrAsked() (last ClusterView, until time.Time) {
	var at time.Time
	seen := false
	for _, v := range t.o.Clusters {
		opened, open := t.openedAt(v), t.s.currentCopy(v.Copy) && !v.Copy.GateClosed
		if open && !t.o.Now.Before(opened.Add(t.gateTime())) {
			continue // it had its time
		}
		if open && !seen || open == seen && at.Before(opened) {
			last, at, seen = v, opened, open
		}
	}
	if at.IsZero() {
		return last, at
	}
	return last, at.Add(t.gateTime())
}

// openedAt is when the gate of a copy was opened, or may have been; zero if it was not. What has been evicted there since has a closed
// gate, and what is not there any more has none.
func (t turn) openedAt(v ClusterView) time.Time {
	c := v.Copy
	switch {
	case t.s.currentCopy(c) && !c.GateClosed:
		return later(c.GateOpenedAt, v.GateAskedAt)
	case !v.connected(), t.s.currentCopy(c) && !c.Deleting && !c.evictedSince(v.GateAskedAt) && !c.Deactivating && c.Finished == nil:
		return v.GateAskedAt
	}
	return time.Time{}
}

// evictedSince reports whether a copy was evicted after a call, as far as the clocks of two clusters tell: a gate that was opened after
// the eviction is open.
func (c Copy) evictedSince(call time.Time) bool {
	return c.Evicted && c.EvictedAt.After(call.Add(gateSkew))
}

// gateSkew is how far the clocks of a worker and of the hub may be apart for its word on when a gate was opened, or closed, to be taken.
const gateSkew = time.Minute

// OpenedBy reports whether a copy shows the gate that a call opened, which began at a time: not one that was opened long before, and may
// have been closed since.
func (c Copy) OpenedBy(call time.Time) bool {
	return c.Holder == Ours && !c.GateClosed && !c.GateOpenedAt.Before(call.Add(-gateSkew))
}

// waits reports whether a nominated cluster's copy may still be admitted there.
func (t turn) waits(v ClusterView) bool {
	return t.s.nominates(v.Name) && t.s.currentCopy(v.Copy) && !v.Copy.Deleting && !t.refuses(v)
}

// gated reports whether a copy waits for its gate and nothing else.
func (t turn) gated(v ClusterView) bool {
	return t.p.Orchestrate && t.waits(v) && v.Copy.GateClosed && v.Copy.BlockedOnGate
}

// askable reports whether the gate of a copy can be opened. That the last call to open it has failed is no reason not to try again.
func (t turn) askable(v ClusterView) bool {
	if v.GateAsked {
		v.Trouble = ""
	}
	return t.gated(v)
}

// easier reports whether some cluster may still admit the Workload without preempting anybody.
func (t turn) easier() bool {
	for _, v := range t.o.Clusters {
		if t.waits(v) && !v.Preempting && !v.Copy.BlockedOnGate {
			return true
		}
	}
	return false
}

// opensBefore says whose gate is to be opened of two that are closed: of the one that is being asked; otherwise of the one whose
// signal came first, equal times by name; and of one that was asked in vain only if there is no other.
func opensBefore(a, b ClusterView) bool {
	return cmp.Or(cmp.Compare(a.asked(), b.asked()), a.Copy.BlockedSince.Compare(b.Copy.BlockedSince), strings.Compare(a.Name, b.Name)) < 0
}

// asked ranks a cluster: it is being asked to open its gate, was not asked, or was asked in vain.
func (v ClusterView) asked() int {
	switch {
	case !v.GateAsked:
		return 1
	case v.GateAskedAt.IsZero() && v.Trouble == "":
		return 0
	}
	return 2
}
