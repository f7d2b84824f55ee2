package dispatch

import "time"

// waitingFor says what a copy without quota waits for, by the worker's own reason (contract: kueue-api.md 1.13, QuotaReserved). Workers
// that give no detailed reasons say Pending of nearly everything.
func (c Copy) waitingFor() (because Reason, words string) {
	switch c.WaitingReason {
	case "", "WaitingForQuota":
		return WaitingForQuota, "waits for quota"
	case "WaitingForPreemptedWorkloads":
		return WaitingForQuota, "waits for preempted workloads to stop"
	case "WaitingForPodsReady":
		return WaitingThere, "waits for the pods of other workloads to be ready"
	case "TopologyPlacementFailed":
		return WaitingThere, "waits for nodes that are close enough to each other"
	case "PendingEvaluation":
		return WaitingThere, "waits to be looked at"
	case "AdmissionGated":
		return WaitingThere, "waits for its admission gates"
	case "OnHold":
		return WaitingThere, "is on hold"
	}
	return WaitingThere, "waits"
}

// waitingText is what the worker itself says about a copy without quota: message, and reason in brackets.
func (c Copy) waitingText() string {
	text := ""
	if c.WaitingMessage != "" {
		text = ": " + c.WaitingMessage
	}
	if c.WaitingReason != "" {
		text += " (" + c.WaitingReason + ")"
	}
	return text
}

// collisionSince is when an object that is not ours took the name; zero if that is not known.
func (v ClusterView) collisionSince() time.Time {
	if v.Copy.Holder == Foreign {
		return v.Copy.Since
	}
	return v.Job.Since
}
