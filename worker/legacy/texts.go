package legacy

import (
	"strings"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// gatedPreemption is what a Workload is told whose preemption gates are closed.
const gatedPreemption = "Workload requires preemption, but it's gated"

// refine finds the detailed reason by the message, whose texts are literal; empty if the message is of no known form.
func refine(coarse kueue.Reason, message string) kueue.Reason {
	switch coarse {
	case kueue.ReasonWaiting:
		return kueue.ReasonWaitingForPodsReady
	case kueue.ReasonInadmissible:
		return refineQueueMessage(message)
	case kueue.ReasonPending:
		return refineSchedulerMessage(message)
	default:
		return ""
	}
}

// refineQueueMessage is the reason of a message about a queue that is missing or closed.
func refineQueueMessage(message string) kueue.Reason {
	if !strings.HasPrefix(message, "LocalQueue ") && !strings.HasPrefix(message, "ClusterQueue ") {
		return ""
	}
	switch {
	case endsWith(message, " doesn't exist", " is terminating or missing"):
		return kueue.ReasonMisconfigured
	case endsWith(message, " is inactive", " is stopped"):
		return kueue.ReasonSuspended
	default:
		return ""
	}
}

// refineSchedulerMessage is the reason of a message of the scheduler or of an eviction.
func refineSchedulerMessage(message string) kueue.Reason {
	switch {
	case message == "The workload is deactivated":
		return kueue.ReasonDeactivated
	case message == gatedPreemption:
		return kueue.ReasonAdmissionGated
	case startsWith(message, "workload namespace ", "invalid namespace selector: ", "resources validation failed: ",
		"resources didn't satisfy LimitRange constraints: "):
		return kueue.ReasonMisconfigured
	case strings.Contains(message, ". Pending the preemption of "), strings.HasSuffix(message, " failed, will retry."),
		strings.HasPrefix(message, "Workload has overlapping preemption targets with another workload, but will fit"):
		return kueue.ReasonWaitingForPreemptedWorkloads
	case startsWith(message, "Workload has overlapping preemption targets", "Workload no longer fits"):
		return kueue.ReasonWaitingForQuota
	case startsWith(message, "couldn't assign flavors to pod set ", "failed to assign flavors to pod set "):
		return refineFlavorMessage(message)
	case startsWith(message, "Workload is pending evaluation", "AdmissionGatedBy cleared", "The workload has failed admission checks",
		"Preempted to accommodate ", "Exceeded the PodsReady timeout ", "Evicted ", "The ClusterQueue is stopped", "The LocalQueue is stopped"):
		return kueue.ReasonPendingEvaluation
	default:
		return ""
	}
}

// refineFlavorMessage names what gives most hope where several things are in the way: a workload that waits without need
// loses less than one that leaves.
func refineFlavorMessage(message string) kueue.Reason {
	switch {
	case strings.Contains(message, "insufficient unused quota for "):
		return kueue.ReasonWaitingForQuota
	case strings.Contains(message, ") > maximum capacity ("):
		return kueue.ReasonExceedsMaxQuota
	default:
		for _, hopeless := range []string{" unavailable in ClusterQueue", "untolerated taint ", " doesn't match node affinity", "flavor "} {
			if strings.Contains(message, hopeless) {
				return kueue.ReasonNoMatchingFlavor
			}
		}
		return ""
	}
}

func startsWith(text string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return false
}

func endsWith(text string, suffixes ...string) bool {
	for _, s := range suffixes {
		if strings.HasSuffix(text, s) {
			return true
		}
	}
	return false
}
