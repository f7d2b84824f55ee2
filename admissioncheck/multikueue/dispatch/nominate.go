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
	// wakeAt is when the round ends, zero if nothing follows it; exhausted is set if a round was wanted and there is no cluster
	// left for it.
	wakeAt    time.Time
	exhausted bool
}

// nominate chooses the clusters to offer to, as the policy says (contract: multikueue.md 7).
func (t decision) nominate(s State) nomination {
	if t.indefiniteDebt(s) != "" {
		s.Nominated, s.Round = nil, time.Time{}
		return nomination{state: s}
	}
	switch t.policy.Dispatcher {
	case AllAtOnce:
		if names := sortedNames(t.eligibleClusters()); !slices.Equal(names, s.Nominated) {
			s.Nominated = names
		}
		return nomination{state: s}
	case Incremental, BestFit:
		return t.nominateRound(s)
	case External:
	}
	return nomination{state: s}
}

// ineligibleReason returns why a cluster must not be offered anything, nor keep an offer, though it can be reached; empty if it may.
// A nominated cluster that has admitted already is not barred by being cordoned; one that has lost its nomination is not
// nominated again because it admitted before its copy was withdrawn.
func (t decision) ineligibleReason(v ClusterView) Reason {
	pin := t.observed.Local.Siblings.Pin
	switch {
	case !v.InConfig:
		return NotInConfig
	case v.Operator.DeclaredGone:
		return DeclaredGone
	case pin != "" && pin != v.Name:
		return PinnedElsewhere
	case t.observed.Local.Siblings.Awaited:
		return SiblingWait
	case t.policy.OnHubLost == Stop && v.Fence.Lease == LeaseLapsed:
		return NotLeased
	case (v.Operator.Cordoned || v.Operator.Draining) && (!t.state.isNominated(v.Name) || !t.state.isCurrentCopy(v.Copy) || !v.Copy.Admitted):
		return Cordoned
	}
	return ""
}

// awaitsLease reports whether a cluster's fence might stop what is offered, for all that is known yet. Nothing new is offered
// then; what was offered before stays.
func (t decision) awaitsLease(v ClusterView) bool {
	return t.policy.OnHubLost == Stop && v.Fence.Lease == LeaseAwaited
}

// eligibleClusters returns the clusters to offer to: not barred, connected, and with our name free; in the order in which the
// dispatcher goes through them.
func (t decision) eligibleClusters() []string {
	var names []string
	for _, v := range t.byPreference() {
		if t.canOffer(v) && (t.policy.Dispatcher != BestFit || v.Fit.Reason == "") {
			names = append(names, v.Name)
		}
	}
	return names
}

// canOffer reports whether a cluster can be offered the Workload, or keep its offer.
func (t decision) canOffer(v ClusterView) bool {
	return t.ineligibleReason(v) == "" && v.connected() && !v.hasCollision() && (!t.awaitsLease(v) || t.state.isNominated(v.Name))
}

// canMove reports whether some other cluster could be offered the Workload and, as far as is known, ever admit it. Siblings that
// keep it where it is leave with it, and where the first of them has left already the others follow in any case.
func (t decision) canMove(than string) bool {
	free := t.withoutSiblings(than)
	return slices.ContainsFunc(t.observed.Clusters, func(v ClusterView) bool {
		fits := v.Fit.Reason == "" || t.observed.Local.Siblings.Left
		return v.Name != than && free.canOffer(v) && fits
	})
}

// withoutSiblings is the turn of a Workload that leaves a cluster together with its siblings.
func (t decision) withoutSiblings(from string) decision {
	t.observed.Local.Siblings.Awaited = false
	if t.observed.Local.Siblings.Pin == from {
		t.observed.Local.Siblings.Pin = ""
	}
	return t
}

// byPreference returns the clusters in the order in which they are nominated: the config's, by name, or the best fit first
// (by score, then by name).
func (t decision) byPreference() []ClusterView {
	if t.policy.Dispatcher != BestFit && !t.policy.ByName {
		return t.observed.Clusters
	}
	views := slices.Clone(t.observed.Clusters)
	slices.SortStableFunc(views, func(a, b ClusterView) int {
		if t.policy.Dispatcher != BestFit {
			return strings.Compare(a.Name, b.Name)
		}
		return cmp.Or(cmp.Compare(b.Fit.Score, a.Fit.Score), strings.Compare(a.Name, b.Name))
	})
	return views
}

func sortedNames(names []string) []string {
	slices.Sort(names)
	return names
}

// nominateRound nominates a few clusters after the others: as many as the step at once; as many more when these had their time; and
// one more for each that refuses while fewer than the step are left that may still admit. Nominations add up, and are
// withdrawn only from a cluster that is barred. A round whose start is not known begins now.
func (t decision) nominateRound(s State) nomination {
	s.Nominated = t.withoutIneligible(s.Nominated)
	if len(s.Nominated) > 0 && s.Round.IsZero() {
		s.Round = t.newRoundStart()
	}
	rest := slices.DeleteFunc(t.eligibleClusters(), func(name string) bool { return slices.Contains(s.Nominated, name) })
	step, pace := t.roundLimits(len(s.Nominated))
	wanted := step - t.countHopeful(s.Nominated, rest)
	var ends time.Time
	if pace > 0 || t.policy.Dispatcher == Incremental {
		ends = t.roundStart(s).Add(pace)
		if over := !t.observed.Now.Before(ends); over && len(s.Nominated) > 0 {
			wanted = step
		}
	}
	switch {
	case wanted <= 0 && len(rest) > 0:
		return nomination{state: s, wakeAt: ends}
	case wanted <= 0 || len(rest) == 0:
		return nomination{state: s, exhausted: wanted > 0}
	}
	s.Nominated = sortedNames(append(slices.Clone(s.Nominated), rest[:min(wanted, len(rest))]...))
	s.Round = t.newRoundStart()
	return nomination{state: s}
}

