package serving

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// Membership is what a pod is told about the group that it is admitted with. The pod reconciler looks after it from then on.
type Membership struct {
	// Group is the name of the group, which is that of its Workload.
	Group string
	// Total is how many pods the group has.
	Total int32
	// Role is the name of the pod's pod set.
	Role string
	// Labels and Annotations are what the kind adds; empty values are left out.
	Labels, Annotations map[string]string
}

// Join returns the pod with its membership, and whether it lacked any of it. The pod itself stays as it is.
func (m Membership) Join(pod *corev1.Pod, gates job.Gates) (*corev1.Pod, bool) {
	labels := map[string]string{kueue.ManagedLabel: kueue.ManagedLabelValue}
	annotations := map[string]string{
		kueue.PodGroupTotalCountAnnotation: strconv.Itoa(int(m.Total)),
		kueue.RoleHashAnnotation:           m.Role,
	}
	names := annotations
	if !gates.WorkloadIdentifierAnnotations && len(m.Group) <= validation.LabelValueMaxLength {
		names = labels
	}
	names[kueue.PodGroupNameKey], names[kueue.PrebuiltWorkloadNameKey] = m.Group, m.Group
	joined := *pod // its maps are replaced, never changed
	joined.Labels = withEntries(withEntries(pod.Labels, labels), m.Labels)
	joined.Annotations = withEntries(withEntries(pod.Annotations, annotations), m.Annotations)
	if maps.Equal(joined.Labels, pod.Labels) && maps.Equal(joined.Annotations, pod.Annotations) {
		return pod, false
	}
	return joined.DeepCopy(), true
}

// withEntries is a copy of the map with entries added or replaced, but for those without a value.
func withEntries(m, entries map[string]string) map[string]string {
	result := make(map[string]string, len(m)+len(entries))
	maps.Copy(result, m)
	for key, value := range entries {
		if value != "" {
			result[key] = value
		}
	}
	return result
}

// BelongsTo tells whether the template of a pod, or a pod, was marked for the framework of that name.
func BelongsTo(obj metav1.Object, framework string) bool {
	return obj.GetAnnotations()[kueue.PodSuspendingParentAnnotation] == framework
}

// IsGated tells whether the pod waits to be admitted.
func IsGated(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == kueue.AdmissionSchedulingGate })
}

// IsWaiting tells whether the pod waits to be admitted and is wanted: it is neither going away nor at its end.
func IsWaiting(pod *corev1.Pod) bool {
	return IsGated(pod) && pod.DeletionTimestamp.IsZero() && !hasEnded(pod)
}

// Uses tells whether the pod uses quota. With fast a pod that is being deleted uses none (gate FastQuotaReleaseInPodIntegration).
func Uses(pod *corev1.Pod, fast bool) bool { return !IsGated(pod) && MayUse(pod, fast) }

// MayUse tells whether the pod uses quota, or waits to.
func MayUse(pod *corev1.Pod, fast bool) bool {
	return !hasEnded(pod) && (!fast || pod.DeletionTimestamp.IsZero())
}

func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Ungate returns a copy of the pod that nothing of ours keeps from being scheduled.
func Ungate(pod *corev1.Pod) *corev1.Pod {
	free := pod.DeepCopy()
	free.Spec.SchedulingGates = slices.DeleteFunc(free.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool {
		return g.Name == kueue.AdmissionSchedulingGate || g.Name == kueue.TopologySchedulingGate
	})
	return free
}
