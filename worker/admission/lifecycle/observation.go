package lifecycle

import "time"

// QueueState is how a LocalQueue or ClusterQueue stands to its workloads.
type QueueState int

// The states of a queue.
const (
	// QueueUnknown: the queue was not looked up; it decides nothing.
	QueueUnknown QueueState = iota
	// QueueOpen: takes new workloads.
	QueueOpen
	// QueueInactive: takes no new ones for a reason that lies in its configuration; what it holds stays.
	QueueInactive
	// QueueHeld: takes no new ones, and those that are not admitted lose their reservation (stopPolicy Hold, or being deleted).
	QueueHeld
	// QueueDraining: all must leave (stopPolicy HoldAndDrain).
	QueueDraining
	// QueueMissing: there is no such queue. Those that run may go on.
	QueueMissing
)

// Queue is the LocalQueue or ClusterQueue of a workload.
type Queue struct {
	Name  string
	State QueueState
}

// mustEvict tells whether a workload that holds quota has to give it back.
func (q Queue) mustEvict(admitted bool) bool {
	switch q.State {
	case QueueDraining:
		return true
	case QueueHeld, QueueMissing:
		return !admitted
	case QueueUnknown, QueueOpen, QueueInactive:
		return false
	default:
		return false
	}
}

// isRestarted tells whether the queue, which was stopped, is not any more. Whether it can admit is another question, which the
// scheduling cycle answers.
func (q Queue) isRestarted() bool { return q.State == QueueOpen || q.State == QueueInactive }

// Observation is what is true around a workload.
type Observation struct {
	Now time.Time
	// LocalQueue that the spec names; ClusterQueue that holds the reservation, else the one that LocalQueue points to.
	LocalQueue, ClusterQueue Queue
	// Checks that apply to the reservation, sorted; without one, those that apply whatever flavors are assigned. When the
	// ClusterQueue is missing or unseen they are ignored.
	Checks []string
	// AdmissionGates are the names in the admission-gated-by annotation, sorted, and Gates is its value as it is.
	AdmissionGates          []string
	AdmissionGateAnnotation string
	// Owned is true when a job's reconciler stops the job, releases the quota after an eviction and lets the workload go at
	// its end.
	Owned bool
	// Deleting is true once deletion has been asked for; OwnerGone once a live read said that no owner is left.
	Deleting, OwnerGone bool
	// ClassPriority is the value of the WorkloadPriorityClass that the workload's priority comes from; nil when there is no
	// such class, or the priority is decided elsewhere.
	ClassPriority *int32
	// Policy is what the configuration asks for.
	Policy Policy
}

// Policy is what the configuration says about every workload's life. The zero value asks for nothing.
type Policy struct {
	// PodsReady is nil when pods are not waited for.
	PodsReady *PodsReadyPolicy
	// FinishedRetention is how long a finished workload is kept, KeepDeactivated how long one without owner that the system has
	// deactivated; nil for ever.
	FinishedRetention, DeactivatedRetention *time.Duration
	// OwnerGracePeriod is how long a workload without owner keeps the quota that it has to give back, and how long one whose
	// queue does not exist keeps a reservation that another program made: a program or person that plays the owner goes
	// first.
	OwnerGracePeriod time.Duration
	// FinishOrphans finishes workloads whose owner is gone.
	FinishOrphans bool
	// ExplicitStatus says of every workload that nothing keeps back that it waits to be evaluated (gate
	// UnadmittedWorkloadsExplicitStatus): a write more for each.
	ExplicitStatus bool
	// CoarseReasons leaves unsaid what is not said with the gate UnadmittedWorkloadsObservability off.
	CoarseReasons bool
}

// PodsReadyPolicy says how long pods may take to be ready, and when a workload whose pods took longer may queue again
// (contract: kueue-api.md 4.15).
type PodsReadyPolicy struct {
	// Timeout runs from the admission, RecoveryTimeout from the moment when pods that were all ready were so no more.
	Timeout, RecoveryTimeout time.Duration
	// BackoffBase is the delay after the first timeout; it doubles with every further one, up to BackoffMax.
	BackoffBase, BackoffMax time.Duration
	// RequeueLimit is how often the workload is requeued before it is deactivated; nil for any number of times.
	RequeueLimit *int32
}
