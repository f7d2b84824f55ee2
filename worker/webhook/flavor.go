package webhook

import (
	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// ResourceFlavor says what is wrong with a ResourceFlavor (contract: kueue-api.md 1.15).
func ResourceFlavor(f *kueue.ResourceFlavor) field.ErrorList {
	path := field.NewPath("spec")
	all := metav1validation.ValidateLabels(f.Spec.NodeLabels, path.Child("nodeLabels"))
	return append(all, taints(f.Spec.NodeTaints, path.Child("nodeTaints"))...)
}

// taints must be unique by key and effect, as on a node.
func taints(taints []corev1.Taint, path *field.Path) field.ErrorList {
	var all field.ErrorList
	seen := map[corev1.Taint]bool{}
	for i, taint := range taints {
		identity := corev1.Taint{Key: taint.Key, Effect: taint.Effect}
		if seen[identity] {
			all = append(all, field.Duplicate(path.Index(i), taint.Key+":"+string(taint.Effect)))
		}
		seen[identity] = true
	}
	return all
}
