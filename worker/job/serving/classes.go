package serving

import (
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// ClassKeys are the keys of an object, with pod templates, in an index by the priority classes that it names.
func ClassKeys(obj client.Object, templates ...*corev1.PodTemplateSpec) []string {
	var keys []string
	if name := obj.GetLabels()[kueue.PriorityClassLabel]; name != "" {
		keys = append(keys, kueue.WorkloadPriorityClassKind+"/"+name)
	}
	for _, t := range templates {
		if name := t.Spec.PriorityClassName; name != "" {
			keys = append(keys, kueue.PodPriorityClassKind+"/"+name)
		}
	}
	return keys
}

// ClassKey is the key of a priority class in that index.
func ClassKey(class client.Object) string {
	if _, pod := class.(*schedulingv1.PriorityClass); pod {
		return kueue.PodPriorityClassKind + "/" + class.GetName()
	}
	return kueue.WorkloadPriorityClassKind + "/" + class.GetName()
}
