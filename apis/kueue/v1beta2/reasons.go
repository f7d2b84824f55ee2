package v1beta2

// Reason says in one word why a condition has its status; the same word names
// the event and labels the metric. Cardinality is low by contract
// (contract: kueue-api.md 1.13).
type Reason string

// Reasons of QuotaReserved.
const (
	// ReasonQuotaReserved: quota is reserved. Also the reason that resets
	// Evicted and Preempted on the next reservation.
	ReasonQuotaReserved Reason = "QuotaReserved"
	// ReasonPendingEvaluation: not tried since it was queued.
	ReasonPendingEvaluation Reason = "PendingEvaluation"
	// ReasonNoMatchingFlavor: no flavor matches what the pods ask of nodes.
	ReasonNoMatchingFlavor Reason = "NoMatchingFlavor"
	// ReasonExceedsMaxQuota: the request is greater than the quota can ever be.
	ReasonExceedsMaxQuota Reason = "ExceedsMaxQuota"
	// ReasonWaitingForQuota: it would fit, but not now.
	ReasonWaitingForQuota Reason = "WaitingForQuota"
	// ReasonTopologyPlacementFailed: there is quota, but no place.
	ReasonTopologyPlacementFailed Reason = "TopologyPlacementFailed"
	// ReasonWaitingForPreemptedWorkloads: victims have been told and are still there.
	ReasonWaitingForPreemptedWorkloads Reason = "WaitingForPreemptedWorkloads"
	// ReasonMisconfigured: the user must change something.
	ReasonMisconfigured Reason = "Misconfigured"
	// ReasonSuspended: a queue on the way is stopped or inactive.
	ReasonSuspended Reason = "Suspended"
	// ReasonWaitingForPodsReady: pods of workloads admitted before must get ready first.
	ReasonWaitingForPodsReady Reason = "WaitingForPodsReady"
	// ReasonAdmissionGated: the annotation admission-gated-by is not empty.
	ReasonAdmissionGated Reason = "AdmissionGated"
	// ReasonOnHold: the job itself asks to wait.
	ReasonOnHold Reason = "OnHold"
	// ReasonPending is legacy: used with the gate UnadmittedWorkloadsObservability off.
	ReasonPending Reason = "Pending"
	// ReasonInadmissible is legacy, as ReasonPending.
	ReasonInadmissible Reason = "Inadmissible"
	// ReasonWaiting is legacy, as ReasonPending.
	ReasonWaiting Reason = "Waiting"
)

// Reasons of Admitted.
const (
	// ReasonAdmitted: quota is reserved, every check is Ready, no placement is outstanding.
	ReasonAdmitted Reason = "Admitted"
	// ReasonNoReservation: quota is not reserved.
	ReasonNoReservation Reason = "NoReservation"
	// ReasonUnsatisfiedAdmissionChecks: some check is not Ready.
	ReasonUnsatisfiedAdmissionChecks Reason = "UnsatisfiedAdmissionChecks"
	// ReasonUnsatisfiedChecks is legacy for ReasonUnsatisfiedAdmissionChecks.
	ReasonUnsatisfiedChecks Reason = "UnsatisfiedChecks"
	// ReasonNoReservationUnsatisfiedChecks is legacy: neither quota nor checks.
	ReasonNoReservationUnsatisfiedChecks Reason = "NoReservationUnsatisfiedChecks"
	// ReasonPendingDelayedTopologyRequests: the second pass of placement is outstanding.
	ReasonPendingDelayedTopologyRequests Reason = "PendingDelayedTopologyRequests"
)

// Reasons of Finished.
const (
	// ReasonSucceeded: the job succeeded.
	ReasonSucceeded Reason = "Succeeded"
	// ReasonFailed: the job failed.
	ReasonFailed Reason = "Failed"
	// ReasonOutOfSync: the workload no longer equals its job.
	ReasonOutOfSync Reason = "OutOfSync"
	// ReasonOwnerNotFound: the job is gone.
	ReasonOwnerNotFound Reason = "OwnerNotFound"
	// ReasonWorkloadSliceReplaced: a bigger slice has taken over.
	ReasonWorkloadSliceReplaced Reason = "WorkloadSliceReplaced"
	// ReasonFailedToStart: the pods cannot be given what admission asks.
	ReasonFailedToStart Reason = "FailedToStart"
)

