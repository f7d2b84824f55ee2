package admission

import (
	"slices"

	"switchyard.dev/worker/admission/quota"
)

// Strategy says whether a head that cannot be admitted blocks its queue (contract: kueue-api.md 4.2).
type Strategy string

// The queueing strategies. The empty strategy means BestEffortFIFO.
const (
	StrictFIFO     Strategy = "StrictFIFO"
	BestEffortFIFO Strategy = "BestEffortFIFO"
)

// Search says whether to keep looking for a better flavor once one would do at a price.
type Search string

// What to do on finding a flavor that needs borrowing or preemption.
const (
	MayStopSearch Search = "MayStopSearch"
	TryNextFlavor Search = "TryNextFlavor"
)

// Preference ranks flavors when every one has a price. The empty preference means BorrowingOverPreemption.
type Preference string

// The flavor preferences (contract: kueue-api.md 4.6, 10.2).
const (
	// BorrowingOverPreemption compares preemption first, then the borrowing height.
	BorrowingOverPreemption Preference = "BorrowingOverPreemption"
	// PreemptionOverBorrowing compares the borrowing height first, then preemption.
	PreemptionOverBorrowing Preference = "PreemptionOverBorrowing"
)

// Fungibility is a queue's flavorFungibility. Empty fields mean the API defaults: MayStopSearch when it can borrow,
// TryNextFlavor when it can preempt.
type Fungibility struct {
	WhenCanBorrow  Search
	WhenCanPreempt Search
	Preference     Preference
}

// Policy says which workloads a preemptor may evict (contract: kueue-api.md 4.7). The empty policy means Never.
type Policy string

// The preemption policies.
const (
	Never         Policy = "Never"
	LowerPriority Policy = "LowerPriority"
	// LowerOrNewerEqualPriority also allows workloads of the same priority with a later queue-order timestamp.
	LowerOrNewerEqualPriority Policy = "LowerOrNewerEqualPriority"
	AnyPriority               Policy = "Any"
)

// Preemption is whom the workloads of a queue may evict.
type Preemption struct {
	// WithinQueue is about the queue's own workloads; Any is not allowed.
	WithinQueue Policy
	// ReclaimWithinCohort is about workloads of other queues that borrow, as long as the preemptor does not.
	ReclaimWithinCohort Policy
	// BorrowWithinCohort is the same for a preemptor that borrows: Never or LowerPriority. Fair sharing ignores it.
	BorrowWithinCohort Policy
	// BorrowThreshold bounds the priority of those evicted by BorrowWithinCohort, itself included; nil for no bound.
	BorrowThreshold *int32
}

// some reports whether anybody may be evicted at all.
func (p Preemption) some() bool {
	return p.WithinQueue.some() || p.ReclaimWithinCohort.some() || p.BorrowWithinCohort.some()
}

func (p Policy) some() bool { return p != "" && p != Never }

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

// CheckRule is an admission check that a queue asks for.
type CheckRule struct {
	Name string
	// OnFlavors limits the check to workloads that got one of these flavors; empty means all workloads.
	OnFlavors []string
}

// Queue is a ClusterQueue.
type Queue struct {
	Name string
	// Cohort is the parent in the quota tree; empty for a queue on its own. The Cohort object need not exist.
	Cohort      string
	Strategy    Strategy
	Fungibility Fungibility
	Groups      []ResourceGroup
	Checks      []CheckRule
	Preemption  Preemption
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

// ChecksFor returns the sorted names of the admission checks that apply to a workload with this assignment (contract:
// kueue-api.md 4.13): those without flavors of their own, and those one of whose flavors was assigned.
func (q *Queue) ChecksFor(a Assignment) []string {
	assigned := a.FlavorNames()
	var names []string
	for _, rule := range q.Checks {
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

// ChecksForAll returns the sorted names of the admission checks that apply whatever flavors are assigned (contract: messages.md
// 5.2): a workload has them while it waits, too.
func (q *Queue) ChecksForAll() []string {
	var names []string
	for _, rule := range q.Checks {
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

// offers reports whether some group of the queue has the flavor.
func (q *Queue) offers(flavor string) bool {
	return slices.ContainsFunc(q.Groups, func(g ResourceGroup) bool {
		return slices.ContainsFunc(g.Flavors, func(f FlavorQuota) bool { return f.Flavor == flavor })
	})
}
