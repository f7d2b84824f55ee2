package dispatch

import (
	"strconv"
	"strings"
	"time"
)

// hold is what keeps a Workload from running elsewhere while a cluster that may run it cannot be talked to.
type hold struct {
	// over is set if nothing does any more.
	over bool
	// reason is InGrace, CutOffHub, FenceWait, Held or Unfenced; or, when it is over, RemoteLost or DeclaredGone.
	reason Reason
	// until is when it changes on its own, zero for never; release is when it is over on its own, zero for never.
	until, release time.Time
}

// isIndefinite reports whether only the cluster's return or a person's word ends it.
func (h hold) isIndefinite() bool { return h.reason == Held || h.reason == Unfenced }

// hold says how long a cluster that cannot be talked to keeps what it may run. Stops says that its job was stamped so that it
// stops when the worker misses the hub.
func (t decision) hold(v ClusterView, stops bool) hold {
	end, runs := t.graceEnd(v)
	early := t.observed.Now.Before(end)
	switch {
	case t.isDeclaredGone(v):
		return hold{over: true, reason: DeclaredGone}
	case !runs && v.Link.State == Unreachable:
		return hold{reason: CutOffHub}
	case !runs:
		return hold{reason: InGrace}
	case t.policy.OnWorkerLost == Hold:
		return t.indefiniteHold(Held, end, early)
	case t.policy.OnHubLost != Stop:
		return hold{over: !early, reason: chooseReason(early, InGrace, RemoteLost), until: end, release: end}
	case !stops || !v.Fence.Alive || v.Fence.RenewedAt.IsZero():
		return t.indefiniteHold(Unfenced, end, early)
	}
	release := later(end, t.stoppedBy(v))
	switch {
	case early:
		return hold{reason: InGrace, until: release, release: release}
	case t.observed.Now.Before(release):
		return hold{reason: FenceWait, until: release, release: release}
	}
	return hold{over: true, reason: RemoteLost, release: release}
}

// indefiniteHold is the hold that does not end on its own: it is called a grace as long as there would be one anyway.
func (t decision) indefiniteHold(because Reason, end time.Time, early bool) hold {
	if early {
		return hold{reason: InGrace, until: end}
	}
	return hold{reason: because}
}

func chooseReason(first bool, a, b Reason) Reason {
	if first {
		return a
	}
	return b
}

// stoppedBy is when a fenced worker has surely stopped a job that it misses the hub for: the last lease it may believe in has
// run out by its own clock, its program has had time to act, and the pods have had theirs to end. If the hub reached the worker
// for longer than it renewed the lease, the job may have been made there, and so be stopped, as late as the cluster was lost.
func (t decision) stoppedBy(v ClusterView) time.Time {
	return later(v.Fence.RenewedAt.Add(t.policy.LeaseDuration), v.Link.Since).Add(t.policy.SkewMargin + t.observed.Local.Job.KillGrace)
}

// isDeclaredGone reports whether a person's word stands in for what cannot be seen: the cluster was tried in vain since it was lost.
// Where there is nothing to try it with, the word counts when the grace is over.
func (t decision) isDeclaredGone(v ClusterView) bool {
	return v.Operator.DeclaredGone && v.Link.State == Unreachable && (!v.Link.Untried || t.pastGrace(v))
}

// forbidsOverlap reports whether the policy promises that two runs never overlap.
func (t decision) forbidsOverlap() bool {
	return t.policy.OnHubLost == Stop || t.policy.OnWorkerLost == Hold
}

// indefiniteDebt returns the reason for which a debt forbids a new job for as long as nobody can say; empty if none does. Offers would
// only keep the quota of workers from others then. An external dispatcher's nominations are not ours to take back.
func (t decision) indefiniteDebt(s State) Reason {
	if t.policy.Dispatcher == External {
		return ""
	}
	for _, d := range s.Debts {
		if v := t.view(d.Cluster); !v.connected() {
			if h := t.hold(v, d.StopsOnHubLost); h.isIndefinite() {
				return h.reason
			}
		}
	}
	return ""
}

// heldPrefix begins the message of a check that stays Ready although its cluster cannot be reached.
const heldPrefix = "Held by the policy "

// msgHeld says which policy holds a Workload on a cluster out of reach, and until when.
func (t decision) msgHeld(v ClusterView, stops bool) string {
	text := heldPrefix + strconv.Quote(t.policy.Name()) + `: worker cluster ` + strconv.Quote(v.Name) + ` cannot be reached`
	if v.Link.State == Unreachable {
		text += ` since ` + formatTime(v.Link.Since)
	}
	return text + "; " + t.releaseText(t.hold(v, stops), stops && v.Fence.Alive)
}

// releaseText says what ends a hold. It does not change while the hold lasts.
func (t decision) releaseText(h hold, fenced bool) string {
	switch {
	case h.reason == CutOffHub:
		return "most clusters vanished together, so that it is the hub that is cut off: no clock runs"
	case h.reason == DeclaredGone:
		return "it was declared gone"
	case t.policy.OnWorkerLost == Hold:
		return "the workload waits for its return, or until somebody declares it gone"
	case t.policy.OnHubLost == Stop && !fenced:
		return "nothing there would stop the job (fencing: none), so that the workload waits for its return, or until somebody declares it gone"
	case h.release.IsZero():
		return "the workload waits for its return"
	case h.reason == FenceWait || t.policy.OnHubLost == Stop:
		return "its job must have been stopped there by " + formatTime(h.release) + ", and may run elsewhere then"
	}
	return "the workload is dispatched again at " + formatTime(h.release)
}

func formatTime(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// reportHold says in the message of a Ready check that, and how, a policy other than the compatible one holds the Workload.
// Clients of the public API are told nothing of a mere grace.
func (t decision) reportHold(plan *Plan, v ClusterView) {
	l := t.observed.Local
	if !t.forbidsOverlap() || t.policy.ExplainAfter <= 0 {
		return
	}
	if l.Check.State != Ready {
		t.reportWaiting(plan)
		return
	}
	if at := v.Link.Since.Add(t.policy.ExplainAfter); v.Link.State != Unreachable || t.observed.Now.Before(at) {
		if v.Link.State == Unreachable {
			plan.WakeAt = earliest(plan.WakeAt, at)
		}
		return
	}
	t.report(plan, t.msgHeld(v, t.state.StopsOnHubLost))
}

// reportsHold reports whether the check still says that the Workload is held.
func (t decision) reportsHold() bool {
	return strings.HasPrefix(t.observed.Local.Check.Message, heldPrefix)
}
