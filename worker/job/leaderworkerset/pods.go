package leaderworkerset

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	lwsv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"

	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/serving"
)

// podFacts is what decides about one pod that waits.
type podFacts struct {
	pod *corev1.Pod
	// abandoned tells that the garbage collector is going to delete the pod; replaced, that a rollout is.
	abandoned, replaced bool
}

// podChange is a pod as it is and as it should be.
type podChange struct {
	before, after *corev1.Pod
}

// stepPods returns what to change of the pods that wait. What is going to be deleted need not wait: that would hold up who deletes it.
// set is nil if there is no set whose groups the pods could join.
func stepPods(pods []podFacts, set *lwsv1.LeaderWorkerSet, gates job.Gates) []podChange {
	var changes []podChange
	for _, f := range pods {
		if f.abandoned || f.replaced {
			changes = append(changes, podChange{f.pod, serving.Ungate(f.pod)})
			continue
		}
		if set == nil || groupSize(set) < 1 {
			continue
		}
		group, known := groupIndex(f.pod)
		if !known {
			continue // its label is to come
		}
		m := serving.Membership{
			Group: serving.WorkloadName(gvk(), set, groupName(set, group), gates.ShortWorkloadNames), Total: groupSize(set), Role: podRole(set, f.pod),
		}
		if joined, changed := m.Join(f.pod, gates); changed {
			changes = append(changes, podChange{f.pod, joined})
		}
	}
	return changes
}

// groupIndex is the group that a pod is in, as far as it says.
func groupIndex(pod *corev1.Pod) (int, bool) {
	n, err := strconv.ParseUint(pod.Labels[lwsv1.GroupIndexLabelKey], 10, 31)
	return int(n), err == nil
}

// podRole is the pod set of a pod. Only workers name their leader.
func podRole(set *lwsv1.LeaderWorkerSet, pod *corev1.Pod) string {
	_, worker := pod.Annotations[lwsv1.LeaderPodNameAnnotationKey]
	switch {
	case !hasLeaderTemplate(set):
		return mainSet
	case worker:
		return workerSet
	default:
		return leaderSet
	}
}
