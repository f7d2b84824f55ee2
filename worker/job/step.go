package job

import (
	"time"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// Do is what to do. A plan does one thing, so that a crash or a conflict after it leaves nothing half done; the change
// itself brings the next look at the job.
type Do int

const (
	// DoNothing waits for something to change.
	DoNothing Do = iota
	// DoCreate makes the job's Workload.
	DoCreate
	// DoAdopt makes the job the owner of its prebuilt Workload.
	DoAdopt
	// DoAdoptSlice makes the job the owner of its next slice.
	DoAdoptSlice
	// DoUpdate brings the Workload's spec in line with the job.
	DoUpdate
	// DoResize changes the counts of a slice.
	DoResize
	// DoShrink brings the admission of a slice in line with its counts.
	DoShrink
	// DoEndSlices finishes the slices that are of no use any more, and lets them go.
	DoEndSlices
	// DoDelete deletes the Workload.
	DoDelete
	// DoDeleteExtras deletes all Workloads of the job but the one it needs.
	DoDeleteExtras
	// DoForgetOrphans removes the finalizer from Workloads that no job needs any more.
	DoForgetOrphans
	// DoFinish sets Finished, and then removes the finalizer.
	DoFinish
	// DoRemoveFinalizer removes the finalizer from the job's Workload.
	DoRemoveFinalizer
	// DoUpdateStatus brings PodsReady and the reclaimable pods in line with the job.
	DoUpdateStatus
	// DoRelease gives the reservation back (contract: kueue-api.md 4.11).
	DoRelease
	// DoHold takes what the Workload has, and keeps it from queueing.
	DoHold
	// DoResume lets a Workload that was on hold queue again.
	DoResume
	// DoPlace places the job and leaves it suspended.
	DoPlace
	// DoStart places the job and lets it run.
	DoStart
	// DoStop takes the job one step towards suspended and restored.
	DoStop
	// DoDeleteJob deletes the job, and with it its Workload.
	DoDeleteJob
	// DoSuspend suspends a child job and leaves its templates alone.
	DoSuspend
)

// Plan is the decision about one job.
type Plan struct {
	Do     Do
	Reason Reason
	// Finish is the reason of Finished for DoFinish.
	Finish kueue.Reason
	// RequeueAt is when to look again without an event; the zero time when an event will come.
	RequeueAt time.Time
}

// recheckInterval is how often a job that cannot be turned into a Workload is looked at, and its user told, though nothing has changed.
const recheckInterval = 15 * time.Second

// cacheRetry is how long to wait for a cache that does not show our own last write, unless an event comes before.
const cacheRetry = time.Second

// childrenGrace is how long the controller of an evicted job has to stop the job's children. Whoever suspends one of them before the job itself
// is seen to be suspended has that controller resume it, and the pods are made again.
const childrenGrace = 10 * time.Second

// childrenRetry is how often to look whether the pods of a stopped job's children are gone: nothing tells that.
const childrenRetry = 2 * time.Second

// Step decides what to do with a job (contract: kueue-api.md 3.1). It is total: every combination of facts has an answer.
func Step(f Facts) Plan {
	switch {
	case f.CacheBehind:
		return Plan{Reason: CatchingUp, RequeueAt: f.Now.Add(cacheRetry)}
	case f.Orphans:
		return Plan{Do: DoForgetOrphans, Reason: JobDeleted}
	case f.JobDeleted:
		return Plan{Reason: JobDeleted}
	case f.Scope == ScopeIgnored:
		return Plan{Reason: Unmanaged}
	case f.Scope == ScopeTooDeep:
		return Plan{Reason: NestedTooDeep}
	case f.Scope == ScopeChild:
		return stepChild(f)
	case f.Extras:
		return stepExtras(f)
	case f.NextUnadopted && f.Ended == nil:
		return Plan{Do: DoAdoptSlice, Reason: Unowned}
	case f.StaleSlices:
		return Plan{Do: DoEndSlices, Reason: SliceEnded}
	case f.Ended != nil:
		return stepEnded(f)
	case f.Deleting:
		return drainThen(f, WorkloadDeleted, stepDeleting(f))
	case f.Finished:
		return stepFinished(f)
	case f.Link != LinkMatching:
		return stepLink(f)
	case f.AdmissionTooLarge:
		return Plan{Do: DoShrink, Reason: JobChanged}
	case f.Outdated:
		return Plan{Do: DoUpdate, Reason: JobChanged}
	case f.CannotCompose != "":
		return reportOutOfSync(f, stepMatching(f))
	case f.PodsLeaving:
		return lookAgain(f, stepMatching(f))
	default:
		return stepMatching(f)
	}
}

// lookAgain is for a job some of whose pods are on their way out, of which nothing tells when they are gone.
func lookAgain(f Facts, p Plan) Plan {
	if p.Do == DoNothing && p.RequeueAt.IsZero() {
		p.RequeueAt = f.Now.Add(childrenRetry)
	}
	return p
}

// reportOutOfSync is for a job whose Workload cannot be brought in line with it. It goes on, and an event on the job tells
// its user why.
func reportOutOfSync(f Facts, p Plan) Plan {
	again := f.Now.Add(recheckInterval)
	if p.Do != DoNothing || !p.RequeueAt.IsZero() && p.RequeueAt.Before(again) {
		return p
	}
	return Plan{Reason: f.CannotCompose, RequeueAt: again}
}

// stepChild plans for a job that belongs to a queued one: it runs only while that is admitted, and has no Workload of its
// own.
func stepChild(f Facts) Plan {
	switch {
	case f.AncestorAdmitted || f.Suspended || f.Ended != nil:
		return Plan{Reason: ChildOfManaged}
	case f.Now.Before(f.AncestorStopsUntil):
		return Plan{Reason: ChildOfManaged, RequeueAt: f.AncestorStopsUntil}
	}
	return Plan{Do: DoSuspend, Reason: ChildOfManaged}
}

// stepExtras deletes all Workloads of the job but the one that is kept. If another one holds the quota with which the job may
// run, the job is stopped first. If another one records which clusters may run the job, its dispatcher decides.
func stepExtras(f Facts) Plan {
	then := Plan{Do: DoDeleteExtras, Reason: NoMatchingWorkload}
	switch {
	case f.ExtrasRunElsewhere && f.Ended != nil:
		return stepEnded(f)
	case f.ExtrasRunElsewhere:
		then = Plan{Reason: WaitingForDispatcher}
	}
	if f.Ended != nil || !f.ExtrasHaveQuota || f.Admitted && f.Link == LinkMatching {
		return then
	}
	return drainThen(f, NoMatchingWorkload, then)
}

// stepEnded never looks at what the Workload asks for: the end of a job is a fact whatever was changed before.
func stepEnded(f Facts) Plan {
	switch {
	case f.Link == LinkNone || f.Link == LinkAwaited || f.Link == LinkOwnedByOther:
		return Plan{Reason: JobEnded}
	case f.Finished:
		return removeFinalizer(f, JobEnded)
	case f.Ended.Success:
		return Plan{Do: DoFinish, Reason: JobFinished, Finish: kueue.ReasonSucceeded}
	default:
		return Plan{Do: DoFinish, Reason: JobFinished, Finish: kueue.ReasonFailed}
	}
}

// stepDeleting keeps a Workload for as long as the job may run on another cluster: the job is about to get a new one, which
// would know nothing of that. The quota is given back meanwhile, once the record stands without it.
func stepDeleting(f Facts) Plan {
	switch {
	case f.HasDebt && f.Evicted && f.Reserved && !f.Dispatched:
		return Plan{Do: DoRelease, Reason: Drained}
	case f.Bound || f.HasDebt:
		return Plan{Reason: WaitingForDispatcher}
	}
	return removeFinalizer(f, WorkloadDeleted)
}

// stepFinished is for a Workload that has finished before its job. If that was said of the job's own outcome, the job's
// status is about to follow and must not be disturbed; otherwise the job has lost its right to run.
func stepFinished(f Facts) Plan {
	if f.FinishedAsJob {
		return Plan{Reason: WaitingForOutcome}
	}
	return drainThen(f, NoMatchingWorkload, removeFinalizer(f, JobEnded))
}

// stepLink decides for a job whose Workload is missing, another's, or does not match it.
func stepLink(f Facts) Plan {
	switch f.Link {
	case LinkAwaited, LinkOwnedByOther:
		return stopThen(f, NoMatchingWorkload, Plan{Reason: WaitingForPrebuilt})
	case LinkOutOfSync:
		return drainThen(f, NoMatchingWorkload, Plan{Do: DoFinish, Reason: OutOfSync, Finish: kueue.ReasonOutOfSync})
	case LinkUnowned:
		return Plan{Do: DoAdopt, Reason: Unowned}
	case LinkStale:
		if f.CannotCompose != "" {
			return stopThen(f, NoMatchingWorkload, Plan{Reason: f.CannotCompose, RequeueAt: f.Now.Add(recheckInterval)})
		}
		if f.Suspended && f.Stopped && !f.Reserved {
			return Plan{Do: DoUpdate, Reason: JobChanged}
		}
		return stopThen(f, NoMatchingWorkload, Plan{Do: DoDelete, Reason: NoMatchingWorkload})
	case LinkNone, LinkMatching:
		if f.CannotCompose != "" {
			return stopThen(f, NoMatchingWorkload, Plan{Reason: f.CannotCompose, RequeueAt: f.Now.Add(recheckInterval)})
		}
		return stopThen(f, NoMatchingWorkload, Plan{Do: DoCreate, Reason: NoWorkload})
	}
	return Plan{Reason: WaitingForPrebuilt}
}

// stepMatching decides for a job with a Workload of its own that matches. The order of cases is that of urgency: an
// eviction goes before all else.
func stepMatching(f Facts) Plan {
	switch {
	case f.Evicted && f.Reserved:
		return planStatusWaiting(f, drainThen(f, WorkloadEvicted, planRelease(f)))
	case f.Evicted:
		return stopThen(f, WorkloadEvicted, planHold(f, planRetention(f)))
	case f.OnHold || f.Held:
		return stopThen(f, NotAdmitted, planHold(f, planStatus(f, OnHold)))
	case f.Overdrawn:
		return stopThen(f, NotAdmitted, Plan{Reason: WaitingForPods, RequeueAt: f.Now.Add(childrenRetry)})
	case f.Resize == ResizeInPlace:
		return Plan{Do: DoResize, Reason: JobChanged}
	case f.Resize == ResizeBySlice:
		return Plan{Do: DoCreate, Reason: JobChanged}
	case f.Elastic && f.Reserved && !f.Admitted && !f.Suspended: // What it may not have yet is held back by gates.
		return planStatus(f, WaitingForAdmission)
	case !f.Admitted:
		return stopThen(f, NotAdmitted, planStatus(f, WaitingForAdmission))
	case !f.Suspended:
		return planStatus(f, Running)
	case f.CannotPlace:
		return stopThen(f, NotAdmitted, Plan{Do: DoFinish, Reason: CannotPlace, Finish: kueue.ReasonFailedToStart})
	case f.Placed:
		return Plan{Do: DoStart, Reason: Admitted}
	case f.PlacesFirst:
		return stopThen(f, NotAdmitted, Plan{Do: DoPlace, Reason: Admitted})
	default: // An unfinished stop is finished first: what it restores is what starting changes.
		return stopThen(f, NotAdmitted, Plan{Do: DoStart, Reason: Admitted})
	}
}

// planRelease gives the quota back, which the job must not need any more wherever it runs.
func planRelease(f Facts) Plan {
	if f.Dispatched {
		return Plan{Reason: WaitingForPods}
	}
	return Plan{Do: DoRelease, Reason: Drained}
}

// planHold brings the Workload in line with whether the job asks for anything; then is for one that is.
func planHold(f Facts, then Plan) Plan {
	switch {
	case f.OnHold && !f.Held && !f.Drained:
		return Plan{Reason: WaitingForPods}
	case f.OnHold && !f.Held:
		return Plan{Do: DoHold, Reason: OnHold}
	case f.Held && !f.OnHold:
		return Plan{Do: DoResume, Reason: WaitingForAdmission}
	}
	return then
}

// planRetention is for a job that waits after an eviction: for its next admission, or for the end of its retention.
func planRetention(f Facts) Plan {
	if f.RetireAt.IsZero() {
		return planStatus(f, WaitingForAdmission)
	}
	if !f.RetireAt.After(f.Now) {
		return Plan{Do: DoDeleteJob, Reason: Expired}
	}
	p := planStatus(f, WaitingForAdmission)
	p.RequeueAt = f.RetireAt
	return p
}

// stopThen returns then for a job that is suspended and restored, and a step towards that otherwise.
func stopThen(f Facts, because Reason, then Plan) Plan {
	if !f.Suspended || !f.Stopped {
		return Plan{Do: DoStop, Reason: because}
	}
	return then
}

// drainThen is stopped, and waits for the pods to be gone too.
func drainThen(f Facts, because Reason, then Plan) Plan {
	if !f.Suspended || !f.Stopped {
		return Plan{Do: DoStop, Reason: because}
	}
	switch {
	case !f.Drained:
		return Plan{Reason: WaitingForPods}
	case f.ChildrenHavePods:
		return Plan{Reason: WaitingForPods, RequeueAt: f.Now.Add(childrenRetry)}
	}
	return then
}

// removeFinalizer lets the Workload go if this program still keeps it.
func removeFinalizer(f Facts, because Reason) Plan {
	if f.Finalizer {
		return Plan{Do: DoRemoveFinalizer, Reason: because}
	}
	return Plan{Reason: because}
}

// planStatusWaiting brings the Workload in line with the job while there is nothing to do but to wait.
func planStatusWaiting(f Facts, p Plan) Plan {
	if p.Do == DoNothing && f.StatusOutdated {
		p.Do = DoUpdateStatus
	}
	return p
}

// planStatus writes the status if it says something else by now.
func planStatus(f Facts, because Reason) Plan {
	if f.StatusOutdated {
		return Plan{Do: DoUpdateStatus, Reason: because}
	}
	return Plan{Reason: because}
}

// String returns the action's name for logs.
func (d Do) String() string {
	names := [...]string{
		DoNothing: "Nothing", DoCreate: "Create", DoAdopt: "Adopt", DoAdoptSlice: "AdoptSlice", DoUpdate: "Update", DoDelete: "Delete", DoResize: "Resize", DoShrink: "Shrink", DoEndSlices: "EndSlices",
		DoDeleteExtras: "DeleteExtras", DoForgetOrphans: "Forget", DoFinish: "Finish", DoRemoveFinalizer: "LetGo", DoUpdateStatus: "Report",
		DoRelease: "Release", DoHold: "Hold", DoResume: "Resume", DoPlace: "Place", DoStart: "Start", DoStop: "Stop", DoDeleteJob: "Retire", DoSuspend: "Suspend",
	}
	return names[d]
}
