package webhook

import (
	"fmt"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// ClusterQueue says what is wrong with a new ClusterQueue (contract: kueue-api.md 1.15).
func (Gates) ClusterQueue(q *kueue.ClusterQueue) field.ErrorList {
	return append(clusterQueue(q), onFlavors(q, nil)...)
}

// ClusterQueueUpdate says what is wrong with an update. Names of flavors that the
// queue does not have are tolerated where they were before, unless the gate is on.
func (g Gates) ClusterQueueUpdate(old, q *kueue.ClusterQueue) field.ErrorList {
	all := append(clusterQueue(q), concurrentUpdate(old, q)...)
	if g.StrictOnFlavors {
		return append(all, onFlavors(q, nil)...)
	}
	return append(all, onFlavors(q, old)...)
}

func clusterQueue(q *kueue.ClusterQueue) field.ErrorList {
	path := field.NewPath("spec")
	groups := path.Child("resourceGroups")
	rules := quotaRules{lends: q.Spec.CohortName != "", lendsAtMostNominal: true}
	all := rules.groups(q.Spec.ResourceGroups, groups)
	all = append(all, sizes(q.Spec.ResourceGroups, groups)...)
	if selector := q.Spec.NamespaceSelector; selector != nil {
		all = append(all, metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, path.Child("namespaceSelector"))...)
	}
	all = append(all, fairSharing(q.Spec.FairSharing, path.Child("fairSharing"))...)
	return append(all, concurrent(&q.Spec, path.Child("concurrentAdmissionPolicy"))...)
}

// sizes bounds the queue as a whole.
func sizes(groups []kueue.ResourceGroup, path *field.Path) field.ErrorList {
	var all field.ErrorList
	flavors, resources := 0, 0
	for i, group := range groups {
		flavors += len(group.Flavors)
		resources += len(group.CoveredResources)
		if cells := len(group.Flavors) * len(group.CoveredResources); cells > maxCellsOfGroup {
			all = append(all, field.Invalid(path.Index(i), cells,
				fmt.Sprintf("flavors times coveredResources must be at most %d", maxCellsOfGroup)))
		}
	}
	if flavors > maxFlavors {
		all = append(all, field.TooMany(path, flavors, maxFlavors))
	}
	if resources > maxCoveredResources {
		all = append(all, field.TooMany(path, resources, maxCoveredResources))
	}
	return all
}

func flavorsOf(q *kueue.ClusterQueueSpec) []kueue.ResourceFlavorReference {
	var names []kueue.ResourceFlavorReference
	for _, group := range q.ResourceGroups {
		for _, flavor := range group.Flavors {
			names = append(names, flavor.Name)
		}
	}
	return names
}

// onFlavors refuses checks on flavors that the queue does not have, but for those
// that the old queue, if there is one, named for the same check.
func onFlavors(q, old *kueue.ClusterQueue) field.ErrorList {
	if q.Spec.AdmissionChecksStrategy == nil {
		return nil
	}
	var all field.ErrorList
	known := flavorsOf(&q.Spec)
	path := field.NewPath("spec", "admissionChecksStrategy", "admissionChecks")
	for i, rule := range q.Spec.AdmissionChecksStrategy.AdmissionChecks {
		tolerated := onFlavorsBefore(old, rule.Name)
		for j, flavor := range rule.OnFlavors {
			if !slices.Contains(known, flavor) && !slices.Contains(tolerated, flavor) {
				all = append(all, field.NotFound(path.Index(i).Child("onFlavors").Index(j), flavor))
			}
		}
	}
	return all
}

func onFlavorsBefore(old *kueue.ClusterQueue, check kueue.AdmissionCheckReference) []kueue.ResourceFlavorReference {
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

// concurrent checks a policy to race a workload in several flavors.
func concurrent(spec *kueue.ClusterQueueSpec, path *field.Path) field.ErrorList {
	policy := spec.ConcurrentAdmissionPolicy
	if policy == nil {
		return nil
	}
	var all field.ErrorList
	flavors := flavorsOf(spec)
	if len(spec.ResourceGroups) != 1 {
		all = append(all, field.Invalid(path, len(spec.ResourceGroups), "needs exactly one resource group"))
	}
	if len(flavors) > maxConcurrentFlavors {
		all = append(all, field.Invalid(path, len(flavors), fmt.Sprintf("needs at most %d flavors", maxConcurrentFlavors)))
	}
	if spec.QueueingStrategy == kueue.StrictFIFO {
		all = append(all, field.Forbidden(path, "not with queueingStrategy StrictFIFO"))
	}
	constraints := policy.Migration.Constraints
	if constraints == nil {
		return all
	}
	at := path.Child("migration", "constraints")
	if policy.Migration.Mode != kueue.TryPreferredFlavors {
		all = append(all, field.Forbidden(at, "only with mode TryPreferredFlavors"))
	}
	if last := constraints.LastAcceptableFlavorName; last != "" && !slices.Contains(flavors, last) {
		all = append(all, field.NotFound(at.Child("lastAcceptableFlavorName"), last))
	}
	return all
}

// concurrentUpdate keeps the policy as it was.
func concurrentUpdate(old, q *kueue.ClusterQueue) field.ErrorList {
	if apiequality.Semantic.DeepEqual(old.Spec.ConcurrentAdmissionPolicy, q.Spec.ConcurrentAdmissionPolicy) {
		return nil
	}
	path := field.NewPath("spec", "concurrentAdmissionPolicy")
	return field.ErrorList{field.Forbidden(path, "field is immutable")}
}
