package statefulset

import (
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/serving"
)

// membership is what the pods of a set are told, given the name of their Workload. Its group is admitted with its first pod, and never
// ends.
func membership(set *appsv1.StatefulSet, workload string) serving.Membership {
	return serving.Membership{
		Group: workload, Total: replicas(set), Role: podSetName,
		Labels: map[string]string{
			kueue.QueueNameLabel:     job.QueueName(set),
			kueue.PriorityClassLabel: set.Labels[kueue.PriorityClassLabel],
		},
		Annotations: map[string]string{
			kueue.PodGroupFastAdmissionAnnotation: "true",
			kueue.PodGroupServingAnnotation:       "true",
			kueue.PodGroupPodIndexLabelAnnotation: appsv1.PodIndexLabel,
		},
	}
}

// stepPods returns what to do to the pods of a set. What a rollout is about to replace need not wait; replacing, the set as it is stored,
// is nil if there is no rollout. While the set asks for no pods it has no group to join.
func stepPods(pods []*corev1.Pod, replacing *appsv1.StatefulSet, m serving.Membership, gates job.Gates) []*serving.PodChange {
	var changes []*serving.PodChange
	for _, pod := range pods {
		replaced := replacing != nil && isReplaced(replacing, pod)
		if c := m.Change(pod, replaced, gates); c != nil {
			changes = append(changes, c)
		}
	}
	return changes
}

// isReplaced tells whether the rollout of a set is going to replace the pod: it is of an old revision, and not one that the set's
// strategy leaves as it is.
func isReplaced(set *appsv1.StatefulSet, pod *corev1.Pod) bool {
	if !serving.IsOutdated(set, pod) || set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return false
	}
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	if rolling == nil || ptr.Deref(rolling.Partition, 0) == 0 {
		return true
	}
	ordinal, known := podOrdinal(pod)
	if set.Spec.Ordinals != nil {
		ordinal -= int64(set.Spec.Ordinals.Start)
	}
	return known && ordinal >= int64(*rolling.Partition)
}

// podOrdinal is the number at the end of a pod's name.
func podOrdinal(pod *corev1.Pod) (int64, bool) {
	digits := pod.Name[strings.LastIndex(pod.Name, "-")+1:]
	n, err := strconv.ParseInt(digits, 10, 32)
	return n, err == nil && n >= 0
}
