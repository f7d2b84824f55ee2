package dispatch

// Reason is why Step decided as it did, or why a cluster does not run a Workload. The set is closed: reasons become
// metric labels.
type Reason string

// Reasons for what happens to the Workload.
const (
	// Deleted: the Workload is gone or going; its remote objects are removed.
	Deleted Reason = "Deleted"
	// Done: the Workload has finished; its remote objects are removed.
	Done Reason = "Done"
	// Retained: the Workload has finished; its job stays for a time on the cluster that ran it.
	Retained Reason = "Retained"
	// NoQuota: the hub has not reserved quota.
	NoQuota Reason = "NoQuota"
	// NoAdapter: nothing can mirror the Workload's owner.
	NoAdapter Reason = "NoAdapter"
	// NotManaged: the owner does not ask to be dispatched.
	NotManaged Reason = "NotManaged"
	// WaitingForChecks: another admission check is not Ready.
	WaitingForChecks Reason = "WaitingForChecks"
	// NoCluster: no cluster can be offered the Workload.
	NoCluster Reason = "NoCluster"
	// Opened: the epoch begins to be used in this reservation.
	Opened Reason = "Opened"
	// RecordLost: an epoch ended unrecorded, or the record was lost; every cluster is suspected of holding a job.
	RecordLost Reason = "RecordLost"
	// Nominated: the set of clusters to offer to has changed.
	Nominated Reason = "Nominated"
	// Offered: waiting for a cluster to admit its copy.
	Offered Reason = "Offered"
	// Owed: a cluster admits, but another may still run an earlier epoch's job.
	Owed Reason = "Owed"
	// Settled: a debtor was read and owes nothing any more.
	Settled Reason = "Settled"
	// Won: a cluster is bound.
	Won Reason = "Won"
	// Starting: the bound cluster is being given the job.
	Starting Reason = "Starting"
	// Running: the bound cluster has the job.
	Running Reason = "Running"
	// RunFinished: the job has ended; the result is being recorded.
	RunFinished Reason = "RunFinished"
	// RemoteOutOfSync: the bound copy no longer equals its job.
	RemoteOutOfSync Reason = "RemoteOutOfSync"
	// RemoteEvicted: the bound cluster evicted its copy.
	RemoteEvicted Reason = "RemoteEvicted"
	// RemoteGone: the bound copy is gone, not admitted any more, or not what the hub wants.
	RemoteGone Reason = "RemoteGone"
	// RemoteLost: the bound cluster could not be reached for longer than the grace.
	RemoteLost Reason = "RemoteLost"
	// NoRecord: the check is Ready but no cluster is bound.
	NoRecord Reason = "NoRecord"
	// InGrace: the bound cluster cannot be reached; it keeps the Workload for now.
	InGrace Reason = "InGrace"
	// CutOffHub: most clusters vanished together; the hub waits.
	CutOffHub Reason = "CutOffHub"
	// Held: the grace is over but the policy is to wait.
	Held Reason = "Held"
	// FenceWait: a cluster out of reach may still run the job until the run lease has surely run out there.
	FenceWait Reason = "FenceWait"
	// Unfenced: a cluster out of reach may still run the job, and nothing there would stop it; only its return or a
	// person's word helps.
	Unfenced Reason = "Unfenced"
	// DeclaredGone: a person has declared that nothing runs on the cluster any more.
	DeclaredGone Reason = "DeclaredGone"
	// Drained: the bound cluster is being drained, and another can take the Workload.
	Drained Reason = "Drained"
	// SiblingWait: the Workload waits for the siblings of its owner.
	SiblingWait Reason = "SiblingWait"
	// TakenOver: a slice has taken over the record of the one before it.
	TakenOver Reason = "TakenOver"
	// SlicePassive: another slice of the elastic job has the job.
	SlicePassive Reason = "SlicePassive"
	// Looking: a cache shows nothing where something should be; the cluster is being read.
	Looking Reason = "Looking"
	// ResultUnknown: job and copy are gone from the bound cluster and it was not seen how the run ended.
	ResultUnknown Reason = "ResultUnknown"
	// LocalEvicted: the hub evicts the Workload.
	LocalEvicted Reason = "LocalEvicted"
	// Draining: the Workload retreats and waits for the core to release its quota.
	Draining Reason = "Draining"
)

// Reasons for what happens on one cluster only.
const (
	// NotInConfig: the MultiKueueConfig does not list the cluster.
	NotInConfig Reason = "NotInConfig"
	// NotReachable: the cluster cannot be talked to.
	NotReachable Reason = "NotReachable"
	// NameCollision: an object of our name there is not ours.
	NameCollision Reason = "NameCollision"
	// Refused: the cluster does not take what it is given, or says that it cannot admit it.
	Refused Reason = "Refused"
	// NotNominated: the cluster was not nominated.
	NotNominated Reason = "NotNominated"
	// Cordoned: nothing new is offered to the cluster.
	Cordoned Reason = "Cordoned"
	// PinnedElsewhere: a sibling of the same owner has another cluster.
	PinnedElsewhere Reason = "PinnedElsewhere"
	// NotLeased: the run lease is not renewed on the cluster, so that its fence would stop the job.
	NotLeased Reason = "NotLeased"
	// HedgeWait: a better cluster has been offered the Workload and still has time to admit it.
	HedgeWait Reason = "HedgeWait"
	// BlockedOnGate: the copy would have to preempt, and its preemption gate is closed.
	BlockedOnGate Reason = "BlockedOnGate"
	// Retracting: what an earlier epoch left there is being removed.
	Retracting Reason = "Retracting"
	// WaitingForQuota: the copy waits for quota there.
	WaitingForQuota Reason = "WaitingForQuota"
	// WaitingThere: the copy waits for something else there, as the worker says.
	WaitingThere Reason = "WaitingThere"
	// WaitingForAdmission: the copy has quota there and waits for that cluster's checks.
	WaitingForAdmission Reason = "WaitingForAdmission"
	// Admitted: the copy is admitted there.
	Admitted Reason = "Admitted"
	// Lost: another cluster won.
	Lost Reason = "Lost"
)
