package dispatch

import (
	"cmp"
	"strconv"
	"strings"
)

// staysText is between a Ready check's message and why the job stays on a cluster that is being drained.
const staysText = "; it is to leave "

// reportStays says in the message of a Ready check why the job stays on a cluster that it is its turn to leave: cluster by cluster,
// why none can take it. It is written when a turn finds something else to say, and so no more often than turns come.
func (t decision) reportStays(plan *Plan, v ClusterView) {
	if t.observed.Local.Check.State != Ready || t.policy.ExplainAfter <= 0 {
		return
	}
	parts := []string{msgAdmitted(v.Name) + staysText + strconv.Quote(v.Name) + ", but no other cluster can take it"}
	for _, other := range t.observed.Clusters {
		if (other.InConfig || other.Health.Trouble != "") && other.Name != v.Name {
			parts = append(parts, strconv.Quote(other.Name)+" "+t.withoutSiblings(v.Name).explainCannotMove(other).String())
		}
	}
	t.report(plan, strings.Join(parts, "; "))
}

// explainCannotMove explains a cluster that the Workload cannot move to.
func (t decision) explainCannotMove(v ClusterView) Explanation {
	switch {
	case !v.connected():
		return Explanation{Phase: ClusterLost, Reason: NotReachable, Message: "cannot be reached"}
	case v.hasCollision():
		return Explanation{Phase: ClusterNotEligible, Reason: NameCollision, Message: "an object of the same name there is not ours"}
	case !v.InConfig:
		return Explanation{Phase: ClusterRefused, Reason: Refused, Message: "does not take it: " + v.Health.Trouble}
	case t.ineligibleReason(v) != "":
		return t.explainIneligible(v)
	case t.awaitsLease(v):
		return v.explainAwaitingLease()
	}
	return Explanation{Phase: ClusterNotEligible, Reason: v.Fit.Reason, Message: cmp.Or(v.Fit.Message, string(v.Fit.Reason))}
}

// reportsStays reports whether the check says of a cluster that is not being drained any more that the Workload is to leave it.
func (t decision) reportsStays(v ClusterView) bool {
	return !v.Operator.Draining && !v.Operator.BeingDrained && strings.HasPrefix(t.observed.Local.Check.Message, msgAdmitted(v.Name)+staysText)
}
