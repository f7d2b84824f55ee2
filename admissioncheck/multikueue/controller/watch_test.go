package controller

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"switchyard.dev/admissioncheck/multikueue/mirror"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func TestRefusalsOfWorkersThatSpeakCoarselyAreKnown(t *testing.T) {
	const (
		flavors  = "couldn't assign flavors to pod set main: "
		tooLarge = "insufficient quota for gpu in flavor red, previously considered podsets requests (0) + current podset request (9) > maximum capacity (8)"
		noRoom   = "insufficient unused quota for gpu in flavor red, 3 more needed"
	)
	for name, c := range map[string]struct {
		reason, message string
		refused         bool
		because         string
	}{
		"in detail":                       {"ExceedsMaxQuota", "too large", true, "ExceedsMaxQuota"},
		"coarsely, too large":             {"Pending", flavors + tooLarge, true, "ExceedsMaxQuota"},
		"coarsely, no room":               {"Pending", flavors + noRoom, false, "WaitingForQuota"},
		"coarsely, one of two has none":   {"Pending", flavors + tooLarge + ", " + noRoom, false, "WaitingForQuota"},
		"what is on hold is not refused":  {"OnHold", "no replicas", false, "OnHold"},
		"coarsely, without queue":         {"Inadmissible", "LocalQueue gpu doesn't exist", true, "Misconfigured"},
		"coarsely, in unknown words":      {"Inadmissible", "no", true, "Inadmissible"},
		"what that waits for is not told": {"Pending", "insufficient quota", false, "Pending"},
	} {
		t.Run(name, func(t *testing.T) {
			wl := &kueue.Workload{}
			wl.Status.Conditions = []metav1.Condition{{
				Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionFalse, Reason: c.reason, Message: c.message,
			}}
			strip := FleetKinds(nil, &JobNameLookup{})[0].Strip
			strip(wl)
			strip(wl) // it may be called again
			got := mirror.Original{Workload: &kueue.Workload{}, Origin: origin}.ObserveWorkload(wl)
			if got.Refused != c.refused || got.WaitingReason != c.because {
				t.Errorf("refused %t, because %s: %s", got.Refused, got.WaitingReason, got.WaitingMessage)
			}
		})
	}
}
