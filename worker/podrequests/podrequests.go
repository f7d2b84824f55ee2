package podrequests

import (
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/resource"

	"switchyard.dev/worker/admission/amount"
)

// Context are the objects that adjust a pod as it is created.
type Context struct {
	// LimitRanges are those of the pod's namespace, by name.
	LimitRanges []*corev1.LimitRange
	// RuntimeClass is the one that the pod names; nil if it names none, or one that does not exist.
	RuntimeClass *nodev1.RuntimeClass
	// Path is where the pod's spec stands, for errors.
	Path *field.Path
}

// Compute returns what one pod asks of the quota. Problems say why no such pod could be created; the vector is then what it asks for
// all the same. The resource "pods" is never part of it: the core counts pods
// by itself (contract: kueue-api.md 1.15, 4.6).
func (r *Rules) Compute(spec *corev1.PodSpec, in Context) (amount.Vector, Problems) {
	pod := adjustPodSet(spec, in)
	problems := findProblems(pod, in)
	list := podRequests(pod)
	if len(r.ExcludePrefixes)+len(r.Transformations) > 0 {
		list = r.filterResources(list)
		if r.findTransformation(list) {
			return r.transform(list), problems
		}
	}
	return withoutPods(ToVector(list)), problems
}

// podRequests adds up containers, init containers at their peak, and overhead. The common pod, one container and nothing
// else, needs no arithmetic.
func podRequests(pod *corev1.Pod) corev1.ResourceList {
	spec := &pod.Spec
	if len(spec.Containers) == 1 && len(spec.InitContainers) == 0 && spec.Overhead == nil && spec.Resources == nil {
		return spec.Containers[0].Resources.Requests
	}
	return resource.PodRequests(pod, resource.PodResourcesOptions{})
}

func withoutPods(v amount.Vector) amount.Vector {
	for i := range v {
		if v[i].Resource == amount.Pods {
			return append(v[:i], v[i+1:]...)
		}
	}
	return v
}