// Reasons of PodsReady and WaitingForReplacementPods.
const (
	// ReasonStarted: all pods are ready for the first time.
	ReasonStarted Reason = "Started"
	// ReasonRecovered: all pods are ready again.
	ReasonRecovered Reason = "Recovered"
	// ReasonWaitForStart: the pods were never all ready.
	ReasonWaitForStart Reason = "WaitForStart"
	// ReasonWaitForRecovery: the pods were all ready once and are not now.
	ReasonWaitForRecovery Reason = "WaitForRecovery"
	// ReasonPodsReady is the legacy form of the above, and ends WaitingForReplacementPods.
	ReasonPodsReady Reason = "PodsReady"
	// ReasonPodsFailed: pods of the group failed and want replacement.
	ReasonPodsFailed Reason = "PodsFailed"
)

// Reasons of Evicted, some of them also of Requeued and DeactivationTarget.
const (
	// ReasonPreempted: chosen as victim of a preemption.
	ReasonPreempted Reason = "Preempted"
	// ReasonPodsReadyTimeout: the pods did not get ready in time.
	ReasonPodsReadyTimeout Reason = "PodsReadyTimeout"
	// ReasonAdmissionCheck: a check answered Retry or Rejected.
	ReasonAdmissionCheck Reason = "AdmissionCheck"
	// ReasonClusterQueueStopped: the ClusterQueue was stopped.
	ReasonClusterQueueStopped Reason = "ClusterQueueStopped"
	// ReasonLocalQueueStopped: the LocalQueue was stopped.
	ReasonLocalQueueStopped Reason = "LocalQueueStopped"
	// ReasonNodeFailures: nodes failed and there is no other place.
	ReasonNodeFailures Reason = "NodeFailures"
	// ReasonDeactivated: spec.active is false. Also a reason of QuotaReserved.
	ReasonDeactivated Reason = "Deactivated"
	// ReasonFlavorMigration: a variant in a better flavor was admitted.
	ReasonFlavorMigration Reason = "FlavorMigration"
	// ReasonVariantEvicted: the running variant of the family was evicted.
	ReasonVariantEvicted Reason = "VariantEvicted"
	// ReasonConcurrentAdmission: the family races again.
	ReasonConcurrentAdmission Reason = "ConcurrentAdmission"
	// ReasonRequeuingLimitExceeded: requeued too often; asks for deactivation.
	ReasonRequeuingLimitExceeded Reason = "RequeuingLimitExceeded"
	// ReasonMaximumExecutionTimeExceeded: admitted too long; asks for deactivation.
	ReasonMaximumExecutionTimeExceeded Reason = "MaximumExecutionTimeExceeded"
	// ReasonEvictedOnManagerCluster: the hub evicted it; asks for deactivation on a worker.
	ReasonEvictedOnManagerCluster Reason = "EvictedOnManagerCluster"
)

// Reasons of Preempted.
const (
	// ReasonInClusterQueue: for a workload of the same ClusterQueue.
	ReasonInClusterQueue Reason = "InClusterQueue"
	// ReasonInCohortReclamation: so that another queue gets its nominal quota back.
	ReasonInCohortReclamation Reason = "InCohortReclamation"
	// ReasonInCohortFairSharing: so that shares in the cohort get more equal.
	ReasonInCohortFairSharing Reason = "InCohortFairSharing"
	// ReasonInCohortReclaimWhileBorrowing: for a workload of another queue that borrows.
	ReasonInCohortReclaimWhileBorrowing Reason = "InCohortReclaimWhileBorrowing"
)

// Reasons of Requeued and BlockedOnPreemptionGates.
const (
	// ReasonReactivated: spec.active is true again.
	ReasonReactivated Reason = "Reactivated"
	// ReasonBackoffFinished: the time to wait is over.
	ReasonBackoffFinished Reason = "BackoffFinished"
	// ReasonClusterQueueRestarted: the ClusterQueue runs again.
	ReasonClusterQueueRestarted Reason = "ClusterQueueRestarted"
	// ReasonLocalQueueRestarted: the LocalQueue runs again.
	ReasonLocalQueueRestarted Reason = "LocalQueueRestarted"
	// ReasonPreemptionGated: a preemption is needed and a gate is closed.
	ReasonPreemptionGated Reason = "PreemptionGated"
)

// DeactivatedDueTo is the reason of Evicted for a workload that was deactivated
// because of the cause, which is the reason of its DeactivationTarget.
func DeactivatedDueTo(cause Reason) Reason {
	return "DeactivatedDueTo" + cause
}
