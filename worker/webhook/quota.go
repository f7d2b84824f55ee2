package webhook

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// Bounds on a ClusterQueue as a whole; those on single lists are in the schema.
const (
	maxFlavors           = 256
	maxCoveredResources  = 256
	maxCellsOfGroup      = 512
	minPositiveWeight    = "1n"
	maxConcurrentFlavors = 16
)

// quotaRules is how the quota of a ClusterQueue differs from that of a Cohort.
type quotaRules struct {
	// parentPath is what there is to lend to and borrow from, for messages.
	parentPath string
	// lends says that there is one.
	lends bool
	// lendsAtMostNominal bounds what is lent by what is owned.
	lendsAtMostNominal bool
}

// validateGroups checks the quotas of a queue or cohort.
func (r quotaRules) validateGroups(groups []kueue.ResourceGroup, path *field.Path) field.ErrorList {
	var all field.ErrorList
	var resources []corev1.ResourceName
	var flavors []kueue.ResourceFlavorReference
	for i, group := range groups {
		at := path.Index(i)
		for j, name := range group.CoveredResources {
			covered := at.Child("coveredResources").Index(j)
			all = append(all, validateResourceName(name, covered)...)
			if slices.Contains(resources, name) {
				all = append(all, field.Duplicate(covered, name))
			}
			resources = append(resources, name)
		}
		for j, flavor := range group.Flavors {
			quotas := at.Child("flavors").Index(j)
			if slices.Contains(flavors, flavor.Name) {
				all = append(all, field.Duplicate(quotas.Child("name"), flavor.Name))
			}
			flavors = append(flavors, flavor.Name)
			all = append(all, r.validateFlavor(group.CoveredResources, flavor.Resources, quotas.Child("resources"))...)
		}
	}
	return all
}

// validateFlavor checks that quotas are those of the covered resources, in their order.
func (r quotaRules) validateFlavor(covered []corev1.ResourceName, quotas []kueue.ResourceQuota, path *field.Path) field.ErrorList {
	var all field.ErrorList
	for i, quota := range quotas {
		at := path.Index(i)
		if i < len(covered) && quota.Name != covered[i] {
			all = append(all, field.Invalid(at.Child("name"), quota.Name, "must match the name in coveredResources"))
		}
		all = append(all, r.validateQuota(quota, at)...)
	}
	return all
}

// validateQuota validates the quota of one resource and its limits.
func (r quotaRules) validateQuota(quota kueue.ResourceQuota, path *field.Path) field.ErrorList {
	all := validateNotNegative(&quota.NominalQuota, path.Child("nominalQuota"))
	all = append(all, r.validateLimit(quota.BorrowingLimit, path.Child("borrowingLimit"))...)
	lending := path.Child("lendingLimit")
	all = append(all, r.validateLimit(quota.LendingLimit, lending)...)
	if r.lendsAtMostNominal && quota.LendingLimit != nil && quota.LendingLimit.Cmp(quota.NominalQuota) > 0 {
		all = append(all, field.Invalid(lending, quota.LendingLimit.String(), "must be less than or equal to the nominalQuota"))
	}
	return all
}

// validateLimit validates a borrowing or lending limit, which needs a cohort; nil is always fine.
func (r quotaRules) validateLimit(limit *resource.Quantity, path *field.Path) field.ErrorList {
	if limit == nil {
		return nil
	}
	all := validateNotNegative(limit, path)
	if !r.lends {
		all = append(all, field.Invalid(path, limit.String(), "must be nil when "+r.parentPath+" is empty"))
	}
	return all
}

func validateNotNegative(quantity *resource.Quantity, path *field.Path) field.ErrorList {
	if quantity.Sign() < 0 {
		return field.ErrorList{field.Invalid(path, quantity.String(), "must be greater than or equal to 0")}
	}
	return nil
}

// validateResourceName checks that a name can be that of a resource, which is spelled like a label key.
func validateResourceName(name corev1.ResourceName, path *field.Path) field.ErrorList {
	var all field.ErrorList
	for _, message := range validation.IsQualifiedName(string(name)) {
		all = append(all, field.Invalid(path, name, message))
	}
	return all
}

// validateFairSharing refuses weights that are negative or too small to divide by. The text names another bound than the one that holds,
// as it does in the public API.
func validateFairSharing(settings *kueue.FairSharing, path *field.Path) field.ErrorList {
	if settings == nil || settings.Weight == nil {
		return nil
	}
	all := validateNotNegative(settings.Weight, path)
	if settings.Weight.Sign() > 0 && settings.Weight.Cmp(resource.MustParse(minPositiveWeight)) <= 0 {
		all = append(all, field.Invalid(path, settings.Weight.String(), "When not 0, weight must be > 10e-9"))
	}
	return all
}
