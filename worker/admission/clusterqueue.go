package admission

import (
	"slices"

	"switchyard.dev/worker/admission/quota"
)

// QueueingStrategy says whether a head that cannot be admitted blocks its queue (contract: kueue-api.md 4.2).
type QueueingStrategy string

// The queueing strategies. The empty strategy means BestEffortFIFO.
const (
	StrictFIFO     QueueingStrategy = "StrictFIFO"
	BestEffortFIFO QueueingStrategy = "BestEffortFIFO"
)

// FlavorSearch says whether to keep looking for a better flavor once one would do at a price.
type FlavorSearch string

// What to do on finding a flavor that needs borrowing or preemption.
const (
	MayStopSearch FlavorSearch = "MayStopSearch"
	TryNextFlavor FlavorSearch = "TryNextFlavor"
)

// FlavorPreference ranks flavors when every one has a price. The empty preference means BorrowingOverPreemption.
type FlavorPreference string

// The flavor preferences (contract: kueue-api.md 4.6, 10.2).
const (
	// BorrowingOverPreemption compares preemption first, then the borrowing height.
	BorrowingOverPreemption FlavorPreference = "BorrowingOverPreemption"
	// PreemptionOverBorrowing compares the borrowing height first, then preemption.
	PreemptionOverBorrowing FlavorPreference = "PreemptionOverBorrowing"
)

// Fungibility is a queue's flavorFungibility. Empty fields mean the API defaults: MayStopSearch when it can borrow,
// TryNextFlavor when it can preempt.
type Fungibility struct {
	WhenCanBorrow  FlavorSearch
	WhenCanPreempt FlavorSearch
	Preference     FlavorPreference
}

// PreemptionPolicy says which workloads a preemptor may evict (contract: kueue-api.md 4.7). The empty policy means Never.
type PreemptionPolicy string

// The preemption policies.
const (
	Never         PreemptionPolicy = "Never"
	LowerPriority PreemptionPolicy = "LowerPriority"
	// LowerOrNewerEqualPriority also allows workloads of the same priority with a later queue-order timestamp.
	LowerOrNewerEqualPriority PreemptionPolicy = "LowerOrNewerEqualPriority"
	AnyPriority               PreemptionPolicy = "Any"
)

// Preemption says which workloads those of a queue may evict.
type Preemption struct {
	// WithinQueue is about the queue's own workloads; Any is not allowed.
	WithinQueue PreemptionPolicy
	// ReclaimWithinCohort is about workloads of other queues that borrow, as long as the preemptor does not.
	ReclaimWithinCohort PreemptionPolicy
	// BorrowWithinCohort is the same for a preemptor that borrows: Never or LowerPriority. Fair sharing ignores it.
	BorrowWithinCohort PreemptionPolicy
	// BorrowThreshold bounds the priority of those evicted by BorrowWithinCohort, itself included; nil for no bound.
	BorrowThreshold *int32
}

// isEnabled reports whether any workload may be evicted.
func (p Preemption) isEnabled() bool {
	return p.WithinQueue.isEnabled() || p.ReclaimWithinCohort.isEnabled() || p.BorrowWithinCohort.isEnabled()
}

func (p PreemptionPolicy) isEnabled() bool { return p != "" && p != Never }

// ResourceQuota is the limits of one resource in one flavor.
type ResourceQuota struct {
	Resource string
	quota.Limits
}

// FlavorQuota is one flavor of a resource group: the limits of every resource that the group covers, in its order.
type FlavorQuota struct {
	Flavor    string
	Resources []ResourceQuota
}

// ResourceGroup is a set of resources that always get the same flavor, and the flavors in the order to try them.
type ResourceGroup struct {
	Resources []string
	Flavors   []FlavorQuota
}

// AdmissionCheckRule is an admission check that a queue asks for.
type AdmissionCheckRule struct {
	Name string
	// OnFlavors limits the check to workloads that got one of these flavors; empty means all workloads.
	OnFlavors []string
}

