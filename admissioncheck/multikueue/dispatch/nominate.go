package dispatch

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// nomination is which clusters are to be offered to.
type nomination struct {
	state State
	// wake is when the round ends, zero if nothing follows it; exhausted is set if a round was wanted and there is no cluster
	// left for it.
	wake      time.Time
	exhausted bool
}

// nominate chooses the clusters to offer to, as the policy says (contract: multikueue.md 7).
func (t turn) nominate(s State) nomination {
	if t.stuck(s) != "" {
		s.Nominated, s.Round = nil, time.Time{}
		return nomination{state: s}
	}
	switch t.p.Dispatcher {
	case AllAtOnce:
		if names := sorted(t.eligible()); !slices.Equal(names, s.Nominated) {
			s.Nominated = names
		}
		return nomination{state: s}
	case Incremental, BestFit:
		return t.round(s)
	case External:
	}
	return nomination{state: s}
}

// barred returns why a cluster must not be offered anything, nor keep an offer, though it can be reached; empty if it may.
// A nominated cluster that has admitted already is not barred by being cordoned; one that has lost its nomination is not
// nominated again because it admitted before its copy was withdrawn.
func (t turn) barred(v ClusterView) Reason {
	pin := t.o.Local.Pin
	switch {
	case !v.InConfig:
		return NotInConfig
	case v.Gone:
		return DeclaredGone
	case pin != "" && pin != v.Name:
		return PinnedElsewhere
	case t.o.Local.AwaitsSibling:
		return SiblingWait
	case t.p.OnHubLost == Stop && v.Lease == LeaseLapsed:
		return NotLeased
	case (v.Cordoned || v.Draining) && (!t.s.nominates(v.Name) || !t.s.currentCopy(v.Copy) || !v.Copy.Admitted):
		return Cordoned
	}
	return ""
}

// awaitsLease reports whether a cluster's fence might stop what is offered, for all that is known yet. Nothing new is offered
// then; what was offered before stays.
func (t turn) awaitsLease(v ClusterView) bool {
	return t.p.OnHubLost == Stop && v.Lease == LeaseAwaited
}

// eligible returns the clusters to offer to: not barred, connected, and with our name free; in the order in which the
// dispatcher goes through them.
func (t turn) eligible() []string {
	var names []string
	for _, v := range t.preferred() {
		if t.takes(v) && (t.p.Dispatcher != BestFit || v.Fit.Reason == "") {
			names = append(names, v.Name)
		}
	}
	return names
}

// takes reports whether a cluster can be offered the Workload, or keep its offer.
func (t turn) takes(v ClusterView) bool {
	return t.barred(v) == "" && v.connected() && !v.collision() && (!t.awaitsLease(v) || t.s.nominates(v.Name))
}

// elsewhere reports whether some other cluster could be offered the Workload and, as far as is known, ever admit it. Siblings that
// keep it where it is leave with it, and where the first of them has left already the others follow in any case.
func (t turn) elsewhere(than string) bool {
	free := t.leaving(than)
	return slices.ContainsFunc(t.o.Clusters, func(v ClusterView) bool {
		fits := v.Fit.Reason == "" || t.o.Local.SiblingLeft
		return v.Name != than && free.takes(v) && fits
	})
}

// leaving is the turn of a Workload that leaves a cluster together with its siblings.
func (t turn) leaving(from string) turn {
	t.o.Local.AwaitsSibling = false
	if t.o.Local.Pin == from {
		t.o.Local.Pin = ""
	}
	return t
}

// preferred returns the clusters in the order in which they are nominated: the config's, by name, or the best fit first
// (by score, then by name).
func (t turn) preferred() []ClusterView {
	if t.p.Dispatcher != BestFit && !t.p.ByName {
		return t.o.Clusters
	}
	views := slices.Clone(t.o.Clusters)
	slices.SortStableFunc(views, func(a, b ClusterView) int {
		if t.p.Dispatcher != BestFit {
			return strings.Compare(a.Name, b.Name)
		}
		return cmp.Or(cmp.Compare(b.Fit.Score, a.Fit.Score), strings.Compare(a.Name, b.Name))
	})
	return views
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}

// round nominates a few clusters after the others: as many as the step at once; as many more when these had their time; and
// one more for each that refuses while fewer than the step are left that may still admit. Nominations add up, and are
// withdrawn only from a cluster that is barred. A round whose start is not known begins now.
func (t turn) round(s State) nomination {
	s.Nominated = t.unbarred(s.Nominated)
	if len(s.Nominated) > 0 && s.Round.IsZero() {
		s.Round = t.begins()
	}
	rest := slices.DeleteFunc(t.eligible(), func(name string) bool { return slices.Contains(s.Nominated, name) })
	step, pace := t.pace(len(s.Nominated))
	wanted := step - t.hopeful(s.Nominated, rest)
	var ends time.Time
	if pace > 0 || t.p.Dispatcher == Incremental {
		ends = t.since(s).Add(pace)
		if over := !t.o.Now.Before(ends); over && len(s.Nominated) > 0 {
			wanted = step
		}
	}
	switch {
	case wanted <= 0 && len(rest) > 0:
		return nomination{state: s, wake: ends}
	case wanted <= 0 || len(rest) == 0:
		return nomination{state: s, exhausted: wanted > 0}
	}
	s.Nominated = sorted(append(slices.Clone(s.Nominated), rest[:min(wanted, len(rest))]...))
	s.Round = t.begins()
	return nomination{state: s}
}

