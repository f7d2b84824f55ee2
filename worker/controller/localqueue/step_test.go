package localqueue

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/usage"
	"switchyard.dev/worker/demand"
	"switchyard.dev/worker/view"
)

func TestTheStatusIsWhatTheViewSays(t *testing.T) {
	now := time.Date(2026, time.November, 21, 9, 0, 0, 0, time.UTC)
	flavor := func(name, resource string, total int64) admission.FlavorStatus {
		s := admission.FlavorStatus{}
		s.Flavor, s.Resource = name, resource
		s.Total = demand.AmountOf("gpu", *quantity(total))
		return s
	}
	standing := view.LocalQueueStanding{
		Activity: view.Activity{Reason: kueue.ReasonStopped, Message: "stopped"},
		LocalQueueStatus: admission.LocalQueueStatus{
			Pending: 5, Reserving: 4, Admitted: 1,
			Reserved: []admission.FlavorStatus{flavor("b", "gpu", 3), flavor("b", "nic", 1), flavor("a", "gpu", 0)},
			Used:     []admission.FlavorStatus{flavor("b", "gpu", 2)},
		},
	}
	use := func(total int64) kueue.LocalQueueResourceUsage {
		return kueue.LocalQueueResourceUsage{Name: "gpu", Total: *quantity(total)}
	}
	nic := kueue.LocalQueueResourceUsage{Name: "nic", Total: *quantity(1)}
	want := kueue.LocalQueueStatus{
		PendingWorkloads: 5, ReservingWorkloads: 4, AdmittedWorkloads: 1,
		FlavorsReservation: []kueue.LocalQueueFlavorUsage{
			{Name: "b", Resources: []kueue.LocalQueueResourceUsage{use(3), nic}},
			{Name: "a", Resources: []kueue.LocalQueueResourceUsage{use(0)}},
		},
		FlavorsUsage: []kueue.LocalQueueFlavorUsage{{Name: "b", Resources: []kueue.LocalQueueResourceUsage{use(2)}}},
		Conditions: []metav1.Condition{{
			Type: kueue.LocalQueueActive, Status: metav1.ConditionFalse, Reason: "Stopped", Message: "stopped",
			LastTransitionTime: metav1.NewTime(now),
		}},
	}
	if diff := cmp.Diff(want, step(&kueue.LocalQueue{}, standing, now).Status); diff != "" {
		t.Error(diff)
	}
}

func quantity(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.DecimalSI) }

func TestRecentUsageIsWrittenOnceThereIsAny(t *testing.T) {
	at := time.Date(2026, time.November, 21, 9, 0, 0, 500, time.UTC)
	consumed := usage.Account{SampledAt: at, Consumed: []usage.Consumed{{Resource: "gpu", Milli: 1500}, {Resource: "memory", Milli: 3000 << 40}}}
	want := &kueue.LocalQueueFairSharingStatus{AdmissionFairSharingStatus: &kueue.AdmissionFairSharingStatus{
		LastUpdate:        metav1.NewTime(at.Truncate(time.Second)),
		ConsumedResources: corev1.ResourceList{"gpu": resource.MustParse("1500m"), "memory": resource.MustParse("3Ti")},
	}}
	nothing := usage.Account{SampledAt: at.Add(time.Hour)}
	zero := fairSharing(want, nothing, true)
	for _, tc := range []struct {
		name      string
		was, want *kueue.LocalQueueFairSharingStatus
		account   usage.Account
		takesPart bool
	}{
		{"a queue that uses something", nil, want, consumed, true},
		{"a queue that has used nothing yet", nil, nil, nothing, true},
		{"a queue whose usage has decayed, at every further sample", zero, zero, usage.Account{SampledAt: at.Add(2 * time.Hour)}, true},
		{"a queue that does not take part", want, nil, consumed, false},
	} {
		if diff := cmp.Diff(tc.want, fairSharing(tc.was, tc.account, tc.takesPart)); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
	if len(zero.AdmissionFairSharingStatus.ConsumedResources) != 0 || !zero.AdmissionFairSharingStatus.LastUpdate.Equal(&metav1.Time{Time: nothing.SampledAt.Truncate(time.Second)}) {
		t.Errorf("usage that has decayed is still %+v", zero.AdmissionFairSharingStatus)
	}
}
