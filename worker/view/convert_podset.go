package view

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
)

// convertPodSet turns a pod set into the core's, without what it requests.
func convertPodSet(ps *kueue.PodSet) admission.PodSet {
	spec := &ps.Template.Spec
	set := admission.PodSet{
		Name:         string(ps.Name),
		Count:        ps.Count,
		NodeSelector: convertLabels(spec.NodeSelector),
		Affinity:     convertAffinity(spec.Affinity),
		Tolerations:  convertTolerations(spec.Tolerations),
	}
	if tr := ps.TopologyRequest; tr != nil && tr.PodSetGroupName != nil {
		set.Group = *tr.PodSetGroupName
	}
	return set
}

// reclaimablePods is how many pods of the set no longer need quota (contract: kueue-api.md 4.16).
func (o Options) reclaimablePods(wl *kueue.Workload, name kueue.PodSetReference) int32 {
	for _, r := range wl.Status.ReclaimablePods {
		if r.Name == name && !o.WithoutReclaimablePods {
			return r.Count
		}
	}
	return 0
}

func convertLabels(m map[string]string) []admission.Label {
	labels := make([]admission.Label, 0, len(m))
	for k, v := range m {
		labels = append(labels, admission.Label{Key: k, Value: v})
	}
	slices.SortFunc(labels, func(a, b admission.Label) int { return cmp.Compare(a.Key, b.Key) })
	return labels
}

// convertAffinity keeps the required node affinity only; terms that match fields (node names) say nothing about flavors and
// are kept without those fields.
func convertAffinity(a *corev1.Affinity) []admission.Term {
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

func convertTolerations(list []corev1.Toleration) []admission.Toleration {
	out := make([]admission.Toleration, 0, len(list))
	for _, t := range list {
		out = append(out, admission.Toleration{
			Key: t.Key, Operator: admission.TolerationOperator(t.Operator), Value: t.Value, Effect: admission.Effect(t.Effect),
		})
	}
	return out
}

func convertTaints(list []corev1.Taint) []admission.Taint {
	out := make([]admission.Taint, 0, len(list))
	for _, t := range list {
		out = append(out, admission.Taint{Key: t.Key, Value: t.Value, Effect: admission.Effect(t.Effect)})
	}
	return out
}
