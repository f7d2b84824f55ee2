package dispatch

import (
	"slices"
	"strconv"
	"strings"
)

// explain says of every cluster why it does not run the Workload, or that it does.
func (t turn) explain(next State) []Explanation {
	out := make([]Explanation, 0, len(t.o.Clusters))
	for _, v := range t.o.Clusters {
		e := t.why(next, v)
		e.Cluster = v.Name
		out = append(out, e)
	}
	return out
}

// why explains one cluster.
func (t turn) why(s State, v ClusterView) Explanation {
	held := s.Bound == v.Name && !s.Retreating()
	switch {
	case held:
		return t.whyBound(v)
	case !v.connected() && s.owedBy(v.Name):
		return t.whyOwed(s, v)
	case t.declaredGone(v):
		return Explanation{Phase: PhaseNotEligible, Reason: DeclaredGone, Message: "declared gone"}
	case !v.connected():
		return Explanation{Phase: PhaseLost, Reason: NotReachable, Message: "cannot be reached", Since: v.Link.Since}
	case v.collision():
		return Explanation{Phase: PhaseNotEligible, Reason: NameCollision, Message: "an object of the same name there is not ours", Since: v.collisionSince()}
	case s.owedBy(v.Name) || t.stale(v):
		return Explanation{Phase: PhaseLeaving, Reason: Retracting, Message: "what an earlier attempt left there is being removed"}
	case s.Bound != "":
		return Explanation{Phase: PhaseNotEligible, Reason: Lost, Message: "another cluster was chosen", Since: t.view(s.Bound).Copy.AdmittedAt}
	case s.Troubled(v) != "":
		e := Explanation{Phase: PhaseRefused, Reason: Refused, Message: "does not take it: " + v.Trouble}
		if s.nominates(v.Name) {
			e.Since = s.Round
		}
		return e
	case t.barred(v) != "":
		return t.whyBarred(v)
	case t.awaitsLease(v) && !t.s.currentCopy(v.Copy):
		return v.whyAwaitingLease()
	case !s.nominates(v.Name):
		return t.whyNotNominated(s, v)
	case !t.s.currentCopy(v.Copy) && v.Degraded != "":
		return Explanation{Phase: PhaseOffered, Reason: Offered, Message: "being offered, but " + v.Degraded, Since: s.Round}
	case !t.s.currentCopy(v.Copy):
		return Explanation{Phase: PhaseOffered, Reason: Offered, Message: "being offered", Since: s.Round}
	}
	return t.whyOffered(v.Copy)
}

// whyBarred explains a cluster that can be reached and must not be offered anything.
func (t turn) whyBarred(v ClusterView) Explanation {
	e := Explanation{Phase: PhaseNotEligible, Reason: t.barred(v)}
	switch {
	case e.Reason == DeclaredGone:
		e.Message = "declared gone, but can be reached"
	case e.Reason == PinnedElsewhere:
		e.Message = "the other workloads of the same owner are on " + strconv.Quote(t.o.Local.Pin)
	case e.Reason == SiblingWait:
		e.Message = "the workload waits for the first of its owner's workloads"
	case e.Reason == Cordoned && (v.Draining || v.BeingDrained):
		e.Message = "is being drained"
	case e.Reason == Cordoned:
		e.Message = "is cordoned"
	case e.Reason == NotLeased:
		e.Message = "its fence would stop the job, because the run lease there is not renewed" + v.leaseTrouble()
	default:
		e.Message = "not listed in the MultiKueueConfig"
	}
	return e
}

// whyAwaitingLease explains a cluster that nothing is offered to before its run lease is renewed.
func (v ClusterView) whyAwaitingLease() Explanation {
	return Explanation{Phase: PhaseNotEligible, Reason: NotLeased, Message: "waits for its run lease to be renewed" + v.leaseTrouble()}
}

// leaseTrouble is why the run lease is not renewed, if that is known.
func (v ClusterView) leaseTrouble() string {
	if v.LeaseTrouble == "" {
		return ""
	}
	return ": " + v.LeaseTrouble
}

// whyNotNominated explains a cluster that could be offered the Workload as far as its connection goes.
func (t turn) whyNotNominated(s State, v ClusterView) Explanation {
	if t.p.Dispatcher == BestFit && v.Fit.Reason != "" {
		return Explanation{Phase: PhaseNotEligible, Reason: v.Fit.Reason, Message: v.Fit.Message}
	}
	if t.p.Dispatcher == BestFit && len(s.Nominated) > 0 {
		return Explanation{Phase: PhaseNotEligible, Reason: HedgeWait, Message: "a better one has it and still has time", Since: s.Round}
	}
	return Explanation{Phase: PhaseNotEligible, Reason: NotNominated, Message: "not nominated"}
}

// whyOffered explains a cluster that has a copy.
func (t turn) whyOffered(c Copy) Explanation {
	waiting := func(because Reason, message string) Explanation {
		return Explanation{Phase: PhaseWaiting, Reason: because, Message: message, Since: c.Since}
	}
	switch {
	case c.Finished != nil:
		return Explanation{Phase: PhaseRefused, Reason: RemoteOutOfSync, Message: "the copy there has finished without running: " + c.Finished.Message}
	case c.Evicted:
		return Explanation{Phase: PhaseRefused, Reason: RemoteEvicted, Message: "evicted the copy", Since: c.EvictedAt}
	case c.Admitted:
		return Explanation{Phase: PhaseAdmitted, Reason: Admitted, Message: "admitted", Since: c.AdmittedAt}
	case c.Quota:
		return waiting(WaitingForAdmission, "has quota, waits for its admission checks")
	case c.Refused:
		return Explanation{Phase: PhaseRefused, Reason: Refused, Message: "cannot admit it" + c.quoted(), Since: c.Since}
	case c.GateClosed && c.BlockedOnGate:
		e := waiting(BlockedOnGate, "would have to preempt, and waits for its gate to be opened")
		e.Since = c.BlockedSince
		return e
	}
	because, words := c.waitsFor()
	return waiting(because, words+c.quoted())
}

