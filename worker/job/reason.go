package job

import kueue "switchyard.dev/apis/kueue/v1beta2"

// Reason says why [Step] decided as it did. It is what events and logs carry; the set is closed.
type Reason string

// Reasons to leave the job alone.
const (
	// Unmanaged means that the namespace is not selected, or the job names no queue and needs none.
	Unmanaged Reason = "Unmanaged"
	// NestedTooDeep means that the chain of owners is longer than the framework follows.
	NestedTooDeep Reason = kueue.EventJobNestingTooDeep
	// ChildOfManaged means that an ancestor's Workload speaks for the job.
	ChildOfManaged Reason = "ChildOfManaged"
	// CatchingUp means that the cache does not show our own last write yet.
	CatchingUp Reason = "CatchingUp"
	// Running means that the job runs as admitted.
	Running Reason = "Running"
	// WaitingForAdmission means that the Workload has no admission yet.
	WaitingForAdmission Reason = "WaitingForAdmission"
	// WaitingForPrebuilt means that the prebuilt Workload does not exist or belongs to another owner.
	WaitingForPrebuilt Reason = "WaitingForPrebuilt"
	// WaitingForPods means that the job has to stop its pods first.
	WaitingForPods Reason = "WaitingForPods"
	// WaitingForDispatcher means that a cluster out of sight may still run the job. Its dispatcher will say when not, and says to
	// the user why.
	WaitingForDispatcher Reason = "WaitingForDispatcher"
	// WaitingForOutcome means that the Workload has finished and the job's own status is to follow.
	WaitingForOutcome Reason = "WaitingForOutcome"
	// OnHold means that the job asks for nothing until its user changes it.
	OnHold Reason = Reason(kueue.ReasonOnHold)
	// JobEnded means that job and Workload have both finished.
	JobEnded Reason = "Over"
	// CannotCompose means that the job cannot be turned into a Workload as it is.
	CannotCompose Reason = kueue.EventErrWorkloadCompose
	// PriorityClassNotFound means that the WorkloadPriorityClass that the job names does not exist.
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
	// Admitted means that the job may start.
	Admitted Reason = "Admitted"
	// Expired means that a job which the system has deactivated has been kept for as long as it is to be.
	Expired Reason = "Expired"
	// JobDeleted means that the job was deleted.
	JobDeleted Reason = "JobGone"
	// JobFinished means that the job has ended.
	JobFinished Reason = "JobFinished"
	// CannotPlace means that the admission contradicts the job's pod templates, for good.
	CannotPlace Reason = "CannotPlace"
	// JobChanged means that the job no longer asks for what its Workload says.
	JobChanged Reason = "JobChanged"
	// SliceEnded means that a slice of the job is of no use any more.
	SliceEnded Reason = "SliceEnded"
	// Drained means that the evicted job has no pods left.
	Drained Reason = "Drained"
	// NoWorkload means that the job has no Workload yet.
	NoWorkload Reason = "NoWorkload"
	// Unowned means that the prebuilt Workload has no owner yet.
	Unowned Reason = "Unowned"
	// OutOfSync means that the prebuilt Workload asks for something else than the job.
	OutOfSync Reason = Reason(kueue.ReasonOutOfSync)
)
