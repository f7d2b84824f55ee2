package admission

import "switchyard.dev/worker/admission/amount"

// Explanation says how a waiting workload stands and what would have to happen for it to start. It is computed only when
// asked for (package cycle, Explain) and changes nothing.
type Explanation struct {
	Workload Key
	Queue    string
	// Reason and Message are what the workload would be told if it were looked at now, all by itself. Reason is
	// QuotaReserved if it could be admitted and waits only for those before it.
	Reason  Reason
	Message string
	// Ahead is the number of workloads that rank before it in its queue.
	Ahead int
	// PodSets are in the order of the workload's.
	PodSets []PodSetExplanation
	// BlockingHolders are workloads that hold quota: if all of them ended, the workload would fit. They are taken in the order in
	// which they got their quota, and none of them can be left out. Nil if it fits now, or if no ends would help.
	BlockingHolders []Key
	// Victims are the workloads that policy would let it evict now; nil if it fits, or if preemption cannot help.
	Victims []Victim
}

// PodSetExplanation is how the flavors of a queue suit a pod set.
type PodSetExplanation struct {
	Name  string
	Count int32
	// Flavors are in the order of the queue's groups, as far as the pod set asks for one of their resources.
	Flavors []FlavorExplanation
	// Undeclared are the requested resources that no group covers, sorted.
	Undeclared []string
}

// FlavorExplanation is how one flavor suits a pod set.
type FlavorExplanation struct {
	Flavor string
	// Reason is empty if the flavor suits the pod set now, NoMatchingFlavor if it never will, and otherwise the least
	// hopeful of its resources' reasons.
	Reason Reason
	// Message says what keeps the pods off the flavor's nodes; empty if nothing does.
	Message   string
	Resources []ResourceExplanation
}

// ResourceExplanation is the account of one flavor-resource of a queue as a pod set meets it. Amounts are in the units of
// package amount.
type ResourceExplanation struct {
	Resource string
	// Requested is what all pods of the pod set ask for; it counts against the pod sets before it, too.
	Requested amount.Amount
	// Nominal is what the queue owns and Used what it uses, however much it borrows for that.
	Nominal, Used amount.Amount
	// Borrowable is the most that the queue could have above Nominal if no other queue used anything.
	Borrowable amount.Amount
	// Available is what the queue could take now, borrowing included; negative if it uses more than it may.
	Available amount.Amount
	// Reason is empty if Asked is available, otherwise WaitingForQuota or ExceedsMaxQuota.
	Reason Reason
}
