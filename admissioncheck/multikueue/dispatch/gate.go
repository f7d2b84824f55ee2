package dispatch

import "time"

// gateTimeout is how long an opened gate has to bring an admission (contract: multikueue.md 8).
const gateTimeout = 5 * time.Minute

// openGate lets one copy preempt, if preemption is orchestrated: the first that has signalled that it must, unless a gate
// was opened a short while ago, or a cluster that would not have to preempt has the copy and still some time. Who was asked to
// open its gate remains the one until that is seen, whatever signal turns up meanwhile: two opened gates are two preemptions.
func (t turn) openGate(plan *Plan) {
	if !t.p.Orchestrate || plan.Writes(t.s, t.o.Local) {
		return
	}
	if until := t.gateOpenUntil(); t.o.Now.Before(until) {
		plan.WakeAt = soonest(plan.WakeAt, until)
		return
	}
	var first *ClusterView
	for i := range t.o.Clusters {
		v := &t.o.Clusters[i]
		if t.gated(*v) && (first == nil || opensBefore(*v, *first)) {
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
	plan.Actions = append(plan.Actions, Action{Verb: OpenGate, Cluster: first.Name, Epoch: t.s.Epoch})
}

// gateOpenUntil is how long the gate that was opened last keeps the others closed.
func (t turn) gateOpenUntil() time.Time {
	var last time.Time
	for _, v := range t.o.Clusters {
		if t.s.currentCopy(v.Copy) && !v.Copy.GateClosed && !v.Copy.GateOpenedAt.IsZero() {
			last = later(last, v.Copy.GateOpenedAt)
		}
	}
	if last.IsZero() {
		return last
	}
	if t.p.GateTimeout > 0 {
		return last.Add(t.p.GateTimeout)
	}
	return last.Add(gateTimeout)
}

// waits reports whether a nominated cluster's copy may still be admitted there.
func (t turn) waits(v ClusterView) bool {
	return t.s.nominates(v.Name) && t.s.currentCopy(v.Copy) && !v.Copy.Deleting && !t.refuses(v)
}

// gated reports whether a copy waits for its gate and nothing else.
func (t turn) gated(v ClusterView) bool {
	return t.p.Orchestrate && t.waits(v) && v.Copy.GateClosed && v.Copy.BlockedOnGate
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

// opensBefore says whose gate is to be opened of two that are closed.
func opensBefore(a, b ClusterView) bool {
	if a.GateAsked != b.GateAsked {
		return a.GateAsked
	}
	return signalledBefore(a, b)
}

// signalledBefore says whose signal came first; equal times are broken by name.
func signalledBefore(a, b ClusterView) bool {
	at, bt := a.Copy.BlockedSince, b.Copy.BlockedSince
	return at.Before(bt) || at.Equal(bt) && a.Name < b.Name
}
