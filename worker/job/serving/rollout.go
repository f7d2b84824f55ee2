package serving

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// IsOutdated tells whether the set is being rolled out and the pod is of another revision than the last. Such a pod must not wait: the
// rollout waits for it (contract: job-kinds.md 12, rollout). Nothing is known while the set's controller has not seen the set as it is.
func IsOutdated(set *appsv1.StatefulSet, pod *corev1.Pod) bool {
	s := &set.Status
	revision := pod.Labels[appsv1.ControllerRevisionHashLabelKey]
	return s.ObservedGeneration >= set.Generation && s.UpdateRevision != "" && s.CurrentRevision != s.UpdateRevision &&
		revision != "" && revision != s.UpdateRevision
}
