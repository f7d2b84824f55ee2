package webhook

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func TestASliceKeepsItsPlaceWhileItHoldsQuota(t *testing.T) {
	const replaces, chain = kueue.WorkloadSliceReplacementForAnnotation, kueue.WorkloadSliceNameAnnotation
	for name, c := range map[string]struct {
		gates         Gates
		reserved      bool
		before, after map[string]string
		want          bool
	}{
		"nothing changes":               {Gates{Elastic: true}, true, map[string]string{replaces: "ns/a"}, map[string]string{replaces: "ns/a"}, true},
		"a claim that comes later":      {Gates{Elastic: true}, true, nil, map[string]string{replaces: "ns/a"}, false},
		"a claim that changes":          {Gates{Elastic: true}, true, map[string]string{replaces: "ns/a"}, map[string]string{replaces: "ns/b"}, false},
		"a claim that goes":             {Gates{Elastic: true}, true, map[string]string{replaces: "ns/a"}, nil, false},
		"another chain":                 {Gates{Elastic: true}, true, map[string]string{chain: "a"}, map[string]string{chain: "b"}, false},
		"a chain that is named late":    {Gates{Elastic: true}, true, nil, map[string]string{chain: "a"}, true},
		"one that is elastic no more":   {Gates{Elastic: true}, true, map[string]string{kueue.ElasticJobAnnotation: "true"}, nil, false},
		"any of it before it has quota": {Gates{Elastic: true}, false, map[string]string{replaces: "ns/a"}, map[string]string{replaces: "ns/b"}, true},
		"any of it with the gate off":   {Gates{}, true, map[string]string{replaces: "ns/a"}, map[string]string{replaces: "ns/b"}, true},
	} {
		old, w := &kueue.Workload{}, &kueue.Workload{}
		old.Annotations, w.Annotations = c.before, c.after
		if c.reserved {
			old.Status.Conditions = []metav1.Condition{{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionTrue}}
			w.Status.Conditions = old.Status.Conditions
		}
		if errs := c.gates.ValidateWorkloadUpdate(old, w); (len(errs) == 0) != c.want {
			t.Errorf("%s: %v", name, errs)
		}
	}
}
