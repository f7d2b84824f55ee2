package job

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// SamePodSets tells whether two lists ask for the same pods in the same order: names, counts, and what of the templates
// decides about resources and places. Labels and annotations do not: a cluster may add its own.
func SamePodSets(a, b []kueue.PodSet) bool {
	return slices.EqualFunc(a, b, func(a, b kueue.PodSet) bool {
		return a.Name == b.Name && a.Count == b.Count && equality.Semantic.DeepEqual(a.MinCount, b.MinCount) &&
			sameContainers(&a.Template.Spec, &b.Template.Spec) && samePlacement(&a.Template.Spec, &b.Template.Spec)
	})
}

// sameRequests is SamePodSets for a job that runs or is being stopped: without what an admission changes, which are node selectors
// and tolerations. A count is the Workload's, or the smaller one that was admitted.
func sameRequests(job []kueue.PodSet, wl *kueue.Workload) bool {
	return slices.EqualFunc(job, wl.Spec.PodSets, func(a, b kueue.PodSet) bool {
		return a.Name == b.Name && (a.Count == b.Count || a.Count == admittedCount(wl, &b)) &&
			sameContainers(&a.Template.Spec, &b.Template.Spec)
	})
}

// sameContainers reports whether two pod templates ask for the same resources. What does not count for quota may differ.
func sameContainers(a, b *corev1.PodSpec) bool {
	same := equality.Semantic.DeepEqual
	return same(a.Containers, b.Containers) && same(a.InitContainers, b.InitContainers) &&
		same(a.Resources, b.Resources) && same(a.ResourceClaims, b.ResourceClaims) && same(a.Overhead, b.Overhead) &&
		same(a.RuntimeClassName, b.RuntimeClassName) && a.PriorityClassName == b.PriorityClassName
}

// samePlacement reports whether two pod templates may run on the same nodes.
func samePlacement(a, b *corev1.PodSpec) bool {
	same := equality.Semantic.DeepEqual
	return same(a.NodeSelector, b.NodeSelector) && same(a.Tolerations, b.Tolerations) && same(a.Affinity, b.Affinity)
}

// withPlacements returns the pod sets as they look in a job that was started with the placements. Partly admitted pod sets have
// the smaller count, and no floor once there is nothing between the two.
func withPlacements(podSets []kueue.PodSet, placements []Placement) ([]kueue.PodSet, error) {
	result := make([]kueue.PodSet, len(podSets))
	for i := range podSets {
		ps := podSets[i].DeepCopy()
		if err := PlaceTemplate(&ps.Template, placements[i]); err != nil {
			return nil, err
		}
		ps.Count = placements[i].Count
		if ps.MinCount != nil && *ps.MinCount >= ps.Count {
			ps.MinCount = nil
		}
		result[i] = *ps
	}
	return result, nil
}
