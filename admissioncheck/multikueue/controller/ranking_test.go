package controller

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/podrequests"
)

func TestWhatOnlyTheHubsRulesMakeOfAPodIsAssumed(t *testing.T) {
	list := func(names ...string) corev1.ResourceList {
		out := corev1.ResourceList{}
		for _, name := range names {
			out[corev1.ResourceName(name)] = resource.MustParse("2")
		}
		return out
	}
	costs := func(replace bool) podrequests.Rules {
		return podrequests.Rules{Transformations: map[corev1.ResourceName]podrequests.Transformation{
			"gpu": {Replace: replace, Outputs: list("credits", "cpu")},
		}}
	}
	for name, tc := range map[string]struct {
		rules   podrequests.Rules
		pods    []corev1.ResourceList
		asked   string
		assumed string
	}{
		"without rules nothing is":                   {podrequests.Rules{}, []corev1.ResourceList{list("gpu")}, "gpu", ""},
		"what a rule adds is":                        {costs(false), []corev1.ResourceList{list("gpu")}, "cpu credits gpu", "cpu credits"},
		"what a rule puts in place of another is":    {costs(true), []corev1.ResourceList{list("gpu")}, "cpu credits", "cpu credits"},
		"not what the pod asks for as well":          {costs(false), []corev1.ResourceList{list("gpu", "cpu")}, "cpu credits gpu", "credits"},
		"not what other pods ask for":                {costs(false), []corev1.ResourceList{list("gpu"), list("cpu")}, "cpu credits gpu cpu", "credits"},
		"nothing where the rule does not apply":      {costs(false), []corev1.ResourceList{list("memory")}, "memory", ""},
		"nothing where something does not count":     {podrequests.Rules{ExcludePrefixes: []string{"g"}}, []corev1.ResourceList{list("gpu", "cpu")}, "cpu", ""},
		"no resource twice, however many ask for it": {costs(true), []corev1.ResourceList{list("gpu"), list("gpu")}, "cpu credits cpu credits", "cpu credits"},
	} {
		t.Run(name, func(t *testing.T) {
			wl := &kueue.Workload{}
			for _, requests := range tc.pods {
				set := kueue.PodSet{Count: 1}
				set.Template.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: requests}}}
				wl.Spec.PodSets = append(wl.Spec.PodSets, set)
			}
			sets, assumed := buildPodSets(wl, &tc.rules)
			var asked []string
			for i := range sets {
				asked = appendResourceNames(asked, sets[i].Requests)
			}
			if diff := cmp.Diff([]string{tc.asked, tc.assumed}, []string{strings.Join(asked, " "), strings.Join(assumed, " ")}); diff != "" {
				t.Errorf("asked for, assumed: -want +got:\n%s", diff)
			}
		})
	}
}
