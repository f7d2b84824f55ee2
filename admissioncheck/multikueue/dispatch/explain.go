package dispatch

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// explainer says in words why the clusters do not run the Workload, and puts that into the message of its check.
type explainer struct {
	state       *State
	observed    *Observation
	policy      *Policy
	lost        lostClusters
	eligibility eligibility
	planner     planner
}

// explainCannotMove explains a cluster that the Workload cannot move to.
func (el eligibility) explainCannotMove(v ClusterView) Explanation {
	switch {
	case !v.connected():
		return Explanation{Phase: ClusterLost, Reason: NotReachable, Message: "cannot be reached"}
	case v.hasCollision():
		return Explanation{Phase: ClusterNotEligible, Reason: NameCollision, Message: "an object of the same name there is not ours"}
	case !v.InConfig:
		return Explanation{Phase: ClusterRefused, Reason: Refused, Message: "does not take it: " + v.Health.Trouble}
	case el.ineligibleReason(v) != "":
		return el.explainIneligible(v)
	case el.policy.awaitsLease(v):
		return v.explainAwaitingLease()
	}
	return Explanation{Phase: ClusterNotEligible, Reason: v.Fit.Reason, Message: cmp.Or(v.Fit.Message, string(v.Fit.Reason))}
}

// explainClusters says of every cluster why it does not run the Workload, or that it does.
func (x explainer) explainClusters(next State) []Explanation {
	out := make([]Explanation, 0, len(x.observed.Clusters))
	for _, v := range x.observed.Clusters {
		e := x.explainCluster(next, v)
		e.Cluster = v.Name
		out = append(out, e)
	}
	return out
}

// explainCluster explains one cluster by the first that applies: that it has the Workload; that it cannot be reached; what is left
// there of earlier attempts; that another cluster was chosen; why nothing may be offered to it; how far the offer is.
func (x explainer) explainCluster(s State, v ClusterView) Explanation {
	held := s.Bound == v.Name && !s.Retreating()
	switch {
	case held:
		return x.explainBound(v)
	case !v.connected() && s.hasDebt(v.Name):
		return x.explainDebtor(s, v)
	case x.lost.isDeclaredGone(v):
		return Explanation{Phase: ClusterNotEligible, Reason: DeclaredGone, Message: "declared gone"}
	case !v.connected():
		return Explanation{Phase: ClusterLost, Reason: NotReachable, Message: "cannot be reached", Since: v.Link.Since}
	case v.hasCollision():
		return Explanation{Phase: ClusterNotEligible, Reason: NameCollision, Message: "an object of the same name there is not ours", Since: v.collisionSince()}
	case s.hasDebt(v.Name) || x.state.hasStale(v):
		return Explanation{Phase: ClusterLeaving, Reason: Retracting, Message: "what an earlier attempt left there is being removed"}
	case s.Bound != "":
		return Explanation{Phase: ClusterNotEligible, Reason: Lost, Message: "another cluster was chosen", Since: x.observed.view(s.Bound).Copy.AdmittedAt}
	case s.TroubleOn(v) != "":
		e := Explanation{Phase: ClusterRefused, Reason: Refused, Message: "does not take it: " + v.Health.Trouble}
		if s.isNominated(v.Name) {
			e.Since = s.Round
		}
		return e
	case x.eligibility.ineligibleReason(v) != "":
		return x.eligibility.explainIneligible(v)
	case x.policy.awaitsLease(v) && !x.state.isCurrentCopy(v.Copy):
		return v.explainAwaitingLease()
	case !s.isNominated(v.Name):
		return x.explainNotNominated(s, v)
	case !x.state.isCurrentCopy(v.Copy) && v.Health.Degraded != "":
		return Explanation{Phase: ClusterOffered, Reason: Offered, Message: "being offered, but " + v.Health.Degraded, Since: s.Round}
	case !x.state.isCurrentCopy(v.Copy):
		return Explanation{Phase: ClusterOffered, Reason: Offered, Message: "being offered", Since: s.Round}
	}
	return v.Copy.explainOffered()
}

// explainIneligible explains a cluster that can be reached and must not be offered anything.
func (el eligibility) explainIneligible(v ClusterView) Explanation {
	e := Explanation{Phase: ClusterNotEligible, Reason: el.ineligibleReason(v)}
	switch {
	case e.Reason == DeclaredGone:
		e.Message = "declared gone, but can be reached"
	case e.Reason == PinnedElsewhere:
		e.Message = "the other workloads of the same owner are on " + strconv.Quote(el.siblings.Pin)
	case e.Reason == SiblingWait:
		e.Message = "the workload waits for the first of its owner's workloads"
	case e.Reason == Cordoned && (v.Operator.Draining || v.Operator.BeingDrained):
		e.Message = "is being drained"
	case e.Reason == Cordoned:
		e.Message = "is cordoned"
	case e.Reason == NotLeased:
		e.Message = "its fence would stop the job, because the run lease there is not renewed" + v.leaseTroubleText()
	default:
		e.Message = "not listed in the MultiKueueConfig"
	}
	return e
}

// explainAwaitingLease explains a cluster that nothing is offered to before its run lease is renewed.
func (v ClusterView) explainAwaitingLease() Explanation {
	return Explanation{Phase: ClusterNotEligible, Reason: NotLeased, Message: "waits for its run lease to be renewed" + v.leaseTroubleText()}
}

// leaseTroubleText is why the run lease is not renewed, if that is known.
func (v ClusterView) leaseTroubleText() string {
	if v.Fence.LeaseTrouble == "" {
		return ""
	}
	return ": " + v.Fence.LeaseTrouble
}

