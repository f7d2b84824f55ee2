package v1beta2

// Reasons of events that are not also reasons of conditions (contract: kueue-api.md 1.14).
const (
	// EventSecondPassFailed: the second pass of placement failed.
	EventSecondPassFailed = "SecondPassFailed"
	// EventPreemptedWorkload: on the preemptor, once for each victim.
	EventPreemptedWorkload = "PreemptedWorkload"
	// EventDeleted: a workload or job was deleted because its retention was over.
	EventDeleted = "Deleted"
	// EventMaximumExecutionTimeExceeded: the time to run is over.
	EventMaximumExecutionTimeExceeded = "MaximumExecutionTimeExceeded"
	// EventAdmissionCheckRejected: a check rejected the workload.
	EventAdmissionCheckRejected = "AdmissionCheckRejected"
	// EventAdmissionGated: the annotation admission-gated-by was seen.
	EventAdmissionGated = "AdmissionGated"
	// EventAdmissionGateCleared: the annotation admission-gated-by was emptied.
	EventAdmissionGateCleared = "AdmissionGateCleared"
	// EventMultiKueue: the multikueue check changed its state.
	EventMultiKueue = "MultiKueue"
	// EventProvisioningRequestCreated: a ProvisioningRequest was created.
	EventProvisioningRequestCreated = "ProvisioningRequestCreated"
	// EventFailedCreate: a ProvisioningRequest could not be created.
	EventFailedCreate = "FailedCreate"
	// EventAdmissionCheckUpdated: the provisioning check changed its state.
	EventAdmissionCheckUpdated = "AdmissionCheckUpdated"
	// EventDeprecatedPathUsage: a kubeconfig is read from a file.
	EventDeprecatedPathUsage = "DeprecatedPathUsage"

	// EventStarted: the job was started.
	EventStarted = "Started"
	// EventSuspended: the job was suspended because its owner is managed.
	EventSuspended = "Suspended"
	// EventStopped: the job was stopped.
	EventStopped = "Stopped"
	// EventCreatedWorkload: the Workload of a job was created.
	EventCreatedWorkload = "CreatedWorkload"
	// EventDeletedWorkload: the Workload of a job was deleted.
	EventDeletedWorkload = "DeletedWorkload"
	// EventUpdatedWorkload: the Workload of a job was updated.
	EventUpdatedWorkload = "UpdatedWorkload"
	// EventFinishedWorkload: the Workload of a job was marked as finished.
	EventFinishedWorkload = "FinishedWorkload"
	// EventUpdatedAdmissionCheck: relays the message of a check to the job.
	EventUpdatedAdmissionCheck = "UpdatedAdmissionCheck"
	// EventErrWorkloadCompose: the Workload of a job could not be put together.
	EventErrWorkloadCompose = "ErrWorkloadCompose"
	// EventJobNestingTooDeep: the owners of a job are nested too deeply.
	EventJobNestingTooDeep = "JobNestingTooDeep"
	// EventWorkloadPriorityClassNotFound: the class a job names does not exist.
	EventWorkloadPriorityClassNotFound = "WorkloadPriorityClassNotFound"
	// EventExcessPodDeleted: a pod group had a pod too many.
	EventExcessPodDeleted = "ExcessPodDeleted"
	// EventOwnerReferencesAdded: pods were added as owners of their group's Workload.
	EventOwnerReferencesAdded = "OwnerReferencesAdded"
	// EventWorkloadNameConflict: the name of a pod group is that of another Workload.
	EventWorkloadNameConflict = "WorkloadNameConflict"
	// EventPodTerminatedByKueue: a pending pod was failed because of its node.
	EventPodTerminatedByKueue = "PodTerminatedByKueue"

	// EventCreatedVariant: a variant of the workload was created.
	EventCreatedVariant = "CreatedVariant"
	// EventDeletedVariant: a variant of the workload was deleted.
	EventDeletedVariant = "DeletedVariant"
	// EventActivatedVariant: the variant takes part in the race.
	EventActivatedVariant = "ActivatedVariant"
	// EventDeactivatedVariant: the variant is out of the race.
	EventDeactivatedVariant = "DeactivatedVariant"
	// EventPreemptionUngatedVariant: the variant may preempt.
	EventPreemptionUngatedVariant = "PreemptionUngatedVariant"
)

// EventEvictedDueTo is the reason of the event of an eviction; an eviction by
// deactivation carries its cause: pass DeactivatedDueTo(cause).
func EventEvictedDueTo(reason Reason) string {
	return "EvictedDueTo" + string(reason)
}
