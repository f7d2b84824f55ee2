package dispatch

import "time"

// Observation is everything Step may look at besides the State: the hub's Workload, and one view per cluster.
type Observation struct {
	// Now is the hub's clock.
	Now time.Time
	// Local is the hub's Workload, read no older than the last status write of the dispatcher itself (read your writes).
	Local Local
	// Clusters has one view for each cluster of the MultiKueueConfig in its order, then, in name order, one for each
	// other cluster that State.Names mentions or on which an object of this Workload is seen. A name that no
	// MultiKueueCluster has any more is Unreachable since that became known.
	Clusters []ClusterView
	// Fleet are the links of all clusters that the hub has, in no order: whether it is cut off is not to be told from those of
	// one config. Needed only while one that the State names is Unreachable; empty if Clusters are all.
	Fleet []Link
	// CutOffEnded is when the hub was last seen cut off from a cluster (see CutOff), zero if never since the program started.
	// Grace periods begin no earlier.
	CutOffEnded time.Time
}

// CheckState is the state of the Workload's entry for the multikueue check.
type CheckState string

// The states of an admission check (contract: kueue-api.md 1.13).
const (
	Pending  CheckState = "Pending"
	Ready    CheckState = "Ready"
	Retry    CheckState = "Retry"
	Rejected CheckState = "Rejected"
)

// Local is what the hub knows of its own Workload and job.
type Local struct {
	// Deleted is set when the Workload is gone or going. Nothing is stored any more then, only cleaned up, unless it is
	// KeptForJob: a finalizer keeps it on behalf of its job, which is to get another Workload, until no cluster is bound and
	// none has a debt.
	Deleted, KeptForJob bool
	// Finished is the Workload's condition of that name, and FinishedAt the transition time, by the clock of whoever wrote it.
	Finished   bool
	FinishedAt time.Time
	Quota      LocalQuota
	Check      LocalCheck
	Job        LocalJob
	Siblings   Siblings
	Slice      Slice
}

// LocalQuota is what the hub's Workload says of its quota reservation, and of evictions, which end one.
type LocalQuota struct {
	// Reserved is the Workload's condition QuotaReserved.
	Reserved bool
	// Reservation identifies the present reservation and differs from that of every other one of this Workload; made
	// from the transition time of QuotaReserved and the eviction counters. Empty without a reservation.
	Reservation string
	// ReservedAt is when quota was reserved.
	ReservedAt time.Time
	// Evicted and EvictedMessage are the Workload's condition Evicted, if it is True.
	Evicted        bool
	EvictedMessage string
	// Evictions counts how often the Workload was evicted so far: the sum of the counters in its status, or at least 1
	// when it has a condition Evicted of any status. 0 means never.
	Evictions int64
	// AwaitsUnbinding is set while the hub has its quota back only when no cluster is bound any more: the hub itself evicts the
	// Workload, and whether its job still runs over there is not to be read from the hub's job.
	AwaitsUnbinding bool
}

// LocalCheck is what the hub's Workload says of its admission checks.
type LocalCheck struct {
	// State and Message are those of the multikueue check; both are empty if the Workload has no entry for it any more.
	State   CheckState
	Message string
	// OthersReady is set when every other check of the Workload is Ready.
	OthersReady bool
}

// LocalJob is what the hub knows of its own job.
type LocalJob struct {
	// Refusal says why the owner cannot be dispatched; its Reason is empty when it can.
	Refusal Refusal
	// Unfenced is set for a kind whose jobs no fence is relied on to stop.
	Unfenced bool
	// Active is set while the status of the hub's own job shows active pods, which holds up its eviction.
	Active bool
	// StatusOutlivesPods is set for a kind whose status may go on showing active pods of a job that has stopped. The quota of the
	// worker's copy tells then that they are gone.
	StatusOutlivesPods bool
	// KillGrace is the largest termination grace of the job's pods: how long it may go on after it was told to stop.
	KillGrace time.Duration
}

// Siblings are the other Workloads of the same owner: all of them go to one cluster (contract: multikueue.md 4 case 8).
type Siblings struct {
	// Pin is the one cluster that this Workload may be offered to, because a sibling is bound to it or was nominated for nothing
	// else; empty for any.
	Pin string
	// Awaited is set while the Workload must neither be offered to a cluster nor be won by one, because the first of the
	// siblings has no cluster yet, or not all of them exist.
	Awaited bool
	// Left is set if a sibling has just been given up on the cluster that this one is bound to.
	Left bool
}