// explainNotNominated explains a cluster that could be offered the Workload as far as its connection goes.
func (x explainer) explainNotNominated(s State, v ClusterView) Explanation {
	if x.policy.Dispatcher == BestFit && v.Fit.Reason != "" {
		return Explanation{Phase: ClusterNotEligible, Reason: v.Fit.Reason, Message: v.Fit.Message}
	}
	if x.policy.Dispatcher == BestFit && len(s.Nominated) > 0 {
		return Explanation{Phase: ClusterNotEligible, Reason: HedgeWait, Message: "a better one has it and still has time", Since: s.Round}
	}
	return Explanation{Phase: ClusterNotEligible, Reason: NotNominated, Message: "not nominated"}
}

// explainOffered explains a cluster that has a copy.
func (c Copy) explainOffered() Explanation {
	waiting := func(because Reason, message string) Explanation {
		return Explanation{Phase: ClusterWaiting, Reason: because, Message: message, Since: c.Since}
	}
	switch {
	case c.Finished != nil:
		return Explanation{Phase: ClusterRefused, Reason: RemoteOutOfSync, Message: "the copy there has finished without running: " + c.Finished.Message}
	case c.Evicted:
		return Explanation{Phase: ClusterRefused, Reason: RemoteEvicted, Message: "evicted the copy", Since: c.EvictedAt}
	case c.Admitted:
		return Explanation{Phase: ClusterAdmitted, Reason: Admitted, Message: "admitted", Since: c.AdmittedAt}
	case c.QuotaReserved:
		return waiting(WaitingForAdmission, "has quota, waits for its admission checks")
	case c.Refused:
		return Explanation{Phase: ClusterRefused, Reason: Refused, Message: "cannot admit it" + c.waitingText(), Since: c.Since}
	case c.GateClosed && c.BlockedOnGate:
		e := waiting(BlockedOnGate, "would have to preempt, and waits for its gate to be opened")
		e.Since = c.BlockedSince
		return e
	}
	because, words := c.waitingFor()
	return waiting(because, words+c.waitingText())
}

// explainBound explains the cluster that is bound.
func (x explainer) explainBound(v ClusterView) Explanation {
	c := v.Copy
	switch {
	case !v.connected():
		h := x.lost.hold(v, x.state.StopsOnHubLost)
		because := h.reason
		if because == InGrace || because == RemoteLost {
			because = NotReachable
		}
		return Explanation{Phase: ClusterLost, Reason: because, Message: "chosen, but cannot be reached", Since: v.Link.Since}
	case x.state.isCurrentJob(v.Job):
		return Explanation{Phase: ClusterAdmitted, Reason: Running, Message: "has the job", Since: c.AdmittedAt}
	case v.Health.Trouble != "":
		return Explanation{Phase: ClusterRefused, Reason: Refused, Message: "chosen, but does not take the job: " + v.Health.Trouble, Since: c.AdmittedAt}
	}
	return Explanation{Phase: ClusterAdmitted, Reason: Starting, Message: "chosen", Since: c.AdmittedAt}
}

// explainDebtor explains a cluster out of reach that may still run an earlier attempt.
func (x explainer) explainDebtor(s State, v ClusterView) Explanation {
	e := Explanation{Phase: ClusterLost, Reason: NotReachable, Message: "cannot be reached", Since: v.Link.Since}
	at := slices.IndexFunc(s.Debts, func(d Debt) bool { return d.Cluster == v.Name })
	switch h := x.lost.hold(v, s.Debts[at].StopsOnHubLost); h.reason {
	case FenceWait, Unfenced, Held, DeclaredGone:
		e.Reason, e.Message = h.reason, "cannot be reached, may still run an earlier attempt; "+x.lost.releaseText(h, s.Debts[at].StopsOnHubLost && v.Fence.Alive)
	default:
	}
	return e
}

// summarize is the whole plan in one line: what is being waited for, how many clusters are how far, and the policy that holds
// the Workload, if it is one that promises something.
func (x explainer) summarize(plan Plan) string {
	var counts []string
	for _, phase := range []ClusterPhase{ClusterAdmitted, ClusterWaiting, ClusterOffered, ClusterRefused, ClusterLeaving, ClusterLost, ClusterNotEligible} {
		n := 0
		for _, e := range plan.Clusters {
			if e.Phase == phase {
				n++
			}
		}
		if n > 0 {
			counts = append(counts, strconv.Itoa(n)+" "+phaseText(phase))
		}
	}
	text := plan.Message
	if len(counts) > 0 {
		text += " (clusters: " + strings.Join(counts, ", ") + ")"
	}
	if x.policy.forbidsOverlap() {
		text += "; policy " + strconv.Quote(x.policy.Name()) + unfencedNote(x.observed.Local.Job, x.policy)
		if v := x.observed.view(plan.Next.Bound); x.state.holdsCluster() && !v.connected() {
			if h := x.lost.hold(v, x.state.StopsOnHubLost); !h.release.IsZero() {
				text += " until " + formatTime(h.release)
			}
		}
	}
	return text
}

// phaseText is a phase in words.
func phaseText(p ClusterPhase) string {
	if p == ClusterNotEligible {
		return "not eligible"
	}
	return strings.ToLower(string(p))
}

// String is what is said of the cluster, without its name: how far the Workload is there, since when, and why.
func (e Explanation) String() string {
	text := phaseText(e.Phase)
	if !e.Since.IsZero() {
		text += " since " + formatTime(e.Since)
	}
	return text + ": " + e.Message
}

// noJobText is between a Ready check's message and why there is no job all the same.
const noJobText = "; its job cannot be created there: "
