package podrequests

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/resource"
)

// Problems are why the API server would not create a pod.
type Problems struct {
	// Contradictions are requests that the pod's own limits forbid, or that no pod can have.
	Contradictions field.ErrorList
	// Restrictions are what LimitRanges forbid.
	Restrictions field.ErrorList
}

// Add adds those of another pod.
func (p *Problems) Add(of Problems) {
	p.Contradictions = append(p.Contradictions, of.Contradictions...)
	p.Restrictions = append(p.Restrictions, of.Restrictions...)
}

// Message says what is in the way, contradictions before restrictions, or nothing (contract: messages.md 1.2).
func (p *Problems) Message() string {
	switch {
	case len(p.Contradictions) > 0:
		return "resources validation failed: " + p.Contradictions.ToAggregate().Error()
	case len(p.Restrictions) > 0:
		return "resources didn't satisfy LimitRange constraints: " + p.Restrictions.ToAggregate().Error()
	default:
		return ""
	}
}

// findProblems looks at init containers, containers and the pod as a whole, in this order.
func findProblems(pod *corev1.Pod, in Context) Problems {
	var found Problems
	for _, of := range []struct {
		kind       string
		containers []corev1.Container
	}{{"initContainers", pod.Spec.InitContainers}, {"containers", pod.Spec.Containers}} {
		for i := range of.containers {
			path, has := in.Path.Child(of.kind).Index(i), of.containers[i].Resources
			found.Contradictions = append(found.Contradictions, contradictions(path, has)...)
			found.Restrictions = append(found.Restrictions, restrictions(path, has, in.LimitRanges, corev1.LimitTypeContainer)...)
		}
	}
	if pod.Spec.Resources != nil {
		found.Contradictions = append(found.Contradictions, contradictions(in.Path.Child("resources"), *pod.Spec.Resources)...)
	}
	if slices.ContainsFunc(in.LimitRanges, limitsPods) {
		found.Restrictions = append(found.Restrictions, restrictions(in.Path, podTotal(pod), in.LimitRanges, corev1.LimitTypePod)...)
	}
	return found
}

func limitsPods(lr *corev1.LimitRange) bool {
	return slices.ContainsFunc(lr.Spec.Limits, func(l corev1.LimitRangeItem) bool { return l.Type == corev1.LimitTypePod })
}

// podTotal is what a LimitRange for pods is held against: overhead is not part of it.
func podTotal(pod *corev1.Pod) corev1.ResourceRequirements {
	opts := resource.PodResourcesOptions{ExcludeOverhead: true}
	return corev1.ResourceRequirements{Requests: resource.PodRequests(pod, opts), Limits: resource.PodLimits(pod, opts)}
}

// contradictions lists requests that are negative or above their limits.
func contradictions(path *field.Path, r corev1.ResourceRequirements) field.ErrorList {
	var negative, above namedProblems
	for name, request := range r.Requests {
		limit, bounded := r.Limits[name]
		negative.add(name, request.Sign() < 0)
		above.add(name, bounded && request.Cmp(limit) > 0)
	}
	return slices.Concat(
		negative.invalid(path, "requests must be greater than or equal to 0"),
		above.invalid(path, "requests must not exceed its limits"),
	)
}

// restrictions names each resource once, however many LimitRanges forbid it. That a limit alone is too high, or too far above the
// request, is not said by the public API, which would let such a pod fail when it is created.
func restrictions(path *field.Path, r corev1.ResourceRequirements, ranges []*corev1.LimitRange, of corev1.LimitType) field.ErrorList {
	var above, limitAbove, below, apart namedProblems
	eachLimit(ranges, of, func(limit *corev1.LimitRangeItem) {
		for resource, most := range limit.Max {
			request, requested := r.Requests[resource]
			limit, bounded := r.Limits[resource]
			requestAbove := requested && request.Cmp(most) > 0
			above.add(resource, requestAbove)
			limitAbove.add(resource, !requestAbove && bounded && limit.Cmp(most) > 0)
		}
		for resource, least := range limit.Min {
			is := smaller(r, resource)
			below.add(resource, is != nil && is.Cmp(least) < 0)
		}
		for resource, ratio := range limit.MaxLimitRequestRatio {
			apart.add(resource, exceeds(r, resource, ratio))
		}
	})
	return slices.Concat(
		above.invalid(path, "requests must not be above the limitRange max"),
		limitAbove.invalid(path, "limits must not be above the limitRange max"),
		below.invalid(path, "requests must not be below the limitRange min"),
		apart.invalid(path, "limits must not be above the limitRange maxLimitRequestRatio times the requests"),
	)
}

// namedProblems are resources that have one problem in common.
type namedProblems []string

func (n *namedProblems) add(resource corev1.ResourceName, concerned bool) {
	if concerned && !slices.Contains(*n, string(resource)) {
		*n = append(*n, string(resource))
	}
}

func (n *namedProblems) invalid(path *field.Path, detail string) field.ErrorList {
	if len(*n) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, slices.Sorted(slices.Values(*n)), detail)}
}

// smaller is the smaller of request and limit; nil if there is neither.
func smaller(r corev1.ResourceRequirements, name corev1.ResourceName) *apiresource.Quantity {
	request, requested := r.Requests[name]
	limit, bounded := r.Limits[name]
	switch {
	case requested && (!bounded || request.Cmp(limit) <= 0):
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
