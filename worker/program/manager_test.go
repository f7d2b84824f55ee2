package program

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/apis/config"
	"switchyard.dev/apis/config/features"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func TestAProgramSpeaksTheOldReasonsOnlyWithTheGateOff(t *testing.T) {
	for _, gate := range []bool{true, false} {
		cfg, err := config.Load([]byte("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nnamespace: kueue-system\n"))
		if err != nil {
			t.Fatal(err)
		}
		gates, err := features.New(map[string]bool{string(features.UnadmittedWorkloadsObservability): gate})
		if err != nil {
			t.Fatal(err)
		}
		s := Settings{Configuration: cfg, Gates: gates}
		if writes := managerOptions(s, nil, newCertificates(s)).NewClient != nil; writes == gate {
			t.Errorf("gate %v: translates what is written: %v", gate, writes)
		}
		if got := heard(t, s); (got == "WaitingForQuota") == gate {
			t.Errorf("gate %v: hears %s", gate, got)
		}
	}
}

// heard is the reason that an informer delivers of a Workload with an old one.
func heard(t *testing.T, s Settings) string {
	t.Helper()
	wl := &kueue.Workload{Status: kueue.WorkloadStatus{Conditions: []metav1.Condition{
		{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionFalse, Reason: "Pending", Message: "WaitingForQuota: 3 more"},
	}}}
	for object, by := range cacheOptions(s).ByObject {
		if _, ok := object.(*kueue.Workload); ok {
			if _, err := by.Transform(client.Object(wl)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return wl.Status.Conditions[0].Reason
}
