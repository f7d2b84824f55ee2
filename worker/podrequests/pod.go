package podrequests

import (
	corev1 "k8s.io/api/core/v1"
)

// Pod is the pod that the API server would make of the spec there, as far as its resources and overhead go; nothing else is
// filled in. It shares memory with the spec and must not be changed.
func Pod(spec *corev1.PodSpec, in Context) *corev1.Pod { return adjustPodSet(spec, in) }
