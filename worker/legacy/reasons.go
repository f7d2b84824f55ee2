package legacy

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

// Reason is the coarse reason of QuotaReserved=False; reasons that have none, AdmissionGated and OnHold among them, stay as they are
// (contract: messages.md 1.5). Inadmissible is what only somebody's deed can end, and Waiting the wait for the pods of others.
func Reason(detailed kueue.Reason) kueue.Reason {
	switch detailed {
	case kueue.ReasonPendingEvaluation, kueue.ReasonNoMatchingFlavor, kueue.ReasonExceedsMaxQuota, kueue.ReasonWaitingForQuota,
		kueue.ReasonTopologyPlacementFailed, kueue.ReasonWaitingForPreemptedWorkloads:
		return kueue.ReasonPending
	case kueue.ReasonMisconfigured, kueue.ReasonSuspended, kueue.ReasonDeactivated:
		return kueue.ReasonInadmissible
	case kueue.ReasonWaitingForPodsReady:
		return kueue.ReasonWaiting
	default:
		return detailed
	}
}

const separator = ": "

// say makes a condition coarse; ready tells whether all checks of the Workload are. It reports whether that changed anything.
func say(c *metav1.Condition, ready bool) bool {
	was := kueue.Reason(c.Reason)
	switch {
	case c.Status != metav1.ConditionFalse:
		return false
	case c.Type == kueue.WorkloadQuotaReserved && Reason(was) != was:
		c.Reason, c.Message = string(Reason(was)), kube.Truncate(c.Reason+separator+c.Message, kube.MaxConditionMessage)
		return true
	case c.Type == kueue.WorkloadAdmitted && was == kueue.ReasonUnsatisfiedAdmissionChecks:
		c.Reason = string(kueue.ReasonUnsatisfiedChecks)
		return true
	case c.Type == kueue.WorkloadAdmitted && was == kueue.ReasonNoReservation && !ready:
		c.Reason = string(kueue.ReasonNoReservationUnsatisfiedChecks)
		return true
	default:
		return false
	}
}

// hear takes back what say has done.
func hear(c *metav1.Condition) {
	coarse := kueue.Reason(c.Reason)
	switch {
	case c.Status != metav1.ConditionFalse:
	case c.Type == kueue.WorkloadQuotaReserved:
		detailed, message, found := strings.Cut(c.Message, separator)
		if found && detailed != c.Reason && Reason(kueue.Reason(detailed)) == coarse {
			c.Reason, c.Message = detailed, message
		}
	case c.Type == kueue.WorkloadAdmitted && coarse == kueue.ReasonUnsatisfiedChecks:
		c.Reason = string(kueue.ReasonUnsatisfiedAdmissionChecks)
	case c.Type == kueue.WorkloadAdmitted && coarse == kueue.ReasonNoReservationUnsatisfiedChecks:
		c.Reason = string(kueue.ReasonNoReservation)
	}
}

// hearAll makes the conditions of a Workload that came from the API detailed.
func hearAll(object any) {
	if wl, ok := object.(*kueue.Workload); ok {
		for i := range wl.Status.Conditions {
			hear(&wl.Status.Conditions[i])
		}
	}
}
