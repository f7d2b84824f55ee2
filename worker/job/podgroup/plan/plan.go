package plan

import "time"

// Do is what to do about the Workload.
type Do int

const (
	// DoNothing changes pods only, or waits for something to change.
	DoNothing Do = iota
	// DoCreate makes the Workload.
	DoCreate
	// DoAdopt adds the pods to the owners of the Workload.
	DoAdopt
	// DoUpdate brings the Workload's spec in line with the pods.
	DoUpdate
	// DoDiscard deletes a Workload that no pod needs.
	DoDiscard
	// DoForget lets go of a Workload whose pod is gone.
	DoForget
	// DoFinish sets Finished, and then removes the finalizer of the Workload.
	DoFinish
	// DoRemoveFinalizer removes the finalizer of the Workload.
	DoRemoveFinalizer
	// DoRelease gives the reservation back.
	DoRelease
	// DoUpdateStatus brings PodsReady, the reclaimable pods and WaitingForReplacementPods in line with the pods.
	DoUpdateStatus
)

// String returns the action's name for logs.
func (d Do) String() string {
	names := [...]string{
		DoNothing: "Nothing", DoCreate: "Create", DoAdopt: "Adopt", DoUpdate: "Update", DoDiscard: "Discard", DoForget: "Forget",
		DoFinish: "Finish", DoRemoveFinalizer: "RemoveFinalizer", DoRelease: "Release", DoUpdateStatus: "UpdateStatus",
	}
	return names[d]
}

// Change is what to do with one pod. The steps are taken in the order of the fields.
type Change struct {
	// Member is the pod's place in Facts.Members.
	Member int
	// Ungate merges what was admitted into the pod and lets it be scheduled.
	Ungate bool
	// Finalize removes our finalizer.
	Finalize bool
	// Tell tells the pod by a condition why it is going to be deleted.
	Tell bool
	// Delete deletes the pod.
	Delete bool
	// Excess tells that the pod is one too many.
	Excess bool
}

// Outcome is how a group or a pod ended.
type Outcome struct {
	Success bool
	Message string
}

// Plan is the decision about the pods of one Workload. Pods are changed before the Workload is.
type Plan struct {
	Do     Do
	Pods   []Change
	Reason Reason
	// Outcome is for DoFinish: how the pods ended. Without it Reason says why the Workload has.
	Outcome *Outcome
	// Waiting is whether pods have to be replaced, for DoRelease and DoUpdateStatus.
	Waiting bool
	// RequeueAt is when to look again without an event; the zero time when an event will come.
	RequeueAt time.Time
}

// Reason says why [Step] decided as it did; the set is closed.
type Reason string

// Reasons to wait.
const (
	CatchingUp Reason = "CatchingUp"
	// PodsRun means that the pods run as admitted.
	PodsRun               Reason = "Running"
	WaitingForAdmission   Reason = "WaitingForAdmission"
	WaitingForPrebuilt    Reason = "WaitingForPrebuilt"
	WaitingForPods        Reason = "WaitingForPods"
	WaitingForReplacement Reason = "WaitingForReplacement"
	// RunsElsewhere means that another cluster runs the pods.
	RunsElsewhere Reason = "RunsElsewhere"
	// NameConflict means that the Workload of the group's name is not a pod group's.
	NameConflict Reason = "WorkloadNameConflict"
	// CannotCompose means that the pods cannot be turned into a Workload as they are.
	CannotCompose Reason = "ErrWorkloadCompose"
	// PriorityClassNotFound means that the priority class that the pods name does not exist.
	PriorityClassNotFound Reason = "WorkloadPriorityClassNotFound"
	// Over means that the pods and their Workload have ended.
	Over Reason = "Over"
)

// Reasons to stop pods (contract: job-kinds.md 10.4).
const (
	WorkloadDeleted    Reason = "WorkloadDeleted"
	WorkloadEvicted    Reason = "WorkloadEvicted"
	NoMatchingWorkload Reason = "NoMatchingWorkload"
	NotAdmitted        Reason = "NotAdmitted"
)

// Reasons to act otherwise.
const (
	Admitted Reason = "Admitted"
	// Ended means that the pods have ended.
	Ended Reason = "Ended"
	// PodsGone means that there are no pods any more, or that they are on their way out.
	PodsGone Reason = "PodsGone"
	// Regrouped means that the pod has joined a group.
	Regrouped  Reason = "Regrouped"
	NoWorkload Reason = "NoWorkload"
	// ExcessPods means that there are more pods than were asked for.
	ExcessPods Reason = "ExcessPods"
	// Replaced means that pods that have failed are needed no more.
	Replaced Reason = "Replaced"
	// NewMembers means that pods are not among the owners of the Workload yet.
	NewMembers  Reason = "NewMembers"
	PodsChanged Reason = "PodsChanged"
	// CannotPlace means that what was admitted contradicts a pod, or leaves out its role.
	CannotPlace Reason = "CannotPlace"
	// Drained means that the pods of the evicted Workload run no more.
	Drained Reason = "Drained"
	// Expired means that the system has deactivated the Workload, and its pods have been kept for as long as they are to be.
	Expired   Reason = "Expired"
	OutOfSync Reason = "OutOfSync"
)
