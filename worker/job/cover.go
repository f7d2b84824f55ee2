package job

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"switchyard.dev/worker/demand"
)

// AsksNoMore tells whether a pod of the child's template needs no more of anything than one of the owner's, before the
// namespace and its LimitRanges are looked at, which are the same for both.
func AsksNoMore(child, owner *corev1.PodSpec) bool {
	if !equality.Semantic.DeepEqual(child.RuntimeClassName, owner.RuntimeClassName) ||
		!equality.Semantic.DeepEqual(child.ResourceClaims, owner.ResourceClaims) {
		return false
	}
	var rules demand.Rules
	asked, _ := rules.Of(child, demand.Surroundings{})
	paid, _ := rules.Of(owner, demand.Surroundings{})
	for _, request := range asked {
		if most, _ := paid.Lookup(request.Resource); request.Amount > most {
			return false
		}
	}
	return true
}
