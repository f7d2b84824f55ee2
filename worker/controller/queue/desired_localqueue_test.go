package queue

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
	"switchyard.dev/worker/podrequests"
	"switchyard.dev/worker/view"
)

func TestDesiredLocalQueue(t *testing.T) {
	now := time.Date(2026, time.November, 21, 9, 0, 0, 0, time.UTC)
	flavor := func(name, resource string, total int64) admission.FlavorStatus {
		s := admission.FlavorStatus{}
		s.Flavor, s.Resource = name, resource
		s.Total = podrequests.ToAmount("gpu", *newQuantity(total))
		return s
	}
	standing := view.LocalQueueStatus{
		Activity: view.Activity{Reason: kueue.ReasonStopped, Message: "stopped"},
		LocalQueueStatus: admission.LocalQueueStatus{
			Pending: 5, Reserving: 4, Admitted: 1,
			Reserved: []admission.FlavorStatus{flavor("b", "gpu", 3), flavor("b", "nic", 1), flavor("a", "gpu", 0)},
			Used:     []admission.FlavorStatus{flavor("b", "gpu", 2)},
		},
	}
	use := func(total int64) kueue.LocalQueueResourceUsage {
		return kueue.LocalQueueResourceUsage{Name: "gpu", Total: *newQuantity(total)}
	}
	nic := kueue.LocalQueueResourceUsage{Name: "nic", Total: *newQuantity(1)}
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
	if diff := cmp.Diff(want, desiredLocalQueue(&kueue.LocalQueue{}, standing, view.RecentUsage{}, now).Status); diff != "" {
		t.Error(diff)
	}
}

func newQuantity(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.DecimalSI) }

func TestRecentUsageIsWrittenFromTheBeginningToTheEnd(t *testing.T) {
	at := time.Date(2026, time.November, 21, 9, 0, 0, 500, time.UTC)
	status := func(at time.Time, consumed corev1.ResourceList) *kueue.LocalQueueFairSharingStatus {
		return &kueue.LocalQueueFairSharingStatus{AdmissionFairSharingStatus: &kueue.AdmissionFairSharingStatus{
			LastUpdate: metav1.NewTime(at.Truncate(time.Second)), ConsumedResources: consumed,
		}}
	}
	later := at.Add(time.Hour)
	some := []usage.Consumed{{Resource: "gpu", Milli: 1500}, {Resource: "memory", Milli: 3000 << 40}}
	written := corev1.ResourceList{"gpu": resource.MustParse("1500m"), "memory": resource.MustParse("3Ti")}
	none, zero := corev1.ResourceList{}, corev1.ResourceList{"gpu": resource.MustParse("0")}
	for _, tc := range []struct {
		name      string
		was, want *kueue.LocalQueueFairSharingStatus
		account   usage.LocalQueueUsage
	}{
		{"of a new queue", nil, status(at, none), usage.LocalQueueUsage{SampledAt: at}},
		{"of a queue that has used nothing yet, at a further sample", status(at, none), status(at, none), usage.LocalQueueUsage{SampledAt: later}},
		{"of a queue that uses something", status(at, none), status(later, written), usage.LocalQueueUsage{SampledAt: later, Consumed: some}},
		{"at a further sample of the same", status(at, written), status(later, written), usage.LocalQueueUsage{SampledAt: later, Consumed: some}},
		{"of a queue whose usage has decayed", status(at, written), status(later, zero), usage.LocalQueueUsage{SampledAt: later, Consumed: []usage.Consumed{{Resource: "gpu"}}}},
		{"at every further sample", status(at, zero), status(at, zero), usage.LocalQueueUsage{SampledAt: later, Consumed: []usage.Consumed{{Resource: "gpu"}}}},
	} {
		if diff := cmp.Diff(tc.want, fairSharingStatus(tc.was, tc.account)); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
}

func TestWhoseRecentUsageIsWritten(t *testing.T) {
	now := time.Date(2026, time.November, 21, 9, 0, 0, 0, time.UTC)
	had := fairSharingStatus(nil, usage.LocalQueueUsage{SampledAt: now, Consumed: []usage.Consumed{{Resource: "gpu", Milli: 7}}})
	recent := view.RecentUsage{LocalQueueUsage: usage.LocalQueueUsage{SampledAt: now}, Enabled: true, Known: true}
	active := view.LocalQueueStatus{Activity: view.Activity{Active: true}}
	for name, c := range map[string]struct {
		standing view.LocalQueueStatus
		recent   view.RecentUsage
		want     *kueue.LocalQueueFairSharingStatus
	}{
		"of an active queue, whatever orders those who wait": {active, recent, fairSharingStatus(nil, recent.LocalQueueUsage)},
		"of a queue that is stopped it stays":                {view.LocalQueueStatus{}, recent, had},
		"of a queue that is not known yet it stays":          {active, view.RecentUsage{Enabled: true}, had},
		"without the configuration it goes":                  {active, view.RecentUsage{}, nil},
	} {
		lq := &kueue.LocalQueue{Status: kueue.LocalQueueStatus{FairSharing: had}}
		if diff := cmp.Diff(c.want, desiredLocalQueue(lq, c.standing, c.recent, now).Status.FairSharing); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
