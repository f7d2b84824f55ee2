package job

import "time"

// Link says how a job and its Workload belong together.
type Link int

const (
	// LinkNone means that there is no Workload and no other program is going to make one.
	LinkNone Link = iota
	// LinkAwaited means that the prebuilt Workload that the job names does not exist.
	LinkAwaited
	// LinkOwnedByOther means that the prebuilt Workload that the job names belongs to another owner, or to a later epoch of its hub
	// than the job.
	LinkOwnedByOther
	// LinkUnowned means that the prebuilt Workload has no owner and asks for what the job asks for.
	LinkUnowned
	// LinkOutOfSync means that the prebuilt Workload, unowned or the job's, asks for something else.
	LinkOutOfSync
	// LinkStale means that the Workload that was made from the job asks for something else than the job does now.
	LinkStale
	// LinkMatching means that the Workload is the job's and asks for what the job asks for.
	LinkMatching
)

// Scope says whether the framework has a say about a job.
type Scope int

const (
	// ScopeIgnored jobs are none of our business.
	ScopeIgnored Scope = iota
	// ScopeTooDeep jobs have more owners above them than the framework follows.
	ScopeTooDeep
	// ScopeChild jobs have a managed ancestor with a Workload.
	ScopeChild
	// ScopeOwn jobs have a Workload of their own.
	ScopeOwn
)

// Resize is how an elastic job is scaled.
type Resize int

const (
	// ResizeNone means that the slices ask for what the job asks for.
	ResizeNone Resize = iota
	// ResizeInPlace means that a slice that exists can follow.
	ResizeInPlace
	// ResizeBySlice means that it takes another slice, which has to wait for its quota.
	ResizeBySlice
)

// Facts is all that decides what to do with a job.
type Facts struct {
	Now   time.Time
	Scope Scope
	// JobDeleted tells that the job does not exist any more, or is on its way out.
	JobDeleted bool
	// CacheBehind tells that the cache shows the job or its Workload as it was before our own last write.
	CacheBehind bool
	// Orphans tells that our finalizer is on Workloads that no job needs any more.
	Orphans bool
	// Extras tells that the job has more Workloads than the one it needs; ExtrasHold, that one of those holds quota, with which
	// the job may run; ExtrasAway, that each of those is on its way
	// out and says that another cluster may run the job.
	Extras, ExtrasHaveQuota, ExtrasRunElsewhere bool
	// Elastic tells that the job may be scaled while it runs: it has slices in place of one Workload.
	Elastic bool
	// StaleSlices tells that it has some that are of no use any more.
	StaleSlices bool
	// NextUnadopted tells that a hub has made the next slice, which is not the job's yet.
	NextUnadopted bool
	// Resize says how the slices follow the counts that the job asks for; AdmissionTooLarge, that an admission is for more pods than its
	// slice has.
	Resize            Resize
	AdmissionTooLarge bool
	// PodsLeaving tells that a slice keeps quota for pods that the job does not want any more and that still run; Overdrawn, that more pods
	// run than it has quota for, and none of them is going to leave.
	PodsLeaving, Overdrawn bool
	// Suspended is the job's spec.
	Suspended bool
	// Stopped tells that a stop, if one was begun, is complete: suspended, and restored.
	Stopped bool
	// Drained is set if no pod of the job runs, or those that might are another program's to account for.
	Drained bool
	// ChildrenHavePods tells that the jobs which the job's own controller made still have pods, of which its status says nothing.
	ChildrenHavePods bool
	// Ended is how the job ended, nil while it has not.
	Ended *Outcome
	// OnHold tells that the job asks for nothing until its user changes it; Held, that its Workload says so, and does not queue.
	OnHold, Held bool
	// AncestorAdmitted is for ScopeChild: the ancestor's Workload is admitted and not evicted.
	AncestorAdmitted bool
	// AncestorStopsUntil is for ScopeChild: the ancestor's Workload is evicted and keeps its quota while the ancestor's controller stops its
	// children, for which that has until then.
	AncestorStopsUntil time.Time
	// CannotCompose is empty, or why the job cannot be turned into a Workload.
	CannotCompose Reason
	// CannotPlace tells that the admission contradicts the job's pod templates.
	CannotPlace bool
	// PlacesFirst tells that the job has to be placed by a write of its own before it can be resumed; Placed, that this was done.
	PlacesFirst, Placed bool

	Link Link
	// The Workload's life; all false without a Workload.
	Deleting, Reserved, Admitted, Evicted, Finished bool
	// FinishedAsJob tells that Finished has one of the reasons that speak of the job's own outcome.
	FinishedAsJob bool
	// Bound and Owed tell, of a Workload that has not finished and whose job runs elsewhere, what its dispatcher has recorded: the
	// cluster that has the job, and that clusters which were given up may still run it.
	Bound, HasDebt bool
	// Finalizer tells whether our finalizer is on the Workload.
	Finalizer bool
	// Outdated tells that the Workload's queue, priority, gates or time limit are not those of the job.
	Outdated bool
	// Dispatched tells, of an evicted Workload, that its dispatcher has not said yet that the job has stopped on the cluster that
	// has it.
	Dispatched bool
	// RetireAt is when the job is to be deleted, because the system has deactivated its Workload; zero for never.
	RetireAt time.Time
	// StatusOutdated tells that the Workload's PodsReady condition or reclaimable pods do not say what the job says.
	StatusOutdated bool
}
