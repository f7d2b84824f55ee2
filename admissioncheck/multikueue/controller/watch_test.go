package controller

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"switchyard.dev/admissioncheck/multikueue/mirror"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func TestRefusalsOfWorkersThatSpeakCoarselyAreKnown(t *testing.T) {
	for name, c := range map[string]struct {
		reason, message string
		refused         bool
		because         string
	}{
		"in detail":                       {"ExceedsMaxQuota", "too large", true, "ExceedsMaxQuota"},
		"coarsely, by our own worker":     {"Pending", "ExceedsMaxQuota: too large", true, "ExceedsMaxQuota"},
		"what only waits, by our own":     {"Pending", "WaitingForQuota: full", false, "WaitingForQuota"},
		"what is on hold is not refused":  {"OnHold", "no replicas", false, "OnHold"},
		"coarsely, by another program":    {"Inadmissible", "LocalQueue gpu doesn't exist", true, "Inadmissible"},
		"what that waits for is not told": {"Pending", "insufficient quota", false, "Pending"},
	} {
		t.Run(name, func(t *testing.T) {
			wl := &kueue.Workload{}
			wl.Status.Conditions = []metav1.Condition{{
				Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionFalse, Reason: c.reason, Message: c.message,
			}}
			strip := FleetKinds(nil, &Sharing{})[0].Strip
			strip(wl)
			strip(wl) // it may be called again
			got := mirror.Original{Workload: &kueue.Workload{}, Origin: origin}.Copy(wl)
			if got.Refused != c.refused || got.WaitingBecause != c.because {
				t.Errorf("refused %t, because %s: %s", got.Refused, got.WaitingBecause, got.Waiting)
			}
		})
	}
}
