package webhook

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// ValidateCohort says what is wrong with a Cohort (contract: messages.md 4.3). Cycles
// are not looked for: an order in which to create a tree must not matter, and the
// queues of a cyclic one become inactive. Unlike a ClusterQueue, a Cohort may
// lend more than it owns, because its members lend through it.
func ValidateCohort(c *kueue.Cohort) field.ErrorList {
	path := field.NewPath("spec")
	rules := quotaRules{parentPath: "parent", lends: c.Spec.ParentName != ""}
	all := rules.validateGroups(c.Spec.ResourceGroups, path.Child("resourceGroups"))
	return append(all, validateFairSharing(c.Spec.FairSharing, path.Child("fairSharing"))...)
}
