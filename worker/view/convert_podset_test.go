package view

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

func TestAPodSetKeepsWhatDecidesAboutFlavors(t *testing.T) {
	wl := testWorkload("w", 5, 1)
	wl.Status.ReclaimablePods = []kueue.ReclaimablePod{{Name: "main", Count: 2}}
	ps := &wl.Spec.PodSets[0]
	ps.TopologyRequest = &kueue.PodSetTopologyRequest{PodSetGroupName: ptr.To("g")}
	ps.Template.Spec.NodeSelector = map[string]string{"zone": "a", "gpu": "h100"}
	ps.Template.Spec.Tolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}
	ps.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"a", "b"}}}},
			{},
		}},
	}}
	want := []admission.PodSet{{
		Name: "main", Group: "g", Count: 3, Requests: amount.NewVector(amount.Request{Resource: "gpu", Amount: 1}),
		NodeSelector: []admission.Label{{Key: "gpu", Value: "h100"}, {Key: "zone", Value: "a"}},
		Affinity:     []admission.Term{{{Key: "zone", Operator: admission.In, Values: []string{"a", "b"}}}},
		Tolerations:  []admission.Toleration{{Key: "k", Operator: admission.TolerateExists, Effect: admission.NoSchedule}},
	}}
	if diff := cmp.Diff(want, podSetsOf(wl)); diff != "" {
		t.Error(diff)
	}
}

// podSetsOf is what a workload asks for in a view with no settings.
func podSetsOf(wl *kueue.Workload) []admission.PodSet {
	return newRequestCalculator(Options{}).computeRequested(wl).remaining(wl, Options{})
}
