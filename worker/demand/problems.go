package demand

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-helpers/resource"
)

// problemsOf says why the API server would not create the pod, in the order of its containers and of resource names.
func problemsOf(pod *corev1.Pod, ranges []*corev1.LimitRange) []string {
	var found []string
	for kind, containers := range map[string][]corev1.Container{"container ": pod.Spec.Containers, "init container ": pod.Spec.InitContainers} {
		for i := range containers {
			who := kind + containers[i].Name
			found = append(found, own(who, containers[i].Resources)...)
			found = append(found, limited(who, containers[i].Resources, ranges, corev1.LimitTypeContainer)...)
		}
	}
	slices.Sort(found)
	if pod.Spec.Resources != nil {
		found = append(found, own("the pod", *pod.Spec.Resources)...)
	}
	if slices.ContainsFunc(ranges, limitsPods) {
		found = append(found, limited("the pod", totalOf(pod), ranges, corev1.LimitTypePod)...)
	}
	return found
}

func limitsPods(lr *corev1.LimitRange) bool {
	return slices.ContainsFunc(lr.Spec.Limits, func(l corev1.LimitRangeItem) bool { return l.Type == corev1.LimitTypePod })
}

// totalOf is what a LimitRange for pods is held against: overhead is not part of it.
func totalOf(pod *corev1.Pod) corev1.ResourceRequirements {
	opts := resource.PodResourcesOptions{ExcludeOverhead: true}
	return corev1.ResourceRequirements{Requests: resource.PodRequests(pod, opts), Limits: resource.PodLimits(pod, opts)}
}

// own is what contradicts itself.
func own(who string, r corev1.ResourceRequirements) []string {
	var found []string
	for name, request := range sorted(r.Requests) {
		limit, bounded := r.Limits[name]
		switch {
		case request.Sign() < 0:
			found = append(found, fmt.Sprintf("%s requests %s of %s: request 0 or more", who, request.String(), name))
		case bounded && request.Cmp(limit) > 0:
			found = append(found, fmt.Sprintf("%s requests %s of %s and is limited to %s: raise the limit, which may come from a LimitRange, or lower the request",
				who, request.String(), name, limit.String()))
		}
	}
	return found
}

// limited is what the LimitRanges forbid.
func limited(who string, r corev1.ResourceRequirements, ranges []*corev1.LimitRange, of corev1.LimitType) []string {
	var found []string
	eachLimit(ranges, of, func(name string, limit *corev1.LimitRangeItem) {
		for resource, most := range sorted(limit.Max) {
			if is := max2(r, resource); is != nil && is.Cmp(most) > 0 {
				found = append(found, fmt.Sprintf("%s asks for %s of %s, more than the %s that LimitRange %s allows: lower it",
					who, is.String(), resource, most.String(), name))
			}
		}
		for resource, least := range sorted(limit.Min) {
			if is := min2(r, resource); is != nil && is.Cmp(least) < 0 {
				found = append(found, fmt.Sprintf("%s asks for %s of %s, less than the %s that LimitRange %s demands: raise it",
					who, is.String(), resource, least.String(), name))
			}
		}
		for resource, ratio := range sorted(limit.MaxLimitRequestRatio) {
			if exceeds(r, resource, ratio) {
				found = append(found, fmt.Sprintf("%s has a limit of %s more than %s times its request, which LimitRange %s forbids: raise the request or lower the limit",
					who, resource, ratio.String(), name))
			}
		}
	})
	return found
}

// max2 is the larger of request and limit, min2 the smaller; nil if there is neither.
func max2(r corev1.ResourceRequirements, name corev1.ResourceName) *apiresource.Quantity {
	return pick(r, name, func(a, b apiresource.Quantity) bool { return a.Cmp(b) >= 0 })
}

func min2(r corev1.ResourceRequirements, name corev1.ResourceName) *apiresource.Quantity {
	return pick(r, name, func(a, b apiresource.Quantity) bool { return a.Cmp(b) <= 0 })
}

func pick(r corev1.ResourceRequirements, name corev1.ResourceName, better func(a, b apiresource.Quantity) bool) *apiresource.Quantity {
	request, requested := r.Requests[name]
	limit, bounded := r.Limits[name]
	switch {
	case requested && (!bounded || better(request, limit)):
		return &request
	case bounded:
		return &limit
	}
	return nil
}

// exceeds reports whether the limit is more than ratio times the request.
func exceeds(r corev1.ResourceRequirements, name corev1.ResourceName, ratio apiresource.Quantity) bool {
	request, requested := r.Requests[name]
	limit, bounded := r.Limits[name]
	if !requested || !bounded {
		return false
	}
	allowed := rational(request)
	return rational(limit).Cmp(allowed.Mul(allowed, rational(ratio))) > 0
}

// sorted ranges over a list by name, so that messages do not change without reason.
func sorted(list corev1.ResourceList) func(yield func(corev1.ResourceName, apiresource.Quantity) bool) {
	return func(yield func(corev1.ResourceName, apiresource.Quantity) bool) {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			if !yield(name, list[name]) {
				return
			}
		}
	}
}
