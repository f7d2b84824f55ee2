package leaderworkerset

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	lwsv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/serving"
)

// podFacts is what decides about one pod.
type podFacts struct {
	pod *corev1.Pod
	// abandoned tells that the garbage collector is going to delete the pod; replaced, that a rollout is.
	abandoned, replaced bool
}

// stepPods returns what to do to pods. What is going to be deleted need not wait: that would hold up who deletes it. set is nil if there is
// no set whose groups the pods could join.
func stepPods(pods []podFacts, set *lwsv1.LeaderWorkerSet, gates job.Gates) []*serving.PodChange {
	var changes []*serving.PodChange
	for _, f := range pods {
		var m serving.Membership // of no group
		if group, known := groupIndex(f.pod); set != nil && known {
			m = membership(set, group, f.pod, gates)
		}
		if c := m.Change(f.pod, f.abandoned || f.replaced, gates); c != nil {
			changes = append(changes, c)
		}
	}
	return changes
}

// membership is what a pod of a group of the set is told. Its template has the rest.
func membership(set *lwsv1.LeaderWorkerSet, group int, pod *corev1.Pod, gates job.Gates) serving.Membership {
	return serving.Membership{
		Group: serving.WorkloadName(gvk(), set, groupName(set, group), gates.ShortWorkloadNames), Total: groupSize(set), Role: podRole(set, pod),
		Labels: map[string]string{kueue.PriorityClassLabel: set.Labels[kueue.PriorityClassLabel]},
	}
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
