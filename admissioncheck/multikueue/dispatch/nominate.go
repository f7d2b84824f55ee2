package dispatch

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// eligibility says which clusters may be offered the Workload, keep its offer, or win it, one cluster at a time.
type eligibility struct {
	state  *State
	policy *Policy
	// siblings are those of the Workload: they may pin it to one cluster, or make it wait.
	siblings Siblings
}

// mayStillAdmit reports whether a nominated cluster's copy may still be admitted there.
func (el eligibility) mayStillAdmit(v ClusterView) bool {
	return el.state.isNominated(v.Name) && el.state.isCurrentCopy(v.Copy) && !v.Copy.Deleting && !el.cannotAdmit(v)
}

// waitsForGate reports whether a copy waits for its gate and nothing else.
func (el eligibility) waitsForGate(v ClusterView) bool {
	return el.policy.OrchestratePreemption && el.mayStillAdmit(v) && v.Copy.GateClosed && v.Copy.BlockedOnGate
}

// canOpenGate reports whether the gate of a copy can be opened. That the last call to open it has failed is no reason not to try
// again.
func (el eligibility) canOpenGate(v ClusterView) bool {
	if v.Offer.GateRequested {
		v.Health.Trouble = ""
	}
	return el.waitsForGate(v)
}

// ineligibleReason returns why a cluster must not be offered anything, nor keep an offer, though it can be reached; empty if it
// may. A nominated cluster that has admitted already is not barred by being cordoned; one that has lost its nomination is not
// nominated again because it admitted before its copy was withdrawn.
func (el eligibility) ineligibleReason(v ClusterView) Reason {
	pin := el.siblings.Pin
	switch {
	case !v.InConfig:
		return NotInConfig
	case v.Operator.DeclaredGone:
		return DeclaredGone
	case pin != "" && pin != v.Name:
		return PinnedElsewhere
	case el.siblings.Awaited:
		return SiblingWait
	case el.policy.OnHubLost == Stop && v.Fence.Lease == LeaseLapsed:
		return NotLeased
	case (v.Operator.Cordoned || v.Operator.Draining) && (!el.state.isNominated(v.Name) || !el.state.isCurrentCopy(v.Copy) || !v.Copy.Admitted):
		return Cordoned
	}
	return ""
}

// canOffer reports whether a cluster can be offered the Workload, or keep its offer.
func (el eligibility) canOffer(v ClusterView) bool {
	return el.ineligibleReason(v) == "" && v.connected() && !v.hasCollision() && (!el.policy.awaitsLease(v) || el.state.isNominated(v.Name))
}

// withoutSiblings is the eligibility for a Workload that leaves a cluster together with its siblings.
func (el eligibility) withoutSiblings(from string) eligibility {
	el.siblings.Awaited = false
	if el.siblings.Pin == from {
		el.siblings.Pin = ""
	}
	return el
}

// cannotAdmit reports whether a cluster is known not to admit the Workload as things are: it cannot be reached, does not take
// what it is given, or has turned its copy away.
func (el eligibility) cannotAdmit(v ClusterView) bool {
	c := v.Copy
	turnedAway := el.state.isCurrentCopy(c) && (c.Refused || c.Evicted || c.Deactivating || c.Finished != nil)
	return el.ineligibleReason(v) != "" || !v.connected() || v.hasCollision() || el.state.TroubleOn(v) != "" || turnedAway
}

// mayWin reports whether a cluster may be bound now: it is nominated, eligible and connected, and shows a copy of this epoch
// that is admitted, as it should be, and not on its way out.
func (el eligibility) mayWin(v ClusterView) bool {
	c := v.Copy
	return slices.Contains(el.state.Nominated, v.Name) && el.ineligibleReason(v) == "" && v.connected() && !v.hasCollision() && el.state.isCurrentCopy(c) &&
		c.Admitted && !c.Evicted && !c.Deactivating && !c.Deleting && c.Finished == nil && c.canFollow()
}

// nominator chooses the clusters that get offers, as the operator's dispatcher does it, and the winner among them.
type nominator struct {
	state       *State
	observed    *Observation
	policy      *Policy
	lost        lostClusters
	eligibility eligibility
}

