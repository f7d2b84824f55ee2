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
	// because is InGrace, CutOffHub, FenceWait, Held or Unfenced; or, when it is over, RemoteLost or DeclaredGone.
	because Reason
	// until is when it changes on its own, zero for never; release is when it is over on its own, zero for never.
	until, release time.Time
}

// lasting reports whether only the cluster's return or a person's word ends it.
func (h hold) lasting() bool { return h.because == Held || h.because == Unfenced }

// hold says how long a cluster that cannot be talked to keeps what it may run. Stops says that its job was stamped so that it
// stops when the worker misses the hub.
func (t turn) hold(v ClusterView, stops bool) hold {
	end, runs := t.deadline(v)
	early := t.o.Now.Before(end)
	switch {
	case t.declaredGone(v):
		return hold{over: true, because: DeclaredGone}
	case !runs && v.Link.State == Unreachable:
		return hold{because: CutOffHub}
	case !runs:
		return hold{because: InGrace}
	case t.p.OnWorkerLost == Hold:
		return t.keep(Held, end, early)
	case t.p.OnHubLost != Stop:
		return hold{over: !early, because: either(early, InGrace, RemoteLost), until: end, release: end}
	case !stops || !v.Fenced || v.RenewedAt.IsZero():
		return t.keep(Unfenced, end, early)
	}
	release := later(end, t.stopped(v))
	switch {
	case early:
		return hold{because: InGrace, until: release, release: release}
	case t.o.Now.Before(release):
		return hold{because: FenceWait, until: release, release: release}
	}
	return hold{over: true, because: RemoteLost, release: release}
}

// keep is the hold that does not end on its own: it is called a grace as long as there would be one anyway.
func (t turn) keep(because Reason, end time.Time, early bool) hold {
	if early {
		return hold{because: InGrace, until: end}
	}
	return hold{because: because}
}

func either(first bool, a, b Reason) Reason {
	if first {
		return a
	}
	return b
}

// stopped is when a fenced worker has surely stopped a job that it misses the hub for: the last lease it may believe in has
// run out by its own clock, its program has had time to act, and the pods have had theirs to end. If the hub reached the worker
// for longer than it renewed the lease, the job may have been made there, and so be stopped, as late as the cluster was lost.
func (t turn) stopped(v ClusterView) time.Time {
	return later(v.RenewedAt.Add(t.p.LeaseDuration), v.Link.Since).Add(t.p.SkewMargin + t.o.Local.KillGrace)
}

// declaredGone reports whether a person's word stands in for what cannot be seen: the cluster was tried in vain since it was lost.
// Where there is nothing to try it with, the word counts when the grace is over.
func (t turn) declaredGone(v ClusterView) bool {
	return v.Gone && v.Link.State == Unreachable && (!v.Link.Untried || t.overdue(v))
}

// strict reports whether the policy promises that two runs never overlap.
func (t turn) strict() bool { return t.p.OnHubLost == Stop || t.p.OnWorkerLost == Hold }

// stuck returns the reason for which a debt forbids a new job for as long as nobody can say; empty if none does. Offers would
// only keep the quota of workers from others then. An external dispatcher's nominations are not ours to take back.
func (t turn) stuck(s State) Reason {
	if t.p.Dispatcher == External {
		return ""
	}
	for _, d := range s.Debts {
		if v := t.view(d.Cluster); !v.connected() {
			if h := t.hold(v, d.Stops); h.lasting() {
				return h.because
			}
		}
	}
	return ""
}

// heldPrefix begins the message of a check that stays Ready although its cluster cannot be reached.
const heldPrefix = "Held by the policy "

// msgHeld says which policy holds a Workload on a cluster out of reach, and until when.
func (t turn) msgHeld(v ClusterView, stops bool) string {
	text := heldPrefix + strconv.Quote(t.p.Name()) + `: worker cluster ` + strconv.Quote(v.Name) + ` cannot be reached`
	if v.Link.State == Unreachable {
		text += ` since ` + stampOf(v.Link.Since)
	}
	return text + "; " + t.prospect(t.hold(v, stops), stops && v.Fenced)
}

// prospect says what ends a hold. It does not change while the hold lasts.
func (t turn) prospect(h hold, fenced bool) string {
	switch {
	case h.because == CutOffHub:
		return "most clusters vanished together, so that it is the hub that is cut off: no clock runs"
	case h.because == DeclaredGone:
		return "it was declared gone"
	case t.p.OnWorkerLost == Hold:
		return "the workload waits for its return, or until somebody declares it gone"
	case t.p.OnHubLost == Stop && !fenced:
		return "nothing there would stop the job (fencing: none), so that the workload waits for its return, or until somebody declares it gone"
	case h.release.IsZero():
		return "the workload waits for its return"
	case h.because == FenceWait || t.p.OnHubLost == Stop:
		return "its job must have been stopped there by " + stampOf(h.release) + ", and may run elsewhere then"
	}
	return "the workload is dispatched again at " + stampOf(h.release)
}

func stampOf(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// announce says in the message of a Ready check that, and how, a policy other than the compatible one holds the Workload.
// Clients of the public API are told nothing of a mere grace.
func (t turn) announce(plan *Plan, v ClusterView) {
	l := t.o.Local
	if !t.strict() || t.p.ExplainAfter <= 0 {
		return
	}
	if l.Check != Ready {
		t.speak(plan)
		return
	}
	if at := v.Link.Since.Add(t.p.ExplainAfter); v.Link.State != Unreachable || t.o.Now.Before(at) {
		if v.Link.State == Unreachable {
			plan.WakeAt = soonest(plan.WakeAt, at)
		}
		return
	}
	plan.Verdict.Message = truncate(t.msgHeld(v, t.s.Stops))
}

// announced reports whether the check still says that the Workload is held.
func (t turn) announced() bool { return strings.HasPrefix(t.o.Local.CheckMessage, heldPrefix) }