// Slice is what a Workload is among the slices of an elastic job, which take over from each other (contract: job-kinds.md 15). The zero value is
// a Workload that is the only one of its job.
type Slice struct {
	// Passive is set if another slice has the job: one that has taken over from this one, or from which this one is to take over once it has quota.
	Passive bool
	// NextOn is, of a passive one, the cluster where the slice that has the job has yet to be admitted: until then the job runs there by what is left
	// of the others. Empty if there is none.
	NextOn string
	// JobOn is, of a passive one, the cluster that the slice is bound to which has the job; empty if there is none.
	JobOn string
	// Replacement is set if it is to take over from another one, and so may be bound before the cluster has admitted it.
	Replacement bool
	// Before is the State of the slice from which it has taken over, which that keeps; nil if there is none.
	Before *State
	// EarlierEvictions is how often the slices from which it has taken over were evicted, all told, before that.
	EarlierEvictions int64
	// Elastic is set for any slice, the first one too.
	Elastic bool
}

// Refusal is why a Workload's owner cannot be dispatched.
type Refusal struct {
	// Reason is NoAdapter or NotManaged, or empty.
	Reason Reason
	// Detail is the owner's "gv, Kind=K" for NoAdapter (empty: no owner at all), and the adapter's reason for NotManaged.
	Detail string
}

// ClusterView is what is known of one worker cluster and of our objects there.
type ClusterView struct {
	// Name is the name of the MultiKueueCluster.
	Name string
	// InConfig is set if the check's MultiKueueConfig lists the cluster.
	InConfig bool
	// Link is the connection to it.
	Link Link
	// Copy and Job are what the informers show. They are kept while the cluster is out of reach; only Finished counts
	// then.
	Copy Copy
	Job  Job
	// Replaced is a copy of a slice that the Workload has taken over from, by which the job may run still: one that a job has taken up, if there is
	// such a one. EarlierWaits is set while one of them waits for quota there, which is to go before the Workload is offered.
	Replaced     Copy
	EarlierWaits bool
	// Ended is what is known of a job there that is gone.
	Ended EndedJob
	// Live is the answer to the last LiveRead, nil if there is none that still holds. An answer holds until the next
	// write to these objects, the next event about them, or the loss of the connection.
	Live *Live
	// Health is how the cluster does what is asked of it.
	Health Health
	// Fence is what would stop a job there that misses the hub.
	Fence Fence
	// Operator is what a person has said of the cluster.
	Operator Operator
	// Fit says how well the Workload fits there, for BestFit and for a job that is to be moved. A cluster that is known to have
	// no place is not offered the job that is moved, whatever the dispatcher.
	Fit Fit
	// Offer is what the hub has asked of the cluster in this epoch.
	Offer Offer
}

// EndedJob is what is known of a job that is not there any more.
type EndedJob struct {
	// Unfinished is positive evidence that the job was not lost to a clean-up after it had finished: the informer
	// watched the job's deletion (not a relist) and its last state was unfinished, or it watched so the deletion of a
	// Copy that no job had adopted. If the watched last state was finished, Job.Finished (and Job.Epoch) keep it instead.
	// Any later sighting of either object, and any relist, ends both.
	Unfinished bool
	// StoppedEpoch is the epoch of the last job there, if its deletion was watched, was one in the foreground, and either the
	// worker is known to let no client hurry that, or the job showed no pods before it went; or that of the last copy, if that
	// was watched going without a job having taken it up. Zero otherwise: pods may outlive a job that others have deleted, or
	// hurried, or that went unwatched.
	StoppedEpoch int64
}

// Health is how a connected cluster does what is asked of it.
type Health struct {
	// Degraded says why the cluster may not do what is asked of it: its answers are overdue, or calls fail. Empty if there is no
	// such sign. OnTrial is set when it is to be given something all the same.
	Degraded string
	OnTrial  bool
	// Trouble is why what was asked of the cluster last has failed, or why nothing of this kind can be asked of it; empty if
	// neither. It is reported, and decides nothing but that the incremental dispatcher goes on to other clusters.
	Trouble string
}