// nomination is which clusters are to be offered to.
type nomination struct {
	state State
	// wakeAt is when the round ends, zero if nothing follows it; exhausted is set if a round was wanted and there is no cluster
	// left for it.
	wakeAt    time.Time
	exhausted bool
}

// nominate chooses the clusters to offer to, as the policy says (contract: multikueue.md 7).
func (n nominator) nominate(s State) nomination {
	if n.lost.indefiniteDebt(s) != "" {
		s.Nominated, s.Round = nil, time.Time{}
		return nomination{state: s}
	}
	switch n.policy.Dispatcher {
	case AllAtOnce:
		if names := sortedNames(n.eligibleClusters()); !slices.Equal(names, s.Nominated) {
			s.Nominated = names
		}
		return nomination{state: s}
	case Incremental, BestFit:
		return n.nominateRound(s)
	case External:
	}
	return nomination{state: s}
}

// eligibleClusters returns the clusters to offer to: not barred, connected, and with our name free; in the order in which the
// dispatcher goes through them.
func (n nominator) eligibleClusters() []string {
	var names []string
	for _, v := range n.byPreference() {
		if n.eligibility.canOffer(v) && (n.policy.Dispatcher != BestFit || v.Fit.Reason == "") {
			names = append(names, v.Name)
		}
	}
	return names
}

// canMove reports whether some other cluster could be offered the Workload and, as far as is known, ever admit it. Siblings that
// keep it where it is leave with it, and where the first of them has left already the others follow in any case.
func (n nominator) canMove(than string) bool {
	free := n.eligibility.withoutSiblings(than)
	return slices.ContainsFunc(n.observed.Clusters, func(v ClusterView) bool {
		fits := v.Fit.Reason == "" || n.observed.Local.Siblings.Left
		return v.Name != than && free.canOffer(v) && fits
	})
}

// byPreference returns the clusters in the order in which they are nominated: the config's, by name, or the best fit first
// (by score, then by name).
func (n nominator) byPreference() []ClusterView {
	if n.policy.Dispatcher != BestFit && !n.policy.ByName {
		return n.observed.Clusters
	}
	views := slices.Clone(n.observed.Clusters)
	slices.SortStableFunc(views, func(a, b ClusterView) int {
		if n.policy.Dispatcher != BestFit {
			return strings.Compare(a.Name, b.Name)
		}
		return cmp.Or(cmp.Compare(b.Fit.Score, a.Fit.Score), strings.Compare(a.Name, b.Name))
	})
	return views
}

