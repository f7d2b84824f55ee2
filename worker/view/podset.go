package view

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

// podSetsOf turns the spec's pod sets into the core's, each with the count that still needs quota.
func podSetsOf(wl *kueue.Workload) []admission.PodSet {
	sets := make([]admission.PodSet, 0, len(wl.Spec.PodSets))
	for i := range wl.Spec.PodSets {
		ps := &wl.Spec.PodSets[i]
		spec := &ps.Template.Spec
		set := admission.PodSet{
			Name:         string(ps.Name),
			Count:        max(ps.Count-reclaimable(wl, ps.Name), 0),
			Requests:     requestsOf(spec),
			NodeSelector: labelsOf(spec.NodeSelector),
			Affinity:     affinityOf(spec.Affinity),
			Tolerations:  tolerationsOf(spec.Tolerations),
		}
		if tr := ps.TopologyRequest; tr != nil && tr.PodSetGroupName != nil {
			set.Group = *tr.PodSetGroupName
		}
		sets = append(sets, set)
	}
	return sets
}

// reclaimable is how many pods of the set no longer need quota (contract: kueue-api.md 4.16).
func reclaimable(wl *kueue.Workload, name kueue.PodSetReference) int32 {
	for _, r := range wl.Status.ReclaimablePods {
		if r.Name == name {
			return r.Count
		}
	}
	return 0
}

// requestsOf is what one pod asks for: containers added up, init containers at their peak, overhead on top. A limit
// stands in for a missing request, as it does when the API server defaults a pod.
func requestsOf(spec *corev1.PodSpec) amount.Vector {
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		Containers:     defaulted(spec.Containers),
		InitContainers: defaulted(spec.InitContainers),
		Overhead:       spec.Overhead,
		Resources:      spec.Resources,
	}}
	requests := resource.PodRequests(pod, resource.PodResourcesOptions{})
	// The API reserves this name for the count of pods (contract: kueue-api.md 1.15); the core adds it by itself.
	delete(requests, corev1.ResourcePods)
	return vectorOf(requests)
}

func defaulted(containers []corev1.Container) []corev1.Container {
	if !slices.ContainsFunc(containers, lacksRequest) {
		return containers
	}
	out := slices.Clone(containers)
	for i := range out {
		if lacksRequest(out[i]) {
			out[i].Resources.Requests = withLimits(out[i].Resources)
		}
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

func withLimits(r corev1.ResourceRequirements) corev1.ResourceList {
	list := r.Limits.DeepCopy()
	for name, q := range r.Requests {
		list[name] = q
	}
	return list
}

func labelsOf(m map[string]string) []admission.Label {
	labels := make([]admission.Label, 0, len(m))
	for k, v := range m {
		labels = append(labels, admission.Label{Key: k, Value: v})
	}
	slices.SortFunc(labels, func(a, b admission.Label) int { return cmp.Compare(a.Key, b.Key) })
	return labels
}

// affinityOf keeps the required node affinity only; terms that match fields (node names) say nothing about flavors and
// are kept without those fields.
func affinityOf(a *corev1.Affinity) []admission.Term {
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	var terms []admission.Term
	for _, t := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		if len(t.MatchExpressions) == 0 && len(t.MatchFields) == 0 {
			continue // An empty term matches nothing, so it adds nothing to the alternatives.
		}
		term := make(admission.Term, 0, len(t.MatchExpressions))
		for _, e := range t.MatchExpressions {
			term = append(term, admission.Requirement{
				Key: e.Key, Operator: admission.Operator(e.Operator), Values: e.Values,
			})
		}
		terms = append(terms, term)
	}
	return terms
}

func tolerationsOf(list []corev1.Toleration) []admission.Toleration {
	out := make([]admission.Toleration, 0, len(list))
	for _, t := range list {
		out = append(out, admission.Toleration{
			Key: t.Key, Operator: admission.TolerationOperator(t.Operator), Value: t.Value, Effect: admission.Effect(t.Effect),
		})
	}
	return out
}

func taintsOf(list []corev1.Taint) []admission.Taint {
	out := make([]admission.Taint, 0, len(list))
	for _, t := range list {
		out = append(out, admission.Taint{Key: t.Key, Value: t.Value, Effect: admission.Effect(t.Effect)})
	}
	return out
}