// since is when the time of those nominated began: with the round or, under BestFit, when the last of those that may still
// admit was sent its offer. As long as one was not, it begins now: nobody is hedged against because the hub is behind with its
// own work, which hedges would only add to. Where something earlier is in the offer's way, it is not the hub that is behind.
func (t turn) since(s State) time.Time {
	began := s.Round
	if t.p.Dispatcher != BestFit {
		return began
	}
	for _, name := range s.Nominated {
		switch v := t.view(name); {
		case t.refuses(v), s.owedBy(name), t.stale(v):
		case !v.OfferedAt.IsZero():
			began = later(began, v.OfferedAt)
		case v.Copy.Holder == Absent && v.Job.Holder == Absent:
			return later(began, t.o.Now)
		}
	}
	return began
}

// pace is how many clusters a round adds, and how long those nominated so far have before the next one. BestFit is content
// with one, and doubles the time with each, so that a fleet without room is not offered everything everywhere.
func (t turn) pace(nominated int) (step int, timeout time.Duration) {
	if t.p.Dispatcher == Incremental {
		return max(t.p.StepSize, 1), t.p.RoundTimeout
	}
	timeout = t.p.HedgeAfter
	for range nominated - 1 {
		timeout *= 2
		if t.p.RoundTimeout > 0 && timeout >= t.p.RoundTimeout {
			return 1, t.p.RoundTimeout
		}
	}
	return 1, timeout
}

// begins is when a round begins that is nominated now, in the whole seconds that are stored: a hedge comes rather late than
// early.
func (t turn) begins() time.Time {
	now := t.o.Now.UTC()
	whole := now.Truncate(time.Second)
	if t.p.Dispatcher == BestFit && whole.Before(now) {
		return whole.Add(time.Second)
	}
	return whole
}

// unbarred returns those of the names that are not barred; the same slice if none is.
func (t turn) unbarred(names []string) []string {
	barred := func(name string) bool { return t.barred(t.view(name)) != "" }
	if !slices.ContainsFunc(names, barred) {
		return names
	}
	return slices.DeleteFunc(slices.Clone(names), barred)
}

// hopeful counts the clusters that may still admit what they were offered. One whose preemption gate is closed does not
// count as long as rest has a better one that would not have to preempt; nor, under BestFit, one that is degraded and has not
// even taken the offer, or waits for its run lease, as long as rest has one that is not.
func (t turn) hopeful(names, rest []string) int {
	count := 0
	for _, name := range names {
		if v := t.view(name); !t.refuses(v) && !t.passable(v, rest) {
			count++
		}
	}
	return count
}

// passable reports whether rest has a cluster that is not to wait for v.
func (t turn) passable(v ClusterView, rest []string) bool {
	gated, stuck := t.gated(v), t.p.Dispatcher == BestFit && (v.shunned() || t.awaitsLease(v)) && v.Copy.Holder == Absent
	return slices.ContainsFunc(rest, func(name string) bool {
		other := t.view(name)
		easier := !other.Preempting && (t.p.Dispatcher != BestFit || other.Fit.Score >= v.Fit.Score)
		return gated && easier || stuck && !other.shunned()
	})
}

// shunned reports whether others are preferred to a cluster for how it does what it is asked.
func (v ClusterView) shunned() bool { return v.Degraded != "" && !v.OnTrial }

// refuses reports whether a cluster is known not to admit the Workload as things are: it cannot be reached, does not take
// what it is given, or has turned its copy away.
func (t turn) refuses(v ClusterView) bool {
	c := v.Copy
	turnedAway := t.s.currentCopy(c) && (c.Refused || c.Evicted || c.Deactivating || c.Finished != nil)
	return t.barred(v) != "" || !v.connected() || v.collision() || t.s.Troubled(v) != "" || turnedAway
}

// Troubled is why a cluster does not take what it was asked last, empty if it does. A copy of this epoch that is as it should be
// shows that the offer was taken, whatever its call said: one that failed may have taken effect, and one that was refused may have
// been made twice. It says nothing about a call that came later, to open the copy's gate.
func (s State) Troubled(v ClusterView) string {
	c := v.Copy
	if s.currentCopy(c) && c.SpecMatches && !c.Deleting && !v.GateAsked && s.Bound == "" {
		return ""
	}
	return v.Trouble
}
