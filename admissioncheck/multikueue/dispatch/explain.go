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
		reason, message := t.why(next, v)
		out = append(out, Explanation{Cluster: v.Name, Reason: reason, Message: message})
	}
	return out
}

func (t turn) why(s State, v ClusterView) (Reason, string) {
	c := v.Copy
	switch {
	case s.Bound == v.Name && !s.Retreating():
		return t.whyBound(v)
	case !v.connected():
		return NotReachable, "cannot be reached"
	case v.collision():
		return NameCollision, "an object of the same name there is not ours"
	case s.owedBy(v.Name) || t.stale(v):
		return Retracting, "what an earlier attempt left there is being removed"
	case s.Bound != "":
		return Lost, "another cluster was chosen"
	case v.Trouble != "":
		return Refused, "does not take it: " + v.Trouble
	case !v.InConfig:
		return NotInConfig, "not listed in the MultiKueueConfig"
	case !slices.Contains(s.Nominated, v.Name):
		return NotNominated, "not nominated"
	case !t.s.currentCopy(c):
		return Offered, "being offered"
	case c.Finished != nil:
		return RemoteOutOfSync, "the copy there has finished without running: " + c.Finished.Message
	case c.Evicted:
		return RemoteEvicted, "evicted the copy"
	case c.Admitted:
		return Admitted, "admitted"
	case c.Quota:
		return WaitingForAdmission, "has quota, waits for its admission checks"
	case c.Refused:
		return Refused, "cannot admit it: " + c.Waiting
	case c.Waiting != "":
		return WaitingForQuota, "waits for quota: " + c.Waiting
	}
	return WaitingForQuota, "waits for quota"
}

func (t turn) whyBound(v ClusterView) (Reason, string) {
	switch {
	case !v.connected():
		return NotReachable, "chosen, but cannot be reached"
	case t.s.currentJob(v.Job):
		return Running, "has the job"
	case v.Trouble != "":
		return Refused, "chosen, but does not take the job: " + v.Trouble
	}
	return Starting, "chosen"
}

// speak puts the explanations into the message of a check that has been Pending for long enough, and asks to be woken
// for it when it has not.
func (t turn) speak(plan *Plan) {
	l := t.o.Local
	if t.p.ExplainAfter <= 0 || l.Check != Pending || l.ReservedAt.IsZero() {
		return
	}
	if at := l.ReservedAt.Add(t.p.ExplainAfter); t.o.Now.Before(at) {
		plan.WakeAt = soonest(plan.WakeAt, at)
		return
	}
	parts := []string{plan.Message}
	for _, e := range t.explain(plan.Next) {
		parts = append(parts, strconv.Quote(e.Cluster)+" "+e.Message)
	}
	plan.Verdict.Message = truncate(strings.Join(parts, "; "))
}
