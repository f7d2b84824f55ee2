package view

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

func list(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func container(requests, limits corev1.ResourceList) corev1.Container {
	return corev1.Container{Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}}
}

func TestAPodAsksForWhatTheSchedulerWouldCount(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	sidecar := container(list("cpu", "100m"), nil)
	sidecar.RestartPolicy = &always
	for name, tc := range map[string]struct {
		spec corev1.PodSpec
		want corev1.ResourceList
	}{
		"containers add up": {
			corev1.PodSpec{Containers: []corev1.Container{container(list("cpu", "1"), nil), container(list("cpu", "2", "gpu", "1"), nil)}},
			list("cpu", "3", "gpu", "1"),
		},
		"an init container counts only where it is larger": {
			corev1.PodSpec{
				Containers:     []corev1.Container{container(list("cpu", "1", "memory", "2Gi"), nil)},
				InitContainers: []corev1.Container{container(list("cpu", "4", "memory", "1Gi"), nil)},
			},
			list("cpu", "4", "memory", "2Gi"),
		},
		"a sidecar runs along": {
			corev1.PodSpec{Containers: []corev1.Container{container(list("cpu", "1"), nil)}, InitContainers: []corev1.Container{sidecar}},
			list("cpu", "1100m"),
		},
		"overhead comes on top": {
			corev1.PodSpec{Containers: []corev1.Container{container(list("cpu", "1"), nil)}, Overhead: list("cpu", "250m")},
			list("cpu", "1250m"),
		},
		"a limit stands in for a missing request": {
			corev1.PodSpec{Containers: []corev1.Container{container(list("cpu", "1"), list("cpu", "2", "gpu", "4"))}},
			list("cpu", "1", "gpu", "4"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(vectorOf(tc.want), requestsOf(&tc.spec)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

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
