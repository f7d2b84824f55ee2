package dispatch

import "time"

// Plan is the whole outcome of a Step.
type Plan struct {
	// Phase is how far the Workload has come.
	Phase Phase
	// Stores says which of two things is to be done: to write Next and CheckResult, which differ from what is stored, in one
	// status write; or, if false, to run the Actions in order, stopping at the first failure.
	Stores bool
	// Next is the State to store; the present one unless the Plan stores another.
	Next State
	// Actions is empty if the Plan stores.
	Actions []Action
	// CheckResult is what the Workload's entry for the check must say; what it says now unless the Plan stores something else.
	CheckResult CheckResult
	// Reason is why, for metrics and logs; Message says it in words.
	Reason  Reason
	Message string
	// Clusters says, cluster by cluster in the Observation's order, why the Workload does not run there (or that it does).
	// It and Summary are filled by Explain, and not by Step.
	Clusters []Explanation
	// Summary is the same in one line, with the policy that holds the Workload and until when.
	Summary string
	// Event is to be emitted after the write succeeded; nil for none.
	Event *Event
	// WakeAt is when to ask again if nothing happens before; zero for never.
	WakeAt time.Time
	// NothingReachable is set when nothing of the Workload is seen on a cluster that can be reached: its owner may go.
	NothingReachable bool
}

// CheckResult is the state and message of an admission check.
type CheckResult struct {
	State   CheckState
	Message string
}

// Event is a Kubernetes event with reason MultiKueue (contract: multikueue.md 10).
type Event struct {
	Warning bool
	Message string
}

// Explanation is why a cluster does not run the Workload, or that it does.
type Explanation struct {
	Cluster string
	Phase   ClusterPhase
	Reason  Reason
	Message string
	// Since is when that became so, zero if not known.
	Since time.Time
}

// ClusterPhase is how far a Workload has come on one cluster.
type ClusterPhase string

// The phases.
const (
	// ClusterNotEligible: the cluster is not offered the Workload.
	ClusterNotEligible ClusterPhase = "NotEligible"
	// ClusterOffered: its copy is being made.
	ClusterOffered ClusterPhase = "Offered"
	// ClusterWaiting: its copy waits there.
	ClusterWaiting ClusterPhase = "Waiting"
	// ClusterAdmitted: its copy is admitted there; the one that is bound stays in this phase.
	ClusterAdmitted ClusterPhase = "Admitted"
	// ClusterRefused: the cluster does not take what it is given, or will not admit it.
	ClusterRefused ClusterPhase = "Refused"
	// ClusterLost: the cluster cannot be reached.
	ClusterLost ClusterPhase = "Lost"
	// ClusterLeaving: what an earlier attempt left there is being removed, or would be if the cluster could be reached.
	ClusterLeaving ClusterPhase = "Leaving"
)

// Verb is the kind of an Action.
type Verb string

// The verbs. Each is idempotent; "not found" on a removal and "already exists with our stamp" on a creation are success.
const (
	// CreateOffer creates the Workload copy on Cluster, stamped with Epoch.
	CreateOffer Verb = "CreateOffer"
	// UpdateOffer writes priority, priority class and size of the hub's Workload to the copy of this Epoch.
	UpdateOffer Verb = "UpdateOffer"
	// CreateJob creates the job on Cluster, stamped with Epoch, provided that a live read of the copy shows it ours, of
	// this Epoch, admitted, not adopted by a job, not finished and not being deleted; otherwise it fails.
	CreateJob Verb = "CreateJob"
	// Retract removes job, then copy, from Cluster if they have our origin and either an epoch below Epoch (no stamp
	// counts as 0) or a predecessor's UID. Nothing else is touched. With Spare, a job that turns out to have finished is
	// left alone, and its copy with it: its result has not been seen yet.
	Retract Verb = "Retract"
	// OpenGate opens the preemption gate of the copy of this Epoch, once (contract: multikueue.md 8).
	OpenGate Verb = "OpenGate"
	// EvictRemote sets DeactivationTarget with reason EvictedOnManagerCluster and Message on the copy below Epoch.
	EvictRemote Verb = "EvictRemote"
	// LiveRead reads copy and job straight from Cluster, after all earlier writes to them, for ClusterView.Live.
	LiveRead Verb = "LiveRead"
	// SyncSpec makes what a job of this Epoch on Cluster follows of the hub's job like that, once.
	SyncSpec Verb = "SyncSpec"
	// ResizeJob makes a job of this Epoch on Cluster ask for as many pods as the hub's Workload, and name that, in one write, once.
	ResizeJob Verb = "ResizeJob"
	// CopyStatus copies the status of the job on Cluster to the hub's job.
	CopyStatus Verb = "CopyStatus"
	// DrainStatus clears the active counts of the hub's job: no cluster will ever report them again. It names no cluster.
	DrainStatus Verb = "DrainStatus"
	// Finish copies the status of the job on Cluster, if it is still seen, and then sets Finished with Outcome on the
	// hub's Workload.
	Finish Verb = "Finish"
)

// Action is one thing to do to one cluster (CreateOffer, UpdateOffer, CreateJob, Retract, OpenGate, EvictRemote, LiveRead, SyncSpec,
// ResizeJob) or,
// from what is seen of that cluster, to the hub (CopyStatus, DrainStatus, Finish).
type Action struct {
	// Verb is what to do. An action without one is a mistake: [Action.Remote] panics on it.
	Verb Verb
	// Cluster is the name of the MultiKueueCluster; empty for DrainStatus only.
	Cluster string
	// Epoch is the stamp of what is created or updated, the bound below which Retract and EvictRemote work, and the
	// current epoch otherwise.
	Epoch int64
	// SpareFinished is Retract's: what it removes was not seen finished, so a finished job must not be removed unseen. The caller
	// reads the job first and deletes it on condition that it has not changed since.
	SpareFinished bool
	// OnlyShrink is ResizeJob's: the job is made to ask for no more pods than the Workload, and names another slice still.
	OnlyShrink bool
	// OnlyCopy is Retract's: the job stays, which is another slice's.
	OnlyCopy bool
	// StopsOnHubLost is CreateOffer's and CreateJob's: what is made is stamped so that the worker stops the job when it misses
	// the hub.
	StopsOnHubLost bool
	// GateClosed is CreateOffer's: the copy is made with the hub's preemption gate, closed.
	GateClosed bool
	// Foreground is Retract's: the job is deleted in such a way that its object stays until its pods have ended. Otherwise a
	// read that finds no job would say nothing about its pods.
	Foreground bool
	// Message is EvictRemote's: the message of the condition that it sets.
	Message string
	// Outcome is Finish's: how the run ended, for the condition Finished of the hub's Workload.
	Outcome Outcome
}

// Remote reports whether the action talks to the worker cluster.
func (a Action) Remote() bool {
	switch a.Verb {
	case CreateOffer, UpdateOffer, CreateJob, Retract, OpenGate, EvictRemote, LiveRead, SyncSpec, ResizeJob:
		return true
	case CopyStatus, DrainStatus, Finish:
		return false
	}
	panic("dispatch: action with an unknown verb " + string(a.Verb))
}