// roundStart is when the time of those nominated began: with the round or, under BestFit, when the last of those that may still
// admit was sent its offer. As long as one was not, it begins now: nobody is hedged against because the hub is behind with its
// own work, which hedges would only add to. Where something earlier is in the offer's way, it is not the hub that is behind.
func (t decision) roundStart(s State) time.Time {
	began := s.Round
	if t.policy.Dispatcher != BestFit {
		return began
	}
	for _, name := range s.Nominated {
		switch v := t.view(name); {
		case t.cannotAdmit(v), s.hasDebt(name), t.hasStale(v):
		case !v.Offer.StartedAt.IsZero():
			began = later(began, v.Offer.StartedAt)
		case v.Copy.Holder == Absent && v.Job.Holder == Absent:
			return later(began, t.observed.Now)
		}
	}
	return began
}

// roundLimits is how many clusters a round adds, and how long those nominated so far have before the next one. BestFit is content
// with one, and doubles the time with each, so that a fleet without room is not offered everything everywhere.
func (t decision) roundLimits(nominated int) (step int, timeout time.Duration) {
	if t.policy.Dispatcher == Incremental {
		return max(t.policy.StepSize, 1), t.policy.RoundTimeout
	}
	timeout = t.policy.HedgeAfter
	for range nominated - 1 {
		timeout *= 2
		if t.policy.RoundTimeout > 0 && timeout >= t.policy.RoundTimeout {
			return 1, t.policy.RoundTimeout
		}
	}
	return 1, timeout
}

// newRoundStart is when a round begins that is nominated now, in the whole seconds that are stored: a hedge comes rather late than
// early.
func (t decision) newRoundStart() time.Time {
	now := t.observed.Now.UTC()
	whole := now.Truncate(time.Second)
	if t.policy.Dispatcher == BestFit && whole.Before(now) {
		return whole.Add(time.Second)
	}
	return whole
}

// withoutIneligible returns those of the names that are not barred; the same slice if none is.
func (t decision) withoutIneligible(names []string) []string {
	barred := func(name string) bool { return t.ineligibleReason(t.view(name)) != "" }
	if !slices.ContainsFunc(names, barred) {
		return names
	}
	return slices.DeleteFunc(slices.Clone(names), barred)
}

// countHopeful counts the clusters that may still admit what they were offered. One whose preemption gate is closed does not
// count as long as rest has a better one that would not have to preempt; nor, under BestFit, one that is degraded and has not
// even taken the offer, or waits for its run lease, as long as rest has one that is not.
func (t decision) countHopeful(names, rest []string) int {
	count := 0
	for _, name := range names {
		if v := t.view(name); !t.cannotAdmit(v) && !t.hasBetterAlternative(v, rest) {
			count++
		}
	}
	return count
}

// hasBetterAlternative reports whether rest has a cluster that is not to wait for v.
func (t decision) hasBetterAlternative(v ClusterView, rest []string) bool {
	gated, stuck := t.waitsForGate(v), t.policy.Dispatcher == BestFit && (v.isShunned() || t.awaitsLease(v)) && v.Copy.Holder == Absent
	return slices.ContainsFunc(rest, func(name string) bool {
		other := t.view(name)
		easier := !other.Fit.Preempting && (t.policy.Dispatcher != BestFit || other.Fit.Score >= v.Fit.Score)
		return gated && easier || stuck && !other.isShunned()
	})
}

// isShunned reports whether others are preferred to a cluster for how it does what it is asked.
func (v ClusterView) isShunned() bool { return v.Health.Degraded != "" && !v.Health.OnTrial }

// cannotAdmit reports whether a cluster is known not to admit the Workload as things are: it cannot be reached, does not take
// what it is given, or has turned its copy away.
func (t decision) cannotAdmit(v ClusterView) bool {
	c := v.Copy
	turnedAway := t.state.isCurrentCopy(c) && (c.Refused || c.Evicted || c.Deactivating || c.Finished != nil)
	return t.ineligibleReason(v) != "" || !v.connected() || v.hasCollision() || t.state.TroubleOn(v) != "" || turnedAway
}

// TroubleOn is why a cluster does not take what it was asked last, empty if it does. A copy of this epoch that is as it should be
// shows that the offer was taken, whatever its call said: one that failed may have taken effect, and one that was refused may have
// been made twice. It says nothing about a call that came later, to open the copy's gate.
func (s State) TroubleOn(v ClusterView) string {
	c := v.Copy
	if s.isCurrentCopy(c) && c.SpecMatches && !c.Deleting && !v.Offer.GateRequested && s.Bound == "" {
		return ""
	}
	return v.Health.Trouble
}

// HasRefused reports whether a cluster has said that it does not take the offer.
func (s State) HasRefused(v ClusterView) bool {
	return v.Copy.Refused || v.Copy.Evicted || s.TroubleOn(v) != ""
}
