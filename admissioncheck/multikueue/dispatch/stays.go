package dispatch

import (
	"cmp"
	"strconv"
	"strings"
)

// wordStays is between a Ready check's message and why the job stays on a cluster that is being drained.
const wordStays = "; it is to leave "

// stays is run for a Workload whose turn it is to leave its cluster, and that nobody else may take: the check's message says why,
// cluster by cluster. It is written when its turn finds something else to say, and so no more often than turns come.
func (t turn) stays(v ClusterView) Plan {
	plan := t.run(v)
	if t.o.Local.Check != Ready || !t.s.currentJob(v.Job) || t.p.ExplainAfter <= 0 || plan.Writes(t.s, t.o.Local) {
		return plan
	}
	parts := []string{msgAdmitted(v.Name) + wordStays + strconv.Quote(v.Name) + ", but no other cluster can take it"}
	for _, other := range t.o.Clusters {
		if (other.InConfig || other.Trouble != "") && other.Name != v.Name {
			parts = append(parts, strconv.Quote(other.Name)+" "+t.leaving(v.Name).whyNotThere(other).String())
		}
	}
	if message := truncate(strings.Join(parts, "; ")); message != t.o.Local.CheckMessage {
		plan = t.move(t.s, Running, "nobody else can take what is to leave "+v.Name)
		plan.Verdict.Message = message
	}
	return plan
}

// whyNotThere explains a cluster that the Workload cannot move to.
func (t turn) whyNotThere(v ClusterView) Explanation {
	switch {
	case !v.connected():
		return Explanation{Phase: PhaseLost, Reason: NotReachable, Message: "cannot be reached"}
	case v.collision():
		return Explanation{Phase: PhaseNotEligible, Reason: NameCollision, Message: "an object of the same name there is not ours"}
	case !v.InConfig:
		return Explanation{Phase: PhaseRefused, Reason: Refused, Message: "does not take it: " + v.Trouble}
	case t.barred(v) != "":
		return t.whyBarred(v)
	case t.awaitsLease(v):
		return v.whyAwaitingLease()
	}
	return Explanation{Phase: PhaseNotEligible, Reason: v.Fit.Reason, Message: cmp.Or(v.Fit.Message, string(v.Fit.Reason))}
}

// stayed reports whether the check says of a cluster that is not being drained any more that the Workload is to leave it.
func (t turn) stayed(v ClusterView) bool {
	return !v.Draining && !v.BeingDrained && strings.HasPrefix(t.o.Local.CheckMessage, msgAdmitted(v.Name)+wordStays)
}
