package v1beta1

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/conversion"

	"switchyard.dev/apis/kueue/v1beta2"
)

// ConvertTo writes the queue into a *v1beta2.ClusterQueue, sharing memory. The
// list of checks wins over the strategy; old names of policies become the new
// ones; the heads of the queue and the history of its use are dropped.
func (c *ClusterQueue) ConvertTo(hub conversion.Hub) error {
	to := hub.(*v1beta2.ClusterQueue)
	to.ObjectMeta = c.ObjectMeta
	from := &c.Spec
	to.Spec = v1beta2.ClusterQueueSpec{
		ResourceGroups:          each(from.ResourceGroups, groupToHub),
		CohortName:              from.Cohort,
		QueueingStrategy:        from.QueueingStrategy,
		NamespaceSelector:       from.NamespaceSelector,
		FlavorFungibility:       fungibilityToHub(from.FlavorFungibility),
		Preemption:              from.Preemption,
		AdmissionChecksStrategy: checksToHub(from.AdmissionChecks, from.AdmissionChecksStrategy),
		StopPolicy:              from.StopPolicy,
		FairSharing:             from.FairSharing,
	}
	if from.AdmissionScope != nil {
		to.Spec.AdmissionScope = &v1beta2.AdmissionScope{AdmissionMode: v1beta2.AdmissionMode(from.AdmissionScope.AdmissionMode)}
	}
	to.Status = v1beta2.ClusterQueueStatus{
		Conditions:         c.Status.Conditions,
		FlavorsReservation: c.Status.FlavorsReservation,
		FlavorsUsage:       c.Status.FlavorsUsage,
		PendingWorkloads:   c.Status.PendingWorkloads,
		ReservingWorkloads: c.Status.ReservingWorkloads,
		AdmittedWorkloads:  c.Status.AdmittedWorkloads,
		FairSharing:        shareToHub(c.Status.FairSharing),
	}
	if beyond := (beyondClusterQueue{}); takeBeyond(&to.ObjectMeta, &beyond) {
		to.Spec.ConcurrentAdmissionPolicy = beyond.ConcurrentAdmissionPolicy
	}
	return nil
}

// ConvertFrom reads the queue from a *v1beta2.ClusterQueue, sharing memory.
// Checks come back as a strategy, never as a list; the concurrent admission
// policy, for which this version has no word, stands in BeyondAnnotation.
func (c *ClusterQueue) ConvertFrom(hub conversion.Hub) error {
	from := hub.(*v1beta2.ClusterQueue)
	c.ObjectMeta = from.ObjectMeta
	c.Spec = ClusterQueueSpec{
		ResourceGroups:          each(from.Spec.ResourceGroups, groupFromHub),
		Cohort:                  from.Spec.CohortName,
		QueueingStrategy:        from.Spec.QueueingStrategy,
		NamespaceSelector:       from.Spec.NamespaceSelector,
		FlavorFungibility:       fungibilityFromHub(from.Spec.FlavorFungibility),
		Preemption:              from.Spec.Preemption,
		AdmissionChecksStrategy: checksFromHub(from.Spec.AdmissionChecksStrategy),
		StopPolicy:              from.Spec.StopPolicy,
		FairSharing:             from.Spec.FairSharing,
	}
	if scope := from.Spec.AdmissionScope; scope != nil {
		c.Spec.AdmissionScope = &AdmissionScope{AdmissionMode: string(scope.AdmissionMode)}
	}
	c.Status = ClusterQueueStatus{
		Conditions:         from.Status.Conditions,
		FlavorsReservation: from.Status.FlavorsReservation,
		FlavorsUsage:       from.Status.FlavorsUsage,
		PendingWorkloads:   from.Status.PendingWorkloads,
		ReservingWorkloads: from.Status.ReservingWorkloads,
		AdmittedWorkloads:  from.Status.AdmittedWorkloads,
		FairSharing:        shareFromHub(from.Status.FairSharing),
	}
	policy := from.Spec.ConcurrentAdmissionPolicy
	return keepBeyond(&c.ObjectMeta, beyondClusterQueue{policy}, policy == nil)
}

func groupToHub(g ResourceGroup) v1beta2.ResourceGroup   { return v1beta2.ResourceGroup(g) }
func groupFromHub(g v1beta2.ResourceGroup) ResourceGroup { return ResourceGroup(g) }
func policyToHub(p FlavorFungibilityPolicy) v1beta2.FlavorFungibilityPolicy {
	if p == Borrow || p == Preempt {
		return v1beta2.MayStopSearch
	}
	return v1beta2.FlavorFungibilityPolicy(p)
}

func fungibilityToHub(f *FlavorFungibility) *v1beta2.FlavorFungibility {
	if f == nil {
		return nil
	}
	return &v1beta2.FlavorFungibility{
		WhenCanBorrow: policyToHub(f.WhenCanBorrow), WhenCanPreempt: policyToHub(f.WhenCanPreempt), Preference: f.Preference,
	}
}

func fungibilityFromHub(f *v1beta2.FlavorFungibility) *FlavorFungibility {
	if f == nil {
		return nil
	}
	return &FlavorFungibility{
		WhenCanBorrow:  FlavorFungibilityPolicy(f.WhenCanBorrow),
		WhenCanPreempt: FlavorFungibilityPolicy(f.WhenCanPreempt),
		Preference:     f.Preference,
	}
}

// checksToHub returns nil for a strategy without checks, which the hub does not
// allow, and drops repetitions, which the hub's lists do not allow.
func checksToHub(list []AdmissionCheckReference, strategy *AdmissionChecksStrategy) *v1beta2.AdmissionChecksStrategy {
	var rules []AdmissionCheckStrategyRule
	for _, name := range list {
		rules = append(rules, AdmissionCheckStrategyRule{Name: name})
	}
	if len(rules) == 0 && strategy != nil {
		rules = strategy.AdmissionChecks
	}
	if len(rules) == 0 {
		return nil
	}
	to := &v1beta2.AdmissionChecksStrategy{}
	for _, rule := range rules {
		name := v1beta2.AdmissionCheckReference(rule.Name)
		if !slices.ContainsFunc(to.AdmissionChecks, func(r v1beta2.AdmissionCheckStrategyRule) bool { return r.Name == name }) {
			to.AdmissionChecks = append(to.AdmissionChecks, v1beta2.AdmissionCheckStrategyRule{Name: name, OnFlavors: unique(rule.OnFlavors)})
		}
	}
	return to
}

func checksFromHub(strategy *v1beta2.AdmissionChecksStrategy) *AdmissionChecksStrategy {
	if strategy == nil {
		return nil
	}
	return &AdmissionChecksStrategy{
		AdmissionChecks: each(strategy.AdmissionChecks, func(r v1beta2.AdmissionCheckStrategyRule) AdmissionCheckStrategyRule {
			return AdmissionCheckStrategyRule{Name: AdmissionCheckReference(r.Name), OnFlavors: r.OnFlavors}
		}),
	}
}

// unique keeps the first of equal items, in order; nil stays nil.
func unique[T comparable](items []T) []T {
	var kept []T
	for _, item := range items {
		if !slices.Contains(kept, item) {
			kept = append(kept, item)
		}
	}
	return kept
}
