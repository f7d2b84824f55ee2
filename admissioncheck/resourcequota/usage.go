package resourcequota

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-helpers/resource"

	"switchyard.dev/admissioncheck/resourcequota/quotafit"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/podrequests"
)

// toVector turns a list named as in a ResourceQuota into amounts, by the rules of the admission core for the resource that
// each name counts.
func toVector(list corev1.ResourceList) amount.Vector {
	var requests []amount.Request
	for name, q := range list {
		requests = append(requests, amount.Request{Resource: string(name), Amount: toAmount(string(name), q)})
	}
	return amount.NewVector(requests...)
}

func toAmount(name string, q apiresource.Quantity) amount.Amount {
	return podrequests.ToAmount(quotafit.BaseName(name), q)
}

// describePods is what a ResourceQuota looks at in pods of the spec, as they would be made in those surroundings.
func describePods(spec *corev1.PodSpec, count int64, in podrequests.Context) quotafit.Pods {
	made := podrequests.Pod(spec, in)
	return quotafit.Pods{
		Count: count, Each: podUsage(made), Undeclared: undeclaredResources(&made.Spec),
		Terminating: spec.ActiveDeadlineSeconds != nil, BestEffort: isBestEffort(&made.Spec),
		CrossNamespaceAffinity: hasCrossNamespaceAffinity(spec.Affinity), PriorityClass: spec.PriorityClassName,
	}
}

// allContainers are all containers of a pod, those that run before the others included.
func allContainers(spec *corev1.PodSpec) []corev1.Container {
	return slices.Concat(spec.InitContainers, spec.Containers)
}

// podUsage names what one pod uses as ResourceQuotas do: compute resources under their own name, with "requests." and with
// "limits.", extended resources with "requests." only, huge pages under their own name and with "requests.".
func podUsage(pod *corev1.Pod) amount.Vector {
	list := corev1.ResourceList{"pods": oneUnit(), "count/pods": oneUnit()}
	for name, q := range resource.PodRequests(pod, resource.PodResourcesOptions{}) {
		switch {
		case isCompute(name), strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
			list[name], list["requests."+name] = q, q
		case isExtended(name):
			list["requests."+name] = q
		}
	}
	for name, q := range resource.PodLimits(pod, resource.PodResourcesOptions{}) {
		if isCompute(name) {
			list["limits."+name] = q
		}
	}
	return toVector(list)
}

func oneUnit() apiresource.Quantity { return *apiresource.NewQuantity(1, apiresource.DecimalSI) }

func isCompute(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage
}

// isExtended tells resources of devices, whose names have a domain of their own, from those of Kubernetes.
func isExtended(name corev1.ResourceName) bool {
	return strings.Contains(string(name), "/") && !strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
}

// undeclaredResources are the resources, sorted and named as in a quota, that the pod does not declare: a quota that restricts one of
// them refuses the pod. Either every container declares a resource, or the pod does as a whole. The API server insists on
// cpu and memory only.
func undeclaredResources(spec *corev1.PodSpec) []string {
	var missing []string
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if !declaresResource(spec, func(r corev1.ResourceRequirements) bool { return hasResource(r.Requests, name) }) {
			missing = append(missing, string(name), "requests."+string(name))
		}
		if !declaresResource(spec, func(r corev1.ResourceRequirements) bool { return hasResource(r.Limits, name) }) {
			missing = append(missing, "limits."+string(name))
		}
	}
	slices.Sort(missing)
	return missing
}

func declaresResource(spec *corev1.PodSpec, in func(corev1.ResourceRequirements) bool) bool {
	if spec.Resources != nil && in(*spec.Resources) {
		return true
	}
	return !slices.ContainsFunc(allContainers(spec), func(c corev1.Container) bool { return !in(c.Resources) })
}

func hasResource(list corev1.ResourceList, name corev1.ResourceName) bool {
	_, found := list[name]
	return found
}

// isBestEffort tells whether neither the pod nor a container asks for cpu or memory.
func isBestEffort(spec *corev1.PodSpec) bool {
	asks := func(r corev1.ResourceRequirements) bool {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			for _, list := range []corev1.ResourceList{r.Requests, r.Limits} {
				if q, found := list[name]; found && !q.IsZero() {
					return true
				}
			}
		}
		return false
	}
	if spec.Resources != nil && asks(*spec.Resources) {
		return false
	}
	return !slices.ContainsFunc(allContainers(spec), func(c corev1.Container) bool { return asks(c.Resources) })
}

// hasCrossNamespaceAffinity tells whether a term of affinity to other pods names other namespaces.
func hasCrossNamespaceAffinity(a *corev1.Affinity) bool {
	if a == nil {
		return false
	}
	var terms []corev1.PodAffinityTerm
	add := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		terms = append(terms, required...)
		for _, p := range preferred {
			terms = append(terms, p.PodAffinityTerm)
		}
	}
	if p := a.PodAffinity; p != nil {
		add(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		add(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return slices.ContainsFunc(terms, func(t corev1.PodAffinityTerm) bool { return len(t.Namespaces) > 0 || t.NamespaceSelector != nil })
}
