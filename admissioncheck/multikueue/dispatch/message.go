package dispatch

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// staysText is between a Ready check's message and why the job stays on a cluster that is being drained.
const staysText = "; it is to leave "

// unfencedText is said beforehand of a Workload whose job no fence stops although the policy relies on one.
const unfencedText = "; no fence stops jobs of this kind: while its cluster is out of reach the workload waits for it to return"

// unfencedNote is what the check of a Workload says besides if its job is of a kind that no fence stops, and the policy relies on one.
func unfencedNote(job LocalJob, p *Policy) string {
	if p.OnHubLost == Stop && job.Unfenced {
		return unfencedText
	}
	return ""
}

// originLabel is the public label of everything that a hub makes on workers; package mirror has a test that it is that of the
// API.
const originLabel = "kueue.x-k8s.io/multikueue-origin"

// The messages of the check (contract: multikueue.md 4).
const (
	msgLost     = `Admitting remote lost`
	msgGone     = `Admitting remote no longer exists`
	msgKept     = `Kept although it is being deleted, because its job may still run`
	msgNoRecord = `Admission check is Ready but no admitting cluster is recorded; this is unexpected, please report it`
)

// messageLimit is the longest message a check may have, in bytes (contract: kueue-api.md 1.2).
const messageLimit = 32768

// reportStays says in the message of a Ready check why the job stays on a cluster that it is its turn to leave: cluster by
// cluster, why none can take it. It is written when a turn finds something else to say, and so no more often than turns come.
func (x explainer) reportStays(plan *Plan, v ClusterView) {
	if x.observed.Local.Check.State != Ready || x.policy.ExplainAfter <= 0 {
		return
	}
	parts := []string{msgAdmitted(v.Name) + staysText + strconv.Quote(v.Name) + ", but no other cluster can take it"}
	for _, other := range x.observed.Clusters {
		if (other.InConfig || other.Health.Trouble != "") && other.Name != v.Name {
			parts = append(parts, strconv.Quote(other.Name)+" "+x.eligibility.withoutSiblings(v.Name).explainCannotMove(other).String())
		}
	}
	x.planner.report(plan, strings.Join(parts, "; "))
}

// reportWaiting puts the summary and the explanations into the message of a check that has been Pending for long enough, and
// asks to be woken for it when it has not. Nothing in them changes by the mere passage of time, so nothing is written for that.
func (x explainer) reportWaiting(plan *Plan) {
	l := x.observed.Local
	if x.policy.ExplainAfter <= 0 || l.Check.State != Pending || l.Quota.ReservedAt.IsZero() {
		return
	}
	if at := l.Quota.ReservedAt.Add(x.policy.ExplainAfter); x.observed.Now.Before(at) {
		plan.WakeAt = earliest(plan.WakeAt, at)
		return
	}
	told := *plan
	told.Clusters = x.explainClusters(plan.Next)
	parts := []string{x.summarize(told)}
	for _, e := range told.Clusters {
		parts = append(parts, strconv.Quote(e.Cluster)+" "+e.String())
	}
	x.planner.report(plan, strings.Join(parts, "; "))
}

// reportNoJob says in the message of a Ready check why the bound cluster does not take the job, after a while.
func (x explainer) reportNoJob(plan *Plan, v ClusterView) {
	l := x.observed.Local
	if v.Health.Trouble == "" || x.policy.ExplainAfter <= 0 || l.Quota.ReservedAt.IsZero() {
		return
	}
	if at := l.Quota.ReservedAt.Add(x.policy.ExplainAfter); x.observed.Now.Before(at) {
		plan.WakeAt = earliest(plan.WakeAt, at)
		return
	}
	x.planner.report(plan, msgAdmitted(v.Name)+noJobText+v.Health.Trouble)
}

// reportWhyKept says, after a while, why a Workload that is being deleted does not go: in the check's message, and by an event.
func (x explainer) reportWhyKept(plan *Plan) {
	l := x.observed.Local
	if x.policy.ExplainAfter <= 0 || l.Check.State == "" {
		return
	}
	text := ""
	for _, d := range x.state.Debts {
		v := x.observed.view(d.Cluster)
		h := x.lost.hold(v, d.StopsOnHubLost)
		if v.Link.State != Unreachable || h.over {
			continue
		}
		if at := v.Link.Since.Add(x.policy.ExplainAfter); x.observed.Now.Before(at) {
			plan.WakeAt = earliest(plan.WakeAt, at)
			continue
		}
		text += `; worker cluster ` + strconv.Quote(v.Name) + ` cannot be reached since ` + formatTime(v.Link.Since) + ": " + x.lost.deletionReleaseText(h, d.StopsOnHubLost && v.Fence.Alive)
	}
	if text == "" {
		return
	}
	x.planner.report(plan, msgKept+text)
	if plan.Stores {
		plan.Event = &Event{Warning: true, Message: plan.CheckResult.Message}
	}
}

// reportHold says in the message of a Ready check that, and how, a policy other than the compatible one holds the Workload.
// Clients of the public API are told nothing of a mere grace.
func (x explainer) reportHold(plan *Plan, v ClusterView) {
	l := x.observed.Local
	if !x.policy.forbidsOverlap() || x.policy.ExplainAfter <= 0 {
		return
	}
	if l.Check.State != Ready {
		x.reportWaiting(plan)
		return
	}
	if at := v.Link.Since.Add(x.policy.ExplainAfter); v.Link.State != Unreachable || x.observed.Now.Before(at) {
		if v.Link.State == Unreachable {
			plan.WakeAt = earliest(plan.WakeAt, at)
		}
		return
	}
	x.planner.report(plan, x.lost.msgHeld(v, x.state.StopsOnHubLost))
}

// msgAdmitted is what a Ready check says, and the beginning of what it says when the job cannot be made.
func msgAdmitted(cluster string) string {
	return `The workload was admitted on ` + strconv.Quote(cluster)
}

func msgRelabelled(cluster string) string {
	return `Somebody has taken the label ` + originLabel + ` off the job on worker cluster ` + strconv.Quote(cluster) +
		`: put it back for its status to be seen here`
}

func joinNames(names []string) string {
	if len(names) == 0 {
		return "no cluster"
	}
	return strings.Join(names, ", ")
}

// truncate cuts a message to the limit, at a rune boundary, and says so with three dots.
func truncate(message string) string {
	if len(message) <= messageLimit {
		return message
	}
	cut := messageLimit - len("...")
	for cut > 0 && !utf8.RuneStart(message[cut]) {
		cut--
	}
	return message[:cut] + "..."
}