// whyBound explains the cluster that is bound.
func (t turn) whyBound(v ClusterView) Explanation {
	c := v.Copy
	switch {
	case !v.connected():
		h := t.hold(v, t.s.Stops)
		because := h.because
		if because == InGrace || because == RemoteLost {
			because = NotReachable
		}
		return Explanation{Phase: PhaseLost, Reason: because, Message: "chosen, but cannot be reached", Since: v.Link.Since}
	case t.s.currentJob(v.Job):
		return Explanation{Phase: PhaseAdmitted, Reason: Running, Message: "has the job", Since: c.AdmittedAt}
	case v.Trouble != "":
		return Explanation{Phase: PhaseRefused, Reason: Refused, Message: "chosen, but does not take the job: " + v.Trouble, Since: c.AdmittedAt}
	}
	return Explanation{Phase: PhaseAdmitted, Reason: Starting, Message: "chosen", Since: c.AdmittedAt}
}

// whyOwed explains a cluster out of reach that may still run an earlier attempt.
func (t turn) whyOwed(s State, v ClusterView) Explanation {
	e := Explanation{Phase: PhaseLost, Reason: NotReachable, Message: "cannot be reached", Since: v.Link.Since}
	at := slices.IndexFunc(s.Debts, func(d Debt) bool { return d.Cluster == v.Name })
	switch h := t.hold(v, s.Debts[at].Stops); h.because {
	case FenceWait, Unfenced, Held, DeclaredGone:
		e.Reason, e.Message = h.because, "cannot be reached, may still run an earlier attempt; "+t.prospect(h, s.Debts[at].Stops && v.Fenced)
	default:
	}
	return e
}

// summary is the whole plan in one line: what is being waited for, how many clusters are how far, and the policy that holds
// the Workload, if it is one that promises something.
func (t turn) summary(plan Plan) string {
	var counts []string
	for _, phase := range []Phase{PhaseAdmitted, PhaseWaiting, PhaseOffered, PhaseRefused, PhaseLeaving, PhaseLost, PhaseNotEligible} {
		n := 0
		for _, e := range plan.Clusters {
			if e.Phase == phase {
				n++
			}
		}
		if n > 0 {
			counts = append(counts, strconv.Itoa(n)+" "+words(phase))
		}
	}
	text := plan.Message
	if len(counts) > 0 {
		text += " (clusters: " + strings.Join(counts, ", ") + ")"
	}
	if t.strict() {
		text += "; policy " + strconv.Quote(t.p.Name())
		if v := t.view(plan.Next.Bound); t.held() && !v.connected() {
			if h := t.hold(v, t.s.Stops); !h.release.IsZero() {
				text += " until " + stampOf(h.release)
			}
		}
	}
	return text
}

// words is a phase in words.
func words(p Phase) string {
	if p == PhaseNotEligible {
		return "not eligible"
	}
	return strings.ToLower(string(p))
}

// speak puts the summary and the explanations into the message of a check that has been Pending for long enough, and asks to
// be woken for it when it has not. Nothing in them changes by the mere passage of time, so nothing is written for that.
func (t turn) speak(plan *Plan) {
	l := t.o.Local
	if t.p.ExplainAfter <= 0 || l.Check != Pending || l.ReservedAt.IsZero() {
		return
	}
	if at := l.ReservedAt.Add(t.p.ExplainAfter); t.o.Now.Before(at) {
		plan.WakeAt = soonest(plan.WakeAt, at)
		return
	}
	told := *plan
	told.Clusters = t.explain(plan.Next)
	parts := []string{t.summary(told)}
	for _, e := range told.Clusters {
		parts = append(parts, strconv.Quote(e.Cluster)+" "+e.String())
	}
	plan.Verdict.Message = truncate(strings.Join(parts, "; "))
}

// String is what is said of the cluster, without its name: how far the Workload is there, since when, and why.
func (e Explanation) String() string {
	text := words(e.Phase)
	if !e.Since.IsZero() {
		text += " since " + stampOf(e.Since)
	}
	return text + ": " + e.Message
}

// wordNoJob is between a Ready check's message and why there is no job all the same.
const wordNoJob = "; its job cannot be created there: "

// complain says in the message of a Ready check why the bound cluster does not take the job, after a while.
func (t turn) complain(plan *Plan, v ClusterView) {
	l := t.o.Local
	if v.Trouble == "" || t.p.ExplainAfter <= 0 || l.ReservedAt.IsZero() {
		return
	}
	if at := l.ReservedAt.Add(t.p.ExplainAfter); t.o.Now.Before(at) {
		plan.WakeAt = soonest(plan.WakeAt, at)
		return
	}
	plan.Verdict.Message = truncate(msgAdmitted(v.Name) + wordNoJob + v.Trouble)
}

// complained reports whether the check still says so.
func (t turn) complained(cluster string) bool {
	return strings.HasPrefix(t.o.Local.CheckMessage, msgAdmitted(cluster)+wordNoJob)
}
