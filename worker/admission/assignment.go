package admission

import (
	"slices"
	"time"

	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

// FlavorResource names what quota is counted in.
type FlavorResource = quota.FlavorResource

// Usage is what a workload takes from the quota, sorted by flavor and resource.
type Usage = quota.Usage

// ResourceFlavor is the flavor that a resource of a pod set got.
type ResourceFlavor struct {
	Resource string
	Flavor   string
}

// PodSetAssignment is what one pod set got: the content of status.admission.podSetAssignments[].
type PodSetAssignment struct {
	Name  string
	Count int32
	// Flavors is sorted by resource; resources that the queue ignores are not in it.
	Flavors []ResourceFlavor
	// Usage is the total of the pod set (count times one pod) for the resources in Flavors.
	Usage amount.Vector
}

// Assignment says which flavors a workload gets and what it takes from the quota.
type Assignment struct {
	// PodSets is in the order of the workload's.
	PodSets []PodSetAssignment
	Usage   Usage
	// Borrowing is the borrowing height: 0 within the queue's own quota, otherwise the height of the lowest ancestor
	// whose quota suffices (contract: kueue-api.md 4.5). The smaller the better.
	Borrowing int
	// Considered says, pod set by pod set, which flavors were looked at and are not simply free, and what is in their way; mostly
	// empty.
	Considered string
}

// FlavorNames returns the assigned flavors, sorted, each once.
func (a Assignment) FlavorNames() []string {
	var names []string
	for _, use := range a.Usage {
		names = append(names, use.Flavor)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Reservation is a workload that holds quota, assumed or seen in the API.
type Reservation struct {
	Key
	// LocalQueue is in the workload's namespace; it and Queue are those the quota was taken through.
	LocalQueue string
	Queue      string
	Usage      Usage
	// UID, Priority and QueuedAt are those of the workload, as it would wait if it were evicted now.
	UID      string
	Priority int32
	QueuedAt time.Time
	// ReservedAt is when the workload got its quota.
	ReservedAt time.Time
	// Evicted is whether the workload has been told to stop and holds its quota only until it has.
	Evicted bool
	// PodsReady is whether all pods have been ready since the workload was admitted, and are now or finished.
	PodsReady bool
	// Admitted is whether the Admitted condition is true; a mere reservation is waiting for its checks.
	Admitted bool
	// Assumed is whether a cycle made the reservation and Admit has not confirmed it yet. Admit ignores it.
	Assumed bool
}

// Outcome is what a cycle decided about a workload.
type Outcome string

const (
	// Admit reserves quota. The snapshot already carries the reservation; undo it with Forget if the write fails.
	Admit Outcome = "Admit"
	// Preempt leaves the workload in its queue and evicts the victims whose quota it is to get.
	Preempt Outcome = "Preempt"
	// Wait leaves the workload in its queue.
	Wait Outcome = "Wait"
)

// Victim is a workload to be evicted for another.
type Victim struct {
	Workload Key
	UID      string
	Queue    string
	// Reason is InClusterQueue, InCohortReclamation, InCohortFairSharing or InCohortReclaimWhileBorrowing.
	Reason Reason
	// Evicted is whether the workload is leaving already, so that nothing has to be done.
	Evicted bool
}

// Decision is one workload's outcome of a cycle.
type Decision struct {
	Workload   Key
	LocalQueue string
	Queue      string
	Outcome    Outcome
	// Reason is QuotaReserved for Admit, WaitingForPreemptedWorkloads for Preempt and one of the reasons of
	// QuotaReserved=False for Wait.
	Reason Reason
	// Message is for humans, without a final period.
	Message string
	// Assignment is set for Admit only.
	Assignment *Assignment
	// Victims is set for Preempt only, in the order in which they were chosen.
	Victims []Victim
	// ClosedPreemptionGates is set for Wait only, when preemption would help and these gates forbid it.
	ClosedPreemptionGates []string
}

// Plan is the whole outcome of a cycle.
type Plan struct {
	// Decisions holds the admissions and preemptions in the order they were made, then the waits by queue and rank. A workload appears
	// at most once. Workloads that were not looked at, or that would be told the same reason again together with
	// others of their kind, do not appear.
	Decisions []Decision
	// Overlaps are the preemptors that met victims of others, in the order in which they were looked at; for metrics only.
	Overlaps []Overlap
	// HasMore means that the cycle stopped at its limit with work left: run another.
	HasMore bool
	// NextCycleAt is when the earliest backoff ends; the zero time when nothing waits for the clock.
	NextCycleAt time.Time
}
