package webhook

import (
	"fmt"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// ValidateClusterQueue says what is wrong with a new ClusterQueue (contract: messages.md 4.2).
func (g Gates) ValidateClusterQueue(q *kueue.ClusterQueue) field.ErrorList {
	return append(g.validateClusterQueue(q), usesFlavors(q, nil)...)
}

// ValidateClusterQueueUpdate says what is wrong with an update. Names of flavors that the
// queue does not have are tolerated where they were before, unless the gate is on.
func (g Gates) ValidateClusterQueueUpdate(old, q *kueue.ClusterQueue) field.ErrorList {
	tolerated := old
	if g.StrictOnFlavors {
		tolerated = nil
	}
	return slices.Concat(g.validateClusterQueue(q), usesFlavors(q, tolerated), validateConcurrentAdmissionUpdate(old, q))
}

// validateClusterQueue leaves out what the schema refuses before: preemption and flavorFungibility.
func (g Gates) validateClusterQueue(q *kueue.ClusterQueue) field.ErrorList {
	path := field.NewPath("spec")
	groups := path.Child("resourceGroups")
	rules := quotaRules{parentPath: "cohort", lends: q.Spec.CohortName != "", lendsAtMostNominal: true}
	all := rules.validateGroups(q.Spec.ResourceGroups, groups)
	if selector := q.Spec.NamespaceSelector; selector != nil {
		all = append(all, metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, path.Child("namespaceSelector"))...)
	}
	all = append(all, validateFairSharing(q.Spec.FairSharing, path.Child("fairSharing"))...)
	all = append(all, validateSizes(q.Spec.ResourceGroups, groups)...)
	if g.Variants {
		all = append(all, validateConcurrentAdmission(&q.Spec, path)...)
	}
	return all
}

// validateSizes bounds the queue as a whole.
func validateSizes(groups []kueue.ResourceGroup, path *field.Path) field.ErrorList {
	var all field.ErrorList
	flavors, resources := 0, 0
	for _, group := range groups {
		flavors += len(group.Flavors)
		resources += len(group.CoveredResources)
	}
	if flavors > maxFlavors {
		all = append(all, field.Invalid(path, flavors,
			fmt.Sprintf("total number of flavors across all resourceGroups must be ≤ %d, got %d", maxFlavors, flavors)))
	}
	if resources > maxCoveredResources {
		all = append(all, field.Invalid(path, resources,
			fmt.Sprintf("total number of covered resources across all resourceGroups must be ≤ %d, got %d", maxCoveredResources, resources)))
	}
	for i, group := range groups {
		if cells := len(group.Flavors) * len(group.CoveredResources); cells > maxCellsOfGroup {
			all = append(all, field.Invalid(path.Index(i), cells,
				fmt.Sprintf("number of flavor-resource combinations in a resourceGroup must be ≤ %d, got %d", maxCellsOfGroup, cells)))
		}
	}
	return all
}

func listFlavors(q *kueue.ClusterQueueSpec) []kueue.ResourceFlavorReference {
	var names []kueue.ResourceFlavorReference
	for _, group := range q.ResourceGroups {
		for _, flavor := range group.Flavors {
			names = append(names, flavor.Name)
		}
	}
	return names
}

// usesFlavors refuses checks on flavors that the queue does not have, but for those
// that the old queue, if there is one, named for the same check.
func usesFlavors(q, old *kueue.ClusterQueue) field.ErrorList {
	if q.Spec.AdmissionChecksStrategy == nil {
		return nil
	}
	var all field.ErrorList
	known := listFlavors(&q.Spec)
	slices.Sort(known)
	path := field.NewPath("spec", "admissionChecksStrategy", "admissionChecks")
	for i, rule := range q.Spec.AdmissionChecksStrategy.AdmissionChecks {
		tolerated := usesFlavorsBefore(old, rule.Name)
		for j, flavor := range rule.OnFlavors {
			if !slices.Contains(known, flavor) && !slices.Contains(tolerated, flavor) {
				all = append(all, field.NotSupported(path.Index(i).Child("onFlavors").Index(j), flavor, known))
			}
		}
	}
	return all
}

// usesFlavorsBefore returns the flavors that a check was for before the update; nil for none.
func usesFlavorsBefore(old *kueue.ClusterQueue, check kueue.AdmissionCheckReference) []kueue.ResourceFlavorReference {
	if old == nil || old.Spec.AdmissionChecksStrategy == nil {
		return nil
	}
	for _, rule := range old.Spec.AdmissionChecksStrategy.AdmissionChecks {
		if rule.Name == check {
			return rule.OnFlavors
		}
	}
	return nil
}

// validateConcurrentAdmission checks a policy to race a workload in several flavors.
func validateConcurrentAdmission(spec *kueue.ClusterQueueSpec, path *field.Path) field.ErrorList {
	policy := spec.ConcurrentAdmissionPolicy
	if policy == nil {
		return nil
	}
	const defined = "when ConcurrentAdmissionPolicy is defined"
	var all field.ErrorList
	groups, flavors := path.Child("resourceGroups"), listFlavors(spec)
	if n := len(spec.ResourceGroups); n != 1 {
		all = append(all, field.Invalid(groups, n, "must have exactly one ResourceGroup "+defined))
	} else if n := len(flavors); n > maxConcurrentFlavors {
		all = append(all, field.Invalid(groups.Index(0).Child("flavors"), n,
			fmt.Sprintf("cannot have more than %d resource flavors in the ResourceGroup %s", maxConcurrentFlavors, defined)))
	}
	all = append(all, validateConstraints(&policy.Migration, flavors, path.Child("concurrentAdmissionPolicy", "migration", "constraints"))...)
	if spec.QueueingStrategy == kueue.StrictFIFO {
		all = append(all, field.Invalid(path.Child("queueingStrategy"), spec.QueueingStrategy, "StrictFIFO queueing strategy cannot be used "+defined))
	}
	return all
}

// validateConstraints validates the constraints of a migration against its mode and the flavors of the ClusterQueue.
func validateConstraints(migration *kueue.ConcurrentAdmissionMigration, flavors []kueue.ResourceFlavorReference, path *field.Path) field.ErrorList {
	if migration.Constraints == nil {
		return nil
	}
	var all field.ErrorList
	if migration.Mode != kueue.TryPreferredFlavors {
		all = append(all, field.Forbidden(path, fmt.Sprintf("may only be set when migration.mode is %q (got %q)", kueue.TryPreferredFlavors, migration.Mode)))
	}
	if last := migration.Constraints.LastAcceptableFlavorName; last != "" && !slices.Contains(flavors, last) {
		all = append(all, field.Invalid(path.Child("lastAcceptableFlavorName"), last,
			fmt.Sprintf("must be one of the flavors defined in the ClusterQueue: %v", flavors)))
	}
	return all
}

// validateConcurrentAdmissionUpdate keeps the policy as it was.
func validateConcurrentAdmissionUpdate(old, q *kueue.ClusterQueue) field.ErrorList {
	if apiequality.Semantic.DeepEqual(old.Spec.ConcurrentAdmissionPolicy, q.Spec.ConcurrentAdmissionPolicy) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "concurrentAdmissionPolicy"), q.Spec.ConcurrentAdmissionPolicy, immutable)}
}