// ClusterQueue is a ClusterQueue.
type ClusterQueue struct {
	Name string
	// Cohort is the parent in the quota tree; empty for a queue on its own. The Cohort object need not exist.
	Cohort          string
	Strategy        QueueingStrategy
	Fungibility     Fungibility
	Groups          []ResourceGroup
	AdmissionChecks []AdmissionCheckRule
	Preemption      Preemption
	// Weight divides the queue's share of borrowed quota under fair sharing.
	Weight quota.Weight
	// UsageBased orders the queue's waiting workloads by the recent usage of their LocalQueues before anything else
	// (contract: kueue-api.md 4.14). False unless admission fair sharing is configured.
	UsageBased bool
	// Inactive, when not nil, stops all new admissions; its reason and message go to the waiting workloads.
	Inactive *Block
}

// Cohort is a Cohort object: a node of the quota tree with quota of its own.
type Cohort struct {
	Name string
	// Parent is the cohort above; empty for a root.
	Parent string
	Groups []ResourceGroup
	// Weight divides the cohort's share of borrowed quota under fair sharing.
	Weight quota.Weight
}

// Flavor is a ResourceFlavor.
type Flavor struct {
	Name string
	// Labels are the node labels, sorted by key.
	Labels []Label
	Taints []Taint
	// Tolerations are added to those of every pod that gets the flavor.
	Tolerations []Toleration
}

// AdmissionChecksFor returns the sorted names of the admission checks that apply to a workload with this assignment (contract:
// kueue-api.md 4.13): those without flavors of their own, and those one of whose flavors was assigned.
func (q *ClusterQueue) AdmissionChecksFor(a Assignment) []string {
	assigned := a.FlavorNames()
	var names []string
	for _, rule := range q.AdmissionChecks {
		applies := len(rule.OnFlavors) == 0 || slices.ContainsFunc(rule.OnFlavors, func(flavor string) bool {
			return slices.Contains(assigned, flavor)
		})
		if applies {
			names = append(names, rule.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// UnconditionalAdmissionChecks returns the sorted names of the admission checks that apply whatever flavors are assigned (contract: messages.md
// 5.2): a workload has them while it waits, too.
func (q *ClusterQueue) UnconditionalAdmissionChecks() []string {
	var names []string
	for _, rule := range q.AdmissionChecks {
		spared := func(f FlavorQuota) bool { return len(rule.OnFlavors) > 0 && !slices.Contains(rule.OnFlavors, f.Flavor) }
		if !slices.ContainsFunc(q.Groups, func(g ResourceGroup) bool { return slices.ContainsFunc(g.Flavors, spared) }) {
			names = append(names, rule.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Grants lists what the groups grant, one entry per flavor and resource of its group, in the order of the groups. A flavor
// that has no quota for a resource of its group, which the API forbids, grants none and lets none be borrowed.
func Grants(groups []ResourceGroup) []quota.Grant {
	var grants []quota.Grant
	for _, group := range groups {
		for _, flavor := range group.Flavors {
			for i, resource := range group.Resources {
				name := quota.FlavorResource{Flavor: flavor.Flavor, Resource: resource}
				grants = append(grants, quota.Grant{FlavorResource: name, Limits: flavor.limits(resource, i)})
			}
		}
	}
	return grants
}

// limits returns the limits of a resource, which is expected at index i.
func (f FlavorQuota) limits(resource string, i int) quota.Limits {
	if i >= len(f.Resources) || f.Resources[i].Resource != resource {
		i = slices.IndexFunc(f.Resources, func(r ResourceQuota) bool { return r.Resource == resource })
	}
	if i < 0 {
		return quota.Limits{}
	}
	return f.Resources[i].Limits
}

// hasFlavor reports whether some group of the queue has the flavor.
func (q *ClusterQueue) hasFlavor(flavor string) bool {
	return slices.ContainsFunc(q.Groups, func(g ResourceGroup) bool {
		return slices.ContainsFunc(g.Flavors, func(f FlavorQuota) bool { return f.Flavor == flavor })
	})
}
