package job

import kueue "switchyard.dev/apis/kueue/v1beta2"

// Reason says why [Step] decided as it did. It is what events and logs carry; the set is closed.
type Reason string

// Reasons to leave the job alone.
const (
	// Unmanaged: the namespace is not selected, or the job names no queue and needs none.
	Unmanaged Reason = "Unmanaged"
	// NestedTooDeep: the chain of owners is longer than the framework follows.
	NestedTooDeep Reason = kueue.EventJobNestingTooDeep
	// ChildOfManaged: an ancestor's Workload speaks for the job.
	ChildOfManaged Reason = "ChildOfManaged"
	// Running: the job runs as admitted.
	Running Reason = "Running"
	// WaitingForAdmission: the Workload has no admission yet.
	WaitingForAdmission Reason = "WaitingForAdmission"
	// WaitingForPrebuilt: the prebuilt Workload does not exist or belongs to another owner.
	WaitingForPrebuilt Reason = "WaitingForPrebuilt"
	// WaitingForPods: the job has to stop its pods first.
	WaitingForPods Reason = "WaitingForPods"
	// WaitingForOutcome: the Workload has finished and the job's own status is to follow.
	WaitingForOutcome Reason = "WaitingForOutcome"
	// Over: job and Workload have both finished.
	Over Reason = "Over"
	// CannotCompose: the job cannot be turned into a Workload as it is.
	CannotCompose Reason = kueue.EventErrWorkloadCompose
	// PriorityClassNotFound: the WorkloadPriorityClass that the job names does not exist.
	PriorityClassNotFound Reason = kueue.EventWorkloadPriorityClassNotFound
)

// Reasons to stop the job (contract: kueue-api.md 3.1, stop reasons).
const (
	WorkloadDeleted    Reason = "WorkloadDeleted"
	WorkloadEvicted    Reason = "WorkloadEvicted"
	NoMatchingWorkload Reason = "NoMatchingWorkload"
	NotAdmitted        Reason = "NotAdmitted"
)

// Reasons to act otherwise.
const (
	// Admitted: the job may start.
	Admitted Reason = "Admitted"
	// JobGone: the job was deleted.
	JobGone Reason = "JobGone"
	// JobFinished: the job has ended.
	JobFinished Reason = "JobFinished"
	// CannotPlace: the admission contradicts the job's pod templates, for good.
	CannotPlace Reason = "CannotPlace"
	// JobChanged: the job no longer asks for what its Workload says.
	JobChanged Reason = "JobChanged"
	// Drained: the evicted job has no pods left.
	Drained Reason = "Drained"
	// NoWorkload: the job has no Workload yet.
	NoWorkload Reason = "NoWorkload"
	// Unowned: the prebuilt Workload has no owner yet.
	Unowned Reason = "Unowned"
	// OutOfSync: the prebuilt Workload asks for something else than the job.
	OutOfSync Reason = Reason(kueue.ReasonOutOfSync)
)