// Fence is what is known of a worker's fence, which stops jobs there that miss the hub.
type Fence struct {
	// Alive is set if the worker's fence was alive when it was last looked at (which is to be remembered across restarts),
	// and if no copy is seen there that lacks the stamp Stop.
	Alive bool
	// RenewedAt is when, by the hub's clock, the last renewal of the run lease began that has succeeded or may have: the
	// worker may believe in it for another LeaseDuration. After a restart of the program nothing earlier than that restart.
	// Zero: not known, as good as not fenced.
	RenewedAt time.Time
	// Lease is how the run lease stands there, which matters to what is to stop without the hub; LeaseTrouble is why it is not
	// renewed, empty if it is or that is not known.
	Lease        LeaseState
	LeaseTrouble string
}

// Operator is what a person has said of a cluster.
type Operator struct {
	// DeclaredGone is set if a person has declared that nothing runs there any more. It counts only of a cluster that was tried
	// and cannot be reached: a person's word does not go before what can be seen, or is about to be.
	DeclaredGone bool
	// Cordoned is set if nothing new is to be offered to the cluster; Draining if, besides, the Workload bound to it is to
	// be moved now. The caller says which Workload is moved when: BeingDrained is set as long as all are to be moved some time.
	Cordoned     bool
	Draining     bool
	BeingDrained bool
}

// Fit is how well a Workload fits a cluster.
type Fit struct {
	// Reason is why it does not fit at all, empty if it does, and Message says so in words.
	Reason  Reason
	Message string
	// Score is higher for a better fit; equal scores go by name.
	Score int
	// Preempting is set if the Workload would have to preempt there.
	Preempting bool
}

// Offer is what the hub has asked of a cluster in this epoch. Its times are by the hub's clock.
type Offer struct {
	// StartedAt is when the hub began to make the offer on the cluster; zero if it has not, or if that is not known any more.
	StartedAt time.Time
	// GateRequested is set if the cluster was asked to open the copy's preemption gate. GateFirstRequestedAt is when that was
	// first, and GateRequestedAt when the last call began that may have opened it although the copy does not show it; zero if
	// there was none.
	GateRequested                         bool
	GateFirstRequestedAt, GateRequestedAt time.Time
}

// LeaseState is whether a fence leaves alone what is to stop without the hub.
type LeaseState int

// The states of the run lease on a cluster that can be reached. Leased, the zero value: it is renewed, or there is no fence that
// goes by it. LeaseAwaited: that is not known yet. LeaseLapsed: it has run out, and cannot be renewed.
const (
	Leased LeaseState = iota
	LeaseAwaited
	LeaseLapsed
)

// LinkState is whether a cluster can be talked to.
type LinkState int

// The states of a Link. Unknown, the zero value, runs no clock: nothing has been tried yet.
const (
	Unknown LinkState = iota
	Connected
	Unreachable
)

// Link is the connection to a cluster.
type Link struct {
	State LinkState
	// Since is when an Unreachable cluster was lost (the first loss counts), or when this program first tried it.
	Since time.Time
	// NeverConnected is set if this program has never been connected to an Unreachable cluster, or if there is no such cluster
	// any more: it did not vanish, and says nothing about the hub's own connection as long as others can be reached.
	NeverConnected bool
	// Untried is set while no attempt to connect has failed since an Unreachable cluster was lost, or since its credentials were
	// replaced: it may be alive, and is about to be reached.
	Untried bool
}

// Holder says whose object bears our object's name on a worker.
type Holder int

// The holders of a name. Only what is Ours, Relabelled or a Predecessor's is ever touched.
const (
	// Absent: no object of that name is seen.
	Absent Holder = iota
	// Ours: our origin label and our owner's UID (or no UID at all: made by another program with our origin).
	Ours
	// Predecessor: our origin label, but the UID of an earlier owner of the same name, which is no more.
	Predecessor
	// Foreign: another origin or none. A name collision: never touched.
	Foreign
	// Relabelled: our owner's UID and no origin label at all: a client has taken that off what the hub made. Informers do not
	// show it, live reads do. It may run like any of ours and is removed like any, but nothing that it says counts.
	Relabelled
)