// nominateRound nominates a few clusters after the others: as many as the step at once; as many more when these had their time;
// and one more for each that refuses while fewer than the step are left that may still admit. Nominations add up, and are
// withdrawn only from a cluster that is barred. A round whose start is not known begins now.
func (n nominator) nominateRound(s State) nomination {
	s.Nominated = n.withoutIneligible(s.Nominated)
	if len(s.Nominated) > 0 && s.Round.IsZero() {
		s.Round = n.newRoundStart()
	}
	rest := slices.DeleteFunc(n.eligibleClusters(), func(name string) bool { return slices.Contains(s.Nominated, name) })
	step, pace := n.roundLimits(len(s.Nominated))
	wanted := step - n.countHopeful(s.Nominated, rest)
	var ends time.Time
	if pace > 0 || n.policy.Dispatcher == Incremental {
		ends = n.roundStart(s).Add(pace)
		if over := !n.observed.Now.Before(ends); over && len(s.Nominated) > 0 {
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
	s.Round = n.newRoundStart()
	return nomination{state: s}
}

// roundStart is when the time of those nominated began: with the round or, under BestFit, when the last of those that may still
// admit was sent its offer. As long as one was not, it begins now: no cluster is hedged against because the hub is behind with
// its own work, which hedges would only add to. Where something earlier is in the offer's way, it is not the hub that is behind.
func (n nominator) roundStart(s State) time.Time {
	began := s.Round
	if n.policy.Dispatcher != BestFit {
		return began
	}
	for _, name := range s.Nominated {
		switch v := n.observed.view(name); {
		case n.eligibility.cannotAdmit(v), s.hasDebt(name), n.state.hasStale(v):
		case !v.Offer.StartedAt.IsZero():
			began = later(began, v.Offer.StartedAt)
		case v.Copy.Holder == Absent && v.Job.Holder == Absent:
			return later(began, n.observed.Now)
		}
	}
	return began
}

// roundLimits is how many clusters a round adds, and how long those nominated so far have before the next one. BestFit is content
// with one, and doubles the time with each, so that a fleet without room is not offered everything everywhere.
func (n nominator) roundLimits(nominated int) (step int, timeout time.Duration) {
	if n.policy.Dispatcher == Incremental {
		return max(n.policy.StepSize, 1), n.policy.RoundTimeout
	}
	timeout = n.policy.HedgeAfter
	for range nominated - 1 {
		timeout *= 2
		if n.policy.RoundTimeout > 0 && timeout >= n.policy.RoundTimeout {
			return 1, n.policy.RoundTimeout
		}
	}
	return 1, timeout
}

// newRoundStart is when a round begins that is nominated now, in the whole seconds that are stored: a hedge comes rather late
// than early.
func (n nominator) newRoundStart() time.Time {
	now := n.observed.Now.UTC()
	whole := now.Truncate(time.Second)
	if n.policy.Dispatcher == BestFit && whole.Before(now) {
		return whole.Add(time.Second)
	}
	return whole
}

// withoutIneligible returns those of the names that are not barred; the same slice if none is.
func (n nominator) withoutIneligible(names []string) []string {
	barred := func(name string) bool { return n.eligibility.ineligibleReason(n.observed.view(name)) != "" }
	if !slices.ContainsFunc(names, barred) {
		return names
	}
	return slices.DeleteFunc(slices.Clone(names), barred)
}

// countHopeful counts the clusters that may still admit what they were offered. One whose preemption gate is closed does not
// count as long as rest has a better one that would not have to preempt; nor, under BestFit, one that is degraded and has not
// even taken the offer, or waits for its run lease, as long as rest has one that is not.
func (n nominator) countHopeful(names, rest []string) int {
	count := 0
	for _, name := range names {
		if v := n.observed.view(name); !n.eligibility.cannotAdmit(v) && !n.hasBetterAlternative(v, rest) {
			count++
		}
	}
	return count
}

// hasBetterAlternative reports whether rest has a cluster that is not to wait for v.
func (n nominator) hasBetterAlternative(v ClusterView, rest []string) bool {
	gated, stuck := n.eligibility.waitsForGate(v), n.policy.Dispatcher == BestFit && (v.isShunned() || n.policy.awaitsLease(v)) && v.Copy.Holder == Absent
	return slices.ContainsFunc(rest, func(name string) bool {
		other := n.observed.view(name)
		easier := !other.Fit.Preempting && (n.policy.Dispatcher != BestFit || other.Fit.Score >= v.Fit.Score)
		return gated && easier || stuck && !other.isShunned()
	})
}

// winner returns the nominated cluster that admitted first; equal times are broken by name.
func (n nominator) winner() (string, bool) {
	var best *ClusterView
	for i := range n.observed.Clusters {
		v := &n.observed.Clusters[i]
		if !n.eligibility.mayWin(*v) {
			continue
		}
		if best == nil || v.Copy.AdmittedAt.Before(best.Copy.AdmittedAt) ||
			v.Copy.AdmittedAt.Equal(best.Copy.AdmittedAt) && strings.Compare(v.Name, best.Name) < 0 {
			best = v
		}
	}
	if best == nil {
		return "", false
	}
	return best.Name, true
}

// sortedNames sorts the names in place and returns them.
func sortedNames(names []string) []string {
	slices.Sort(names)
	return names
}

// isShunned reports whether others are preferred to a cluster for how it does what it is asked.
func (v ClusterView) isShunned() bool { return v.Health.Degraded != "" && !v.Health.OnTrial }

// TroubleOn is why a cluster does not take what it was asked last, empty if it does. A copy of this epoch that is as it should
// be shows that the offer was taken, whatever its call said: one that failed may have taken effect, and one that was refused may
// have been made twice. It says nothing about a call that came later, to open the copy's gate.
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
