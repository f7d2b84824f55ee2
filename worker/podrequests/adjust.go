package podrequests

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
)

// adjustPodSet is the pod as the API server would create it, as far as resources go. A limit that the user wrote stands for its
// missing request before any LimitRange does, as when the API server defaults a pod.
func adjustPodSet(spec *corev1.PodSpec, in Context) *corev1.Pod {
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		Containers:     adjustedContainers(spec.Containers, in.LimitRanges),
		InitContainers: adjustedContainers(spec.InitContainers, in.LimitRanges),
		Overhead:       spec.Overhead,
	}}
	if c := in.RuntimeClass; c != nil && c.Overhead != nil && spec.Overhead == nil {
		pod.Spec.Overhead = c.Overhead.PodFixed
	}
	if spec.Resources != nil {
		pod.Spec.Resources = podLevel(spec, in.LimitRanges)
	}
	return pod
}

// adjustedContainers returns the containers with the defaults of LimitRanges and of their own limits. Unchanged containers
// are not copied.
func adjustedContainers(containers []corev1.Container, ranges []*corev1.LimitRange) []corev1.Container {
	if len(ranges) == 0 && !slices.ContainsFunc(containers, lacksRequest) {
		return containers
	}
	out := slices.Clone(containers)
	for i := range out {
		r := &out[i].Resources
		r.Requests = withDefaults(r.Requests, r.Limits)
		eachLimit(ranges, corev1.LimitTypeContainer, func(limit *corev1.LimitRangeItem) {
			r.Limits = withDefaults(r.Limits, limit.Default)
			r.Requests = withDefaults(r.Requests, limit.DefaultRequest)
		})
		r.Requests = withDefaults(r.Requests, r.Limits)
	}
	return out
}

func lacksRequest(c corev1.Container) bool {
	for name := range c.Resources.Limits {
		if _, ok := c.Resources.Requests[name]; !ok {
			return true
		}
	}
	return false
}

// podLevel completes resources of the pod as a whole: what containers ask for is left to them. The API server does so before a
// LimitRange gives containers its defaults, so a limit of the pod stands for its missing request although they have some then.
func podLevel(spec *corev1.PodSpec, ranges []*corev1.LimitRange) *corev1.ResourceRequirements {
	written := &corev1.Pod{Spec: corev1.PodSpec{
		Containers: adjustedContainers(spec.Containers, nil), InitContainers: adjustedContainers(spec.InitContainers, nil),
	}}
	r := *spec.Resources
	eachLimit(ranges, corev1.LimitTypePod, func(limit *corev1.LimitRangeItem) {
		r.Limits = withDefaults(r.Limits, limit.Default)
		r.Requests = withDefaults(r.Requests, limit.DefaultRequest)
	})
	asked := resource.AggregateContainerRequests(written, resource.PodResourcesOptions{})
	missing := corev1.ResourceList{}
	for name, limit := range r.Limits {
		if _, ok := asked[name]; !ok {
			missing[name] = limit
		}
	}
	r.Requests = withDefaults(r.Requests, missing)
	return &r
}

// eachLimit calls do with every item of the type.
func eachLimit(ranges []*corev1.LimitRange, of corev1.LimitType, do func(limit *corev1.LimitRangeItem)) {
	for _, lr := range ranges {
		for i := range lr.Spec.Limits {
			if lr.Spec.Limits[i].Type == of {
				do(&lr.Spec.Limits[i])
			}
		}
	}
}

// withDefaults is the list with what it lacks taken from another; neither of them is changed.
func withDefaults(list, from corev1.ResourceList) corev1.ResourceList {
	out := list
	for name, q := range from {
		if _, ok := list[name]; ok {
			continue
		}
		if len(out) == len(list) {
			if out = maps.Clone(list); out == nil {
				out = corev1.ResourceList{}
			}
		}
		out[name] = q
	}
	return out
}
