package v1alpha1

// Annotations on the remote Workload and on the remote job, written by the hub at creation and never changed.
const (
	// EpochAnnotation is the epoch in which the hub made the object: a decimal number from 1. Retreats raise it.
	EpochAnnotation = "switchyard.dev/epoch"
	// OwnerUIDAnnotation is the UID of the hub's Workload that the object was made for. Epochs of one such Workload compare;
	// those of two do not.
	OwnerUIDAnnotation = "switchyard.dev/owner-uid"
	// HubUIDAnnotation is the identity of the hub that made the object: the UID of its namespace kube-system. An object of the
	// same origin but another identity was made by another hub. Programs that know no identities leave it out.
	HubUIDAnnotation = "switchyard.dev/hub-uid"
	// OnHubLostAnnotation tells the worker what to do with the object's job when the hub's run lease has run out: an
	// OnHubLost. An object without it keeps running.
	OnHubLostAnnotation = "switchyard.dev/on-hub-lost"
)

// Conditions on a MultiKueueCluster, beside those of the public API.
const (
	// IdentityCondition says in its message which cluster jobs were sent to: the UID of its namespace kube-system.
	IdentityCondition = "switchyard.dev/Identity"
	// OrphansCondition is True while there are objects of this hub's origin on the cluster that it neither uses nor removes.
	OrphansCondition = "switchyard.dev/Orphans"
)

// DispatchCondition is the type of the condition on the hub's Workload in which the dispatcher records what the public API has no
// word for. It is True while clusters that were given up may still run the job.
const DispatchCondition = "switchyard.dev/Dispatch"

// OnHubLost is what a worker does with a hub's jobs when that hub's run lease has run out.
type OnHubLost string

// The choices.
const (
	// KeepRunning leaves the job alone, however long the hub is away.
	KeepRunning OnHubLost = "KeepRunning"
	// Stop evicts the job: it gets its termination grace and frees its quota.
	Stop OnHubLost = "Stop"
)

// OnWorkerLost is what a hub does with a job bound to a worker that it could not reach for longer than the grace.
type OnWorkerLost string

// The choices.
const (
	// Redispatch runs the job elsewhere.
	Redispatch OnWorkerLost = "Redispatch"
	// Hold waits for the worker, or for an administrator to declare it gone.
	Hold OnWorkerLost = "Hold"
)

// RunPolicyAnnotation chooses a RunPolicy: on a MultiKueueConfig for its fleet, on a ClusterQueue of the hub for its
// Workloads, which goes before. Without it the policy is Compatible.
const RunPolicyAnnotation = "switchyard.dev/run-policy"

// RunPolicy is a preset of OnHubLost and OnWorkerLost.
type RunPolicy string

// The presets.
const (
	// Compatible is KeepRunning and Redispatch: what clients of the public API expect. Runs may overlap when a worker is only
	// out of reach.
	Compatible RunPolicy = "compatible"
	// RunOnce is Stop and Redispatch: a job runs again only when the worker it ran on must have stopped it.
	RunOnce RunPolicy = "run-once"
	// NeverLose is KeepRunning and Hold.
	NeverLose RunPolicy = "never-lose"
)

// Run leases. The hub renews one Lease (coordination.k8s.io/v1) on each worker, in the namespace of the worker's program. The
// worker's fence renews one of its own beside it, by which the hub sees that a fence is at work.
const (
	// HubLeasePrefix and the hub's origin are the name of the hub's run lease. Its renewTime and leaseDurationSeconds say
	// until when the hub is there; past that a worker stops the jobs with OnHubLost Stop of that origin.
	HubLeasePrefix = "switchyard-hub-"
	// FenceLease is the name of the lease that a worker's fence renews.
	FenceLease = "switchyard-fence"
	// StopsWithinAnnotation on the fence's lease is how long, as a duration, it may take from the end of a hub's lease, by the
	// worker's clock, until the last job that depends on one has been told to stop. A hub that allows less cannot rely on the fence.
	// One that cannot be read is as good as no fence.
	StopsWithinAnnotation = "switchyard.dev/stops-within"
	// CannotStopAnnotation on the fence's lease says why the fence cannot promise that what it suspends stops, for people. As long as
	// it is there no hub can rely on the fence.
	CannotStopAnnotation = "switchyard.dev/cannot-stop"
)

// Annotations on a MultiKueueCluster, for its administrators.
const (
	// CordonedAnnotation "true": nothing new is offered to the cluster; offers not yet admitted are withdrawn.
	CordonedAnnotation = "switchyard.dev/cordoned"
	// DrainAnnotation "true": as cordoned, and the jobs that run there are moved, one after another.
	DrainAnnotation = "switchyard.dev/drain"
	// GoneAnnotation "true": a person declares that nothing runs on the cluster any more. Whatever is owed by it, or held
	// because of it, is free at once.
	GoneAnnotation = "switchyard.dev/gone"
	// AdoptHubsAnnotation lists identities of hubs, separated by commas, see HubUIDAnnotation: a person declares that those hubs
	// are no more, and that what they left behind, on whatever cluster, is this hub's.
	AdoptHubsAnnotation = "switchyard.dev/adopt-hubs"
	// DiscardOrphansAnnotation is a time (RFC 3339): a person declares that the orphans of this hub on the cluster that were made
	// before it are to be removed, though they may run jobs.
	DiscardOrphansAnnotation = "switchyard.dev/discard-orphans"
	// WeightAnnotation is a number from 0 to 100, 10 by default: how much placement likes the cluster.
	WeightAnnotation = "switchyard.dev/weight"
)

// PreferClustersAnnotation on a job or on a ClusterQueue of the hub names clusters by a comma-separated list: placement
// goes by it before anything but preemption and fit.
const PreferClustersAnnotation = "switchyard.dev/prefer-clusters"

// UptimeLease is the name of the lease, in the namespace of the hub's program, in which that keeps until when it has run, and
// DowntimesAnnotation on it lists when it has not.
const (
	UptimeLease         = "switchyard-hub-uptime"
	DowntimesAnnotation = "switchyard.dev/downtimes"
)

// BestFitDispatcherName as multiKueue.dispatcherName selects the dispatcher that offers to the best cluster first.
const BestFitDispatcherName = "switchyard.dev/multikueue-dispatcher-best-fit"

// ElasticPodLabel is on the pods of elastic jobs that wait for their gate, with the UID of their job, so that they can be watched without all
// others.
const ElasticPodLabel = "switchyard.dev/elastic-pod"
