package dispatch

import (
	"slices"
	"strconv"
	"time"
)

// lostClusters says how long a cluster that cannot be reached keeps what it may run: by the policy, the hub's clock, and the
// links of all clusters. It knows nothing of the State.
type lostClusters struct {
	observed *Observation
	policy   *Policy
}

// hold is what keeps a Workload from running elsewhere while a cluster that may run it cannot be talked to.
type hold struct {
	// over is set if nothing does any more.
	over bool
	// reason is InGrace, CutOffHub, FenceWait, Held or Unfenced; or, when it is over, RemoteLost or DeclaredGone.
	reason Reason
	// until is when it changes on its own, zero for never; release is when it is over on its own, zero for never.
	until, release time.Time
}

// hold says how long a cluster that cannot be talked to keeps what it may run. Stops says that its job was stamped so that it
// stops when the worker misses the hub.
func (l lostClusters) hold(v ClusterView, stops bool) hold {
	end, runs := l.graceEnd(v)
	early := l.observed.Now.Before(end)
	switch {
	case l.isDeclaredGone(v):
		return hold{over: true, reason: DeclaredGone}
	case !runs && v.Link.State == Unreachable:
		return hold{reason: CutOffHub}
	case !runs:
		return hold{reason: InGrace}
	case l.policy.OnWorkerLost == Hold:
		return indefiniteHold(Held, end, early)
	case l.policy.OnHubLost != Stop:
		return hold{over: !early, reason: chooseReason(early, InGrace, RemoteLost), until: end, release: end}
	case !stops || !v.Fence.Alive || v.Fence.RenewedAt.IsZero():
		return indefiniteHold(Unfenced, end, early)
	}
	release := later(end, l.stoppedBy(v))
	switch {
	case early:
		return hold{reason: InGrace, until: release, release: release}
	case l.observed.Now.Before(release):
		return hold{reason: FenceWait, until: release, release: release}
	}
	return hold{over: true, reason: RemoteLost, release: release}
}

// deletionReleaseText says what lets a deleted Workload go.
func (l lostClusters) deletionReleaseText(h hold, fenced bool) string {
	if !l.policy.forbidsOverlap() && !h.release.IsZero() {
		return "the workload is let go at " + formatTime(h.release)
	}
	return l.releaseText(h, fenced)
}

// CutOff reports whether so many clusters were lost together with the given one that it is the hub that is cut off: at
// least two, and more than half of those that were alive right before. While it is, no clock runs.
//
// Clusters that were never connected count only while no cluster is connected: a hub that starts among dead clusters is not cut
// off as long as it reaches a living one, or their Workloads would wait for ever.
func CutOff(all []Link, lost Link, window time.Duration) bool {
	anyConnected := slices.ContainsFunc(all, func(l Link) bool { return l.State == Connected })
	if lost.State != Unreachable || lost.NeverConnected && anyConnected {
		return false
	}
	together, before := 0, 0
	for _, l := range all {
		switch {
		case l.NeverConnected && anyConnected:
		case l.State == Connected || l.State == Unreachable && l.Since.After(lost.Since.Add(window)):
			before++
		case l.State == Unreachable && !l.Since.Before(lost.Since.Add(-window)):
			before++
			together++
		}
	}
	return together >= 2 && 2*together > before
}

// isCutOff is CutOff among all clusters of the hub, in the config or not: by the same measure its end is told.
func (l lostClusters) isCutOff(v ClusterView) bool {
	links := l.observed.Fleet
	if len(links) == 0 {
		for _, c := range l.observed.Clusters {
			links = append(links, c.Link)
		}
	}
	return CutOff(links, v.Link, l.policy.CutOffWindow)
}

// graceEnd returns when the grace of a cluster that cannot be talked to ends; ok is false while no clock runs.
func (l lostClusters) graceEnd(v ClusterView) (end time.Time, ok bool) {
	if v.Link.State != Unreachable || l.isCutOff(v) {
		return time.Time{}, false
	}
	return later(v.Link.Since, l.observed.CutOffEnded).Add(l.policy.WorkerLostTimeout), true
}