// Copy is the Workload of our name on a worker.
type Copy struct {
	Holder Holder
	// Epoch is its stamp; 0 if it has none.
	Epoch int64
	// SpecMatches is set if its spec equals that of the hub's Workload, preemption gates aside; PriorityOnly if only
	// priority and priority class differ.
	SpecMatches         bool
	OnlyPriorityDiffers bool
	// OnlyLarger is set if it is for more pods than the hub's Workload, which was scaled down since, and if nothing else differs but, it may be,
	// the priority.
	OnlyLarger bool
	// QuotaReserved is its condition QuotaReserved; Waiting is the message of that condition while it is False, and
	// WaitingBecause its reason, in the worker's own words. Refused is set if that reason says that the cluster cannot admit it
	// until a person changes something there.
	QuotaReserved  bool
	WaitingMessage string
	WaitingReason  string
	Refused        bool
	// Since is when QuotaReserved became what it is, or when the copy was made; zero if not known. Of a Foreign object it is
	// always when that was made.
	Since time.Time
	// StopsOnHubLost is set if it is stamped so that the worker stops its job when it misses the hub.
	StopsOnHubLost bool
	// GateClosed is set while the hub's preemption gate of the copy is closed, and GateOpenedAt is when it was opened, zero
	// if it was not. BlockedOnGate is its condition BlockedOnPreemptionGates, and BlockedSince the transition time.
	GateClosed    bool
	GateOpenedAt  time.Time
	BlockedOnGate bool
	BlockedSince  time.Time
	// Admitted is its condition of that name, and AdmittedAt the transition time.
	Admitted   bool
	AdmittedAt time.Time
	// Evicted is its condition of that name, and EvictedAt the transition time. Deactivating is set once it is being or has been
	// deactivated.
	Evicted      bool
	EvictedAt    time.Time
	Deactivating bool
	// Adopted is set once a job there owns it (it has a controller): that job came into being, whether it is seen or not.
	// AdoptedBy is the UID of that job.
	Adopted   bool
	AdoptedBy string
	// HasWorkloadUID is set if it bears the UID of the hub's Workload: then so does its job.
	HasWorkloadUID bool
	// Finished is its condition of that name, nil if not True. It may outlast the copy, with Epoch, Adopted and AdoptedBy, which
	// then tell of the copy that is gone.
	Finished *Outcome
	// Deleting is set while it waits for finalizers.
	Deleting bool
}

// Job is the job of our name on a worker.
type Job struct {
	Holder Holder
	// UID is its own.
	UID string
	// HasWorkloadUID is set if it bears the UID of the hub's Workload; Named if it says by name that it is for that Workload.
	// One that is neither is Foreign, whatever its labels.
	HasWorkloadUID, NamesWorkload bool
	// Epoch is its stamp; 0 if it has none.
	Epoch int64
	// Finished is set once it has ended. It may outlast the job, see EndedJob.Unfinished.
	Finished *Outcome
	// Deleting is set while it waits for finalizers.
	Deleting bool
	// StatusBehind is set if the hub's job does not show its status yet, as far as the adapter copies it.
	StatusBehind bool
	// SpecBehind is set if what the job follows of the hub's job while it runs is not what that says now.
	SpecBehind bool
	// SizeBehind is set if it does not ask for as many pods as the hub's Workload, which it is to follow while it runs, or is OfSlice.
	SizeBehind bool
	// SizeAbove is set if it is OfSlice and asks for more pods of some set than the hub's Workload.
	SizeAbove bool
	// OfSlice is set while it names another slice of the hub's job than the Workload, which has taken over from that, or is passive.
	OfSlice bool
	// Since is when it was made; zero if not known.
	Since time.Time
}

// Outcome is how a run ended: reason and message of a Workload's condition Finished.
type Outcome struct {
	Reason  string
	Message string
}

// OutOfSync is the Outcome.Reason of a copy that no longer equals its job (contract: multikueue.md 4 case 3a).
const OutOfSync = "OutOfSync"

// SliceReplaced is the Outcome.Reason of a copy from which another slice of its job has taken over there. It is no end of the run.
const SliceReplaced = "WorkloadSliceReplaced"

// isRunEnd reports whether a copy that has ended so says that its run has.
func (o Outcome) isRunEnd() bool { return o.Reason != OutOfSync && o.Reason != SliceReplaced }

// Live is what a read straight from the worker's API server found.
type Live struct {
	// Epoch is that of the LiveRead action: the read began after the State with this epoch had been stored, and after
	// every earlier write to these objects had ended.
	Epoch int64
	// At is when the read began. A run is given up only on an answer younger than answerAge. Zero if the caller cannot
	// tell; then any age will do.
	At   time.Time
	Copy Copy
	Job  Job
}

// maxAnswerAge is how old an answer may be for a run to be given up on it. Otherwise it is good until something newer is
// known; but a watch may be slow to say so.
const maxAnswerAge = 10 * time.Second
