package job

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"switchyard.dev/worker/podrequests"
)

// RequestsAtMost tells whether a pod of the child's template needs no more of anything than one of the owner's, before the
// namespace and its LimitRanges are looked at, which are the same for both.
func RequestsAtMost(child, owner *corev1.PodSpec) bool {
	return RequestsAtMostWith(child, owner, podrequests.Context{})
}

// RequestsAtMostWith is [RequestsAtMost] for a child that the API server has completed and an owner that it has not: the context is the
// namespace's, for the owner's template.
func RequestsAtMostWith(child, owner *corev1.PodSpec, in podrequests.Context) bool {
	if !equality.Semantic.DeepEqual(child.RuntimeClassName, owner.RuntimeClassName) ||
		!equality.Semantic.DeepEqual(child.ResourceClaims, owner.ResourceClaims) {
		return false
	}
	var rules podrequests.Rules
	asked, _ := rules.Compute(child, podrequests.Context{})
	paid, _ := rules.Compute(owner, in)
	for _, request := range asked {
		if most, _ := paid.Lookup(request.Resource); request.Amount > most {
			return false
		}
	}
	return true
}
