package serving

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// MarkTemplate makes pods of the template wait for the framework of that name to admit them.
func MarkTemplate(t *corev1.PodTemplateSpec, framework string) {
	metav1.SetMetaDataAnnotation(&t.ObjectMeta, kueue.PodSuspendingParentAnnotation, framework)
}

// CopyQueue puts the queue and the priority class of an object on its pods, as far as it names them.
func CopyQueue(t *corev1.PodTemplateSpec, obj client.Object) {
	for _, key := range []string{kueue.QueueNameLabel, kueue.PriorityClassLabel} {
		if value := obj.GetLabels()[key]; value != "" {
			metav1.SetMetaDataLabel(&t.ObjectMeta, key, value)
		}
	}
}
