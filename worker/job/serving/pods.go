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

// PodChange is what to do to one pod, in two writes if both: it joins while it waits, and then need not wait.
type PodChange struct {
	Pod *corev1.Pod
	// Joined is the pod with its membership, nil if it lacks nothing; Ungate tells that nothing of ours is to keep it from being scheduled.
	Joined *corev1.Pod
	Ungate bool
}

// Change returns what to do to a pod of the group, nil if nothing. A pod that waits joins, and if it is replaced, waits no more: who stops
// pods without quota knows it then. One that runs has joined or never will; it follows the group's priority class, by which the
// reconciler of pods goes.
func (m Membership) Change(pod *corev1.Pod, replaced bool, gates job.Gates) *PodChange {
	c := PodChange{Pod: pod, Ungate: replaced && IsWaiting(pod)}
	switch {
	case IsWaiting(pod) && m.Total > 0:
		c.Joined = m.join(pod, gates)
	case Uses(pod, true) && gates.PrebuiltWorkloadName(pod) == m.Group:
		c.Joined = m.reclassify(pod)
	}
	if c.Joined == nil && !c.Ungate {
		return nil
	}
	return &c
}

// reclassify returns the pod with the priority class of the group, nil if it has that, or one of the two is without.
func (m Membership) reclassify(pod *corev1.Pod) *corev1.Pod {
	was, is := pod.Labels[kueue.PriorityClassLabel], m.Labels[kueue.PriorityClassLabel]
	if was == "" || is == "" || was == is {
		return nil
	}
	changed := pod.DeepCopy()
	changed.Labels[kueue.PriorityClassLabel] = is
	return changed
}

// join returns a copy of the pod with its membership, nil if it lacks nothing.
func (m Membership) join(pod *corev1.Pod, gates job.Gates) *corev1.Pod {
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
		return nil
	}
	return joined.DeepCopy()
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
