package lifecycle

import (
	"strings"

	"switchyard.dev/worker/admission"
)

// Reasons of Evicted=True (contract: kueue-api.md 1.13).
const (
	EvictedByPreemption          admission.Reason = "Preempted"
	EvictedByPodsReadyTimeout    admission.Reason = "PodsReadyTimeout"
	EvictedByAdmissionCheck      admission.Reason = "AdmissionCheck"
	EvictedByClusterQueueStopped admission.Reason = "ClusterQueueStopped"
	EvictedByLocalQueueStopped   admission.Reason = "LocalQueueStopped"
	EvictedByNodeFailures        admission.Reason = "NodeFailures"
	EvictedByDeactivation        admission.Reason = "Deactivated"
)

// deactivatedDueTo, followed by the cause, is the reason of an eviction after the system deactivated the workload.
const deactivatedDueTo = "DeactivatedDueTo"

// Reasons of Requeued=True.
const (
	RequeuedReactivated           admission.Reason = "Reactivated"
	RequeuedBackoffFinished       admission.Reason = "BackoffFinished"
	RequeuedClusterQueueRestarted admission.Reason = "ClusterQueueRestarted"
	RequeuedLocalQueueRestarted   admission.Reason = "LocalQueueRestarted"
)

// Reasons of DeactivationTarget=True that the lifecycle itself sets. Others come from outside, such as
// EvictedOnManagerCluster from the hub.
const (
	DeactivateForAdmissionCheck admission.Reason = "AdmissionCheck"
	DeactivateForExecutionTime  admission.Reason = "MaximumExecutionTimeExceeded"
	DeactivateForRequeuing      admission.Reason = "RequeuingLimitExceeded"
)

// Reasons of PodsReady=False that the lifecycle tells apart; any other means that the pods were never all ready.
const (
	WaitForRecovery admission.Reason = "WaitForRecovery"
	// WaitForStart means that the pods have never been all ready.
	WaitForStart admission.Reason = "WaitForStart"
	// legacyRecovery is the same in older versions of the API.
	legacyRecovery admission.Reason = "PodsReady"
)

// PreemptionGated is the reason of BlockedOnPreemptionGates=True; OwnerNotFound that of Finished for a workload whose owner
// is gone.
const (
	PreemptionGated admission.Reason = "PreemptionGated"
	OwnerNotFound   admission.Reason = "OwnerNotFound"
)

// Reasons of events (contract: kueue-api.md 1.14).
const (
	EventAdmitted               admission.Reason = "Admitted"
	EventAdmissionCheckRejected admission.Reason = "AdmissionCheckRejected"
	EventAdmissionGated         admission.Reason = "AdmissionGated"
	EventAdmissionGateCleared   admission.Reason = "AdmissionGateCleared"
	EventExecutionTimeExceeded  admission.Reason = "MaximumExecutionTimeExceeded"
	EventDeleted                admission.Reason = "Deleted"
	eventEvictedDueTo                            = "EvictedDueTo"
)

// isDeactivation tells whether an eviction reason means that spec.active is or was false.
func isDeactivation(reason admission.Reason) bool {
	return reason == EvictedByDeactivation || strings.HasPrefix(string(reason), deactivatedDueTo)
}

// SplitEvictionReason returns the low-cardinality reason of an eviction and, when the system deactivated the workload, the cause
// (contract: kueue-api.md 5, labels reason and underlying_cause).
func SplitEvictionReason(evicted admission.Reason) (reason admission.Reason, cause string) {
	if cause, ok := strings.CutPrefix(string(evicted), deactivatedDueTo); ok {
		return EvictedByDeactivation, cause
	}
	return evicted, ""
}
