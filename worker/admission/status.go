package admission

import (
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/order"
	"switchyard.dev/worker/admission/quota"
)

// FlavorStatus is how much of a flavor-resource is taken through a queue.
type FlavorStatus struct {
	FlavorResource
	Total amount.Amount
	// Borrowed is the part of Total above the queue's nominal quota; always 0 for a local queue.
	Borrowed amount.Amount
}

// QueueStatus is what a ClusterQueue's status says about its workloads (contract: kueue-api.md 1.18).
type QueueStatus struct {
	// Active workloads will be looked at in the next cycle or as soon as those before them are out of the way.
	Active int
	// Inadmissible workloads are inadmissible until something changes for them, or wait for their backoff to end.
	Inadmissible int
	// Reserving workloads hold quota, admitted or not.
	Reserving int
	// Admitted workloads are the part of Reserving whose checks are all ready.
	Admitted int
	// Reserved is what Reserving workloads take; in the order of the queue's groups, zero entries kept.
	Reserved []FlavorStatus
	// Used is what Admitted workloads take; in the same order.
	Used []FlavorStatus
}

// LocalQueueStatus is the same for a LocalQueue.
type LocalQueueStatus struct {
	Pending   int
	Reserving int
	Admitted  int
	// Reserved and Used are in the order of the cluster queue's groups, zero entries kept; Borrowed is 0.
	Reserved []FlavorStatus
	Used     []FlavorStatus
}

// Status answers questions about a Snapshot: how its queues and cohorts stand, and what waits in them. It changes nothing.
type Status struct {
	quota  *quota.Tree
	queues *queueIndex
	usage  *usageOrdering
	// backingOff are the workloads that wait for their backoff to end.
	backingOff *order.Heap[*PendingWorkload]
}
