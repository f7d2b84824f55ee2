package dispatch

import (
	"strconv"
	"strings"
)

// planner makes Plans: one that acts, or one that stores, never both. It knows the present State and what the check says now.
type planner struct {
	state *State
	check LocalCheck
	// note is added to what the check says of an offer and of an admission.
	note string
}

// presentResult is what the check says now.
func (p planner) presentResult() CheckResult {
	return CheckResult{State: p.check.State, Message: p.check.Message}
}

// act is the Plan that stores nothing.
func (p planner) act(reason Reason, message string, actions ...Action) Plan {
	return Plan{Next: *p.state, CheckResult: p.presentResult(), Reason: reason, Message: message, Actions: actions}
}

// store is the Plan that stores another State and leaves the check as it is.
func (p planner) store(next State, reason Reason, message string) Plan {
	return Plan{Stores: true, Next: next, CheckResult: p.presentResult(), Reason: reason, Message: message}
}

// storeCheck is the Plan that stores another State, which may be the present one, and what the check says.
func (p planner) storeCheck(next State, check CheckState, reason Reason, message string) Plan {
	plan := p.store(next, reason, message)
	plan.CheckResult = CheckResult{State: check, Message: truncate(message)}
	return plan
}

// storeReady is the Plan that stores the State and makes the check say that the cluster has admitted the workload.
func (p planner) storeReady(next State, cluster string, reason Reason, message string) Plan {
	plan := p.storeCheck(next, Ready, reason, message)
	plan.CheckResult.Message = msgAdmitted(cluster) + p.note
	if p.check.State != Ready {
		plan.Event = &Event{Message: plan.CheckResult.Message}
	}
	return plan
}

// storeOffer is the Plan that stores a nomination. The check says what there is to know of it beforehand.
func (p planner) storeOffer(next State, reason Reason, message string) Plan {
	plan := p.store(next, reason, message)
	if p.note != "" {
		p.report(&plan, message+p.note)
	}
	return plan
}

// report makes the plan store another message of the check, unless the check says that already or the Workload has no entry
// for it.
func (p planner) report(plan *Plan, message string) {
	if message = truncate(message); p.check.State == "" || message == p.check.Message {
		return
	}
	plan.CheckResult.Message, plan.Stores = message, true
}

// reportsHold reports whether the check still says that the Workload is held.
func (p planner) reportsHold() bool {
	return strings.HasPrefix(p.check.Message, heldPrefix)
}

// reportsNoJob reports whether the check still says so.
func (p planner) reportsNoJob(cluster string) bool {
	return strings.HasPrefix(p.check.Message, msgAdmitted(cluster)+noJobText)
}

// reportsStays reports whether the check says of a cluster that is not being drained any more that the Workload is to leave it.
func (p planner) reportsStays(v ClusterView) bool {
	return !v.Operator.Draining && !v.Operator.BeingDrained && strings.HasPrefix(p.check.Message, msgAdmitted(v.Name)+staysText)
}

// withPrevious adds the old state to a message.
func (p planner) withPrevious(message string) string {
	return truncate(message + `, Previously: ` + strconv.Quote(string(p.check.State)))
}

func (p planner) msgEvicted(cluster string) string {
	return `Workload evicted on worker cluster: ` + strconv.Quote(cluster) +
		`, resetting for re-admission. Previously: ` + strconv.Quote(string(p.check.State))
}

func (p planner) msgOutOfSync(cluster string) string {
	return p.withPrevious(`Remote workload on worker cluster ` + strconv.Quote(cluster) +
		` is out of sync with its user job, resetting for re-dispatch`)
}

func (p planner) msgCollision(cluster string) string {
	return p.withPrevious(`An object of the same name on worker cluster ` + strconv.Quote(cluster) +
		` is not ours, resetting for re-dispatch`)
}

func (p planner) msgDrained(cluster string) string {
	return p.withPrevious(`Worker cluster ` + strconv.Quote(cluster) + ` is being drained, resetting for re-dispatch`)
}
