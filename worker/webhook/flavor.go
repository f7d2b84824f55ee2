package webhook

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// ValidateResourceFlavor says what is wrong with a ValidateResourceFlavor (contract: messages.md 4.3).
func ValidateResourceFlavor(f *kueue.ResourceFlavor) field.ErrorList {
	path := field.NewPath("spec")
	all := metav1validation.ValidateLabels(f.Spec.NodeLabels, path.Child("nodeLabels"))
	all = append(all, validateTaints(f.Spec.NodeTaints, path.Child("nodeTaints"))...)
	for i := range f.Spec.Tolerations {
		if key := f.Spec.Tolerations[i].Key; key != "" {
			all = append(all, metav1validation.ValidateLabelName(key, path.Child("tolerations").Index(i).Child("key"))...)
		}
	}
	return all
}

// validateTaints must be such as a node can have, and unique by key and effect, as on a node.
func validateTaints(taints []corev1.Taint, path *field.Path) field.ErrorList {
	var all field.ErrorList
	seen := map[corev1.Taint]bool{}
	for i, taint := range taints {
		at := path.Index(i)
		all = append(all, metav1validation.ValidateLabelName(taint.Key, at.Child("key"))...)
		if problems := validation.IsValidLabelValue(taint.Value); len(problems) > 0 {
			all = append(all, field.Invalid(at.Child("value"), taint.Value, strings.Join(problems, ";")))
		}
		identity := corev1.Taint{Key: taint.Key, Effect: taint.Effect}
		if seen[identity] {
			twice := field.Duplicate(at, taint)
			twice.Detail = "taints must be unique by key and effect pair"
			all = append(all, twice)
		}
		seen[identity] = true
	}
	return all
}
