package legacy

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/workload"
)

// Reason is the coarse reason of QuotaReserved=False for a detailed one and its message; reasons that have none, AdmissionGated and
// OnHold among them, stay as they are (contract: messages.md 1.5). Inadmissible is for queues that are missing or closed, Waiting for
// the wait for the pods of others.
func Reason(detailed kueue.Reason, message string) kueue.Reason {
	switch detailed {
	case kueue.ReasonPendingEvaluation, kueue.ReasonNoMatchingFlavor, kueue.ReasonExceedsMaxQuota, kueue.ReasonWaitingForQuota,
		kueue.ReasonTopologyPlacementFailed, kueue.ReasonWaitingForPreemptedWorkloads, kueue.ReasonDeactivated:
		return kueue.ReasonPending
	case kueue.ReasonMisconfigured, kueue.ReasonSuspended:
		if refineQueueMessage(message) == "" {
			return kueue.ReasonPending
		}
		return kueue.ReasonInadmissible
	case kueue.ReasonWaitingForPodsReady:
		return kueue.ReasonWaiting
	case kueue.ReasonAdmissionGated:
		if message == gatedPreemption {
			return kueue.ReasonPending
		}
		return detailed
	default:
		return detailed
	}
}

// generalize makes a condition coarse; ready tells whether all checks of the Workload are. It reports whether that changed anything.
func generalize(c *metav1.Condition, ready bool) bool {
	was := kueue.Reason(c.Reason)
	switch {
	case c.Status != metav1.ConditionFalse:
		return false
	case c.Type == kueue.WorkloadQuotaReserved:
		c.Reason = string(Reason(was, c.Message))
	case c.Type == kueue.WorkloadAdmitted && was == kueue.ReasonUnsatisfiedAdmissionChecks:
		c.Reason = string(kueue.ReasonUnsatisfiedChecks)
	case c.Type == kueue.WorkloadAdmitted && was == kueue.ReasonNoReservation && !ready && c.Message == noReservation:
		c.Reason, c.Message = string(kueue.ReasonNoReservationUnsatisfiedChecks), noReason
	}
	return c.Reason != string(was)
}

// What Admitted=False says without quota, and without quota and checks.
const (
	noReservation = "The workload has no reservation"
	noReason      = "The workload has no reservation and not all checks ready"
)

// refineCondition takes back what say has done, as far as the message tells.
func refineCondition(c *metav1.Condition) {
	coarse := kueue.Reason(c.Reason)
	switch {
	case c.Status != metav1.ConditionFalse:
	case c.Type == kueue.WorkloadQuotaReserved:
		if detailed := refine(coarse, c.Message); detailed != "" {
			c.Reason = string(detailed)
		}
	case c.Type == kueue.WorkloadAdmitted && coarse == kueue.ReasonUnsatisfiedChecks:
		c.Reason = string(kueue.ReasonUnsatisfiedAdmissionChecks)
	case c.Type == kueue.WorkloadAdmitted && coarse == kueue.ReasonNoReservationUnsatisfiedChecks:
		c.Reason = string(kueue.ReasonNoReservation)
		if c.Message == noReason {
			c.Message = noReservation
		}
	}
}

// refineWorkload makes the conditions of a Workload that came from the API detailed.
func refineWorkload(object any) {
	if wl, ok := object.(*kueue.Workload); ok {
		for i := range wl.Status.Conditions {
			refineCondition(&wl.Status.Conditions[i])
		}
	}
}

// refineOwnWorkload does the same and adds what is not said of a Workload that was never admitted.
func refineOwnWorkload(object any) {
	refineWorkload(object)
	if wl, ok := object.(*kueue.Workload); ok && meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadAdmitted) == nil {
		wl.Status.Conditions = append(wl.Status.Conditions, neverAdmitted(wl))
	}
}

// neverAdmitted is what a Workload would say of Admitted if the API said it before the first admission. It has no transition time,
// by which [unsaid] knows it.
func neverAdmitted(wl *kueue.Workload) metav1.Condition {
	c := metav1.Condition{
		Type: kueue.WorkloadAdmitted, Status: metav1.ConditionFalse, Reason: string(kueue.ReasonNoReservation), Message: noReservation,
		ObservedGeneration: wl.Generation,
	}
	derived, _ := lifecycle.DeriveConditions(workload.State(wl), time.Time{}).Condition(lifecycle.Admitted)
	if derived.Status == lifecycle.False {
		c.Reason, c.Message = string(derived.Reason), derived.Message
	}
	return c
}

// isImplied tells whether a condition is not for the API: a Workload that was never admitted says nothing of Admitted (contract:
// messages.md 1.5).
func isImplied(c metav1.Condition) bool {
	return c.Type == kueue.WorkloadAdmitted && c.Status == metav1.ConditionFalse && c.LastTransitionTime.IsZero()
}
