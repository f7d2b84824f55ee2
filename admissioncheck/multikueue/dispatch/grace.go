package dispatch

import (
	"slices"
	"time"
)

// CutOff reports whether so many clusters were lost together with the given one that it is the hub that is cut off: at
// least two, and more than half of those that were alive right before. While it is, no clock runs.
//
// Clusters that were never connected count only while nobody is: a hub that starts among dead clusters is not cut off as
// long as it reaches a living one, or their Workloads would wait for ever.
func CutOff(all []Link, lost Link, window time.Duration) bool {
	anybody := slices.ContainsFunc(all, func(l Link) bool { return l.State == Connected })
	if lost.State != Unreachable || lost.NeverConnected && anybody {
		return false
	}
	together, before := 0, 0
	for _, l := range all {
		switch {
		case l.NeverConnected && anybody:
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
func (t decision) isCutOff(v ClusterView) bool {
	links := t.observed.Fleet
	if len(links) == 0 {
		for _, c := range t.observed.Clusters {
			links = append(links, c.Link)
		}
	}
	return CutOff(links, v.Link, t.policy.CutOffWindow)
}

// graceEnd returns when the grace of a cluster that cannot be talked to ends; ok is false while no clock runs.
func (t decision) graceEnd(v ClusterView) (end time.Time, ok bool) {
	if v.Link.State != Unreachable || t.isCutOff(v) {
		return time.Time{}, false
	}
	return later(v.Link.Since, t.observed.CutOffEnded).Add(t.policy.WorkerLostTimeout), true
}

// graceOver reports whether a cluster has been lost for longer than the grace, or has been declared gone.
func (t decision) graceOver(v ClusterView) bool { return t.isDeclaredGone(v) || t.pastGrace(v) }

// pastGrace reports whether a cluster has been lost for longer than the grace.
func (t decision) pastGrace(v ClusterView) bool {
	end, ok := t.graceEnd(v)
	return ok && !t.observed.Now.Before(end)
}

// later returns the later of two times; the zero time never wins.
func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