// graceOver reports whether a cluster has been lost for longer than the grace, or has been declared gone.
func (l lostClusters) graceOver(v ClusterView) bool { return l.isDeclaredGone(v) || l.pastGrace(v) }

// pastGrace reports whether a cluster has been lost for longer than the grace.
func (l lostClusters) pastGrace(v ClusterView) bool {
	end, ok := l.graceEnd(v)
	return ok && !l.observed.Now.Before(end)
}

// later returns the later of two times; the zero time never wins.
func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// isIndefinite reports whether only the cluster's return or a person's word ends it.
func (h hold) isIndefinite() bool { return h.reason == Held || h.reason == Unfenced }

// indefiniteHold is the hold that does not end on its own: it is called a grace as long as there would be one anyway.
func indefiniteHold(because Reason, end time.Time, early bool) hold {
	if early {
		return hold{reason: InGrace, until: end}
	}
	return hold{reason: because}
}

// chooseReason returns a if first is set, and b otherwise.
func chooseReason(first bool, a, b Reason) Reason {
	if first {
		return a
	}
	return b
}

// stoppedBy is when a fenced worker has surely stopped a job that it misses the hub for: the last lease it may believe in has
// run out by its own clock, its program has had time to act, and the pods have had theirs to end. If the hub reached the worker
// for longer than it renewed the lease, the job may have been made there, and so be stopped, as late as the cluster was lost.
func (l lostClusters) stoppedBy(v ClusterView) time.Time {
	return later(v.Fence.RenewedAt.Add(l.policy.LeaseDuration), v.Link.Since).Add(l.policy.SkewMargin + l.observed.Local.Job.KillGrace)
}

// isDeclaredGone reports whether a person's word stands in for what cannot be seen: the cluster was tried in vain since it was
// lost. Where there is nothing to try it with, the word counts when the grace is over.
func (l lostClusters) isDeclaredGone(v ClusterView) bool {
	return v.Operator.DeclaredGone && v.Link.State == Unreachable && (!v.Link.Untried || l.pastGrace(v))
}

// indefiniteDebt returns the reason for which a debt forbids a new job for an unknown time; empty if none does. Offers would
// only keep the quota of workers from others then. An external dispatcher's nominations are not ours to take back.
func (l lostClusters) indefiniteDebt(s State) Reason {
	if l.policy.Dispatcher == External {
		return ""
	}
	for _, d := range s.Debts {
		if v := l.observed.view(d.Cluster); !v.connected() {
			if h := l.hold(v, d.StopsOnHubLost); h.isIndefinite() {
				return h.reason
			}
		}
	}
	return ""
}

// heldPrefix begins the message of a check that stays Ready although its cluster cannot be reached.
const heldPrefix = "Held by the policy "

// msgHeld says which policy holds a Workload on a cluster out of reach, and until when.
func (l lostClusters) msgHeld(v ClusterView, stops bool) string {
	text := heldPrefix + strconv.Quote(l.policy.Name()) + `: worker cluster ` + strconv.Quote(v.Name) + ` cannot be reached`
	if v.Link.State == Unreachable {
		text += ` since ` + formatTime(v.Link.Since)
	}
	return text + "; " + l.releaseText(l.hold(v, stops), stops && v.Fence.Alive)
}

// releaseText says what ends a hold. It does not change while the hold lasts.
func (l lostClusters) releaseText(h hold, fenced bool) string {
	switch {
	case h.reason == CutOffHub:
		return "most clusters vanished together, so that it is the hub that is cut off: no clock runs"
	case h.reason == DeclaredGone:
		return "it was declared gone"
	case l.policy.OnWorkerLost == Hold:
		return "the workload waits for its return, or until somebody declares it gone"
	case l.policy.OnHubLost == Stop && !fenced:
		return "nothing there would stop the job (fencing: none), so that the workload waits for its return, or until somebody declares it gone"
	case h.release.IsZero():
		return "the workload waits for its return"
	case h.reason == FenceWait || l.policy.OnHubLost == Stop:
		return "its job must have been stopped there by " + formatTime(h.release) + ", and may run elsewhere then"
	}
	return "the workload is dispatched again at " + formatTime(h.release)
}

func formatTime(at time.Time) string { return at.UTC().Format(time.RFC3339) }
