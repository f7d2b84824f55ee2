package workload

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/lifecycle"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// newFullWorkload is a Workload with something in every part of its status.
func newFullWorkload() *kueue.Workload {
	at := metav1.NewTime(noon)
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Name: "wl", Namespace: "ns", Generation: 3}}
	wl.Spec.PreemptionGates = []kueue.PreemptionGate{{Name: "g"}}
	wl.Status = kueue.WorkloadStatus{
		Conditions: []metav1.Condition{
			{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionTrue, Reason: "QuotaReserved", Message: "m", LastTransitionTime: at, ObservedGeneration: 3},
			{Type: "example.com/Epoch", Status: metav1.ConditionFalse, Reason: "Odd", Message: "7", LastTransitionTime: at, ObservedGeneration: 7},
			{Type: kueue.WorkloadPodsReady, Status: metav1.ConditionTrue, Reason: "Started", LastTransitionTime: at},
		},
		Admission: &kueue.Admission{ClusterQueue: "cq", PodSetAssignments: []kueue.PodSetAssignment{{
			Name: "main", Flavors: map[corev1.ResourceName]kueue.ResourceFlavorReference{"cpu": "a", "gpu": "b", "memory": "a"},
		}}},
		AdmissionChecks: []kueue.AdmissionCheckState{{
			Name: "check", State: kueue.CheckStateReady, Message: "fine", LastTransitionTime: at, RetryCount: ptr.To[int32](2),
			PodSetUpdates: []kueue.PodSetUpdate{{Name: "main", Labels: map[string]string{"a": "b"}}},
		}},
		RequeueState:                        &kueue.RequeueState{Count: ptr.To[int32](1), RequeueAt: &at},
		ReclaimablePods:                     []kueue.ReclaimablePod{{Name: "main", Count: 1}},
		AccumulatedPastExecutionTimeSeconds: ptr.To[int32](90),
		SchedulingStats: &kueue.SchedulingStats{Evictions: []kueue.WorkloadSchedulingStatsEviction{
			{Reason: "Deactivated", UnderlyingCause: "AdmissionCheck", Count: 2},
		}},
		ClusterName:     ptr.To("w1"),
		UnhealthyNodes:  []kueue.UnhealthyNode{{Name: "n1"}},
		PreemptionGates: []kueue.PreemptionGateState{{Name: "g", Position: kueue.GateClosed, LastTransitionTime: at}},
	}
	return wl
}

func TestReadingAndWritingTheStateKeepsAllOfAStatus(t *testing.T) {
	wl := newFullWorkload()
	SetState(wl, State(wl))
	if diff := cmp.Diff(newFullWorkload(), wl); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTheNamesOfThePureRulesAreThoseOfTheAPI(t *testing.T) {
	for _, pair := range [][2]string{
		{string(lifecycle.QuotaReserved), kueue.WorkloadQuotaReserved},
		{string(lifecycle.Admitted), kueue.WorkloadAdmitted},
		{string(lifecycle.Finished), kueue.WorkloadFinished},
		{string(lifecycle.Evicted), kueue.WorkloadEvicted},
		{string(lifecycle.Preempted), kueue.WorkloadPreempted},
		{string(lifecycle.Requeued), kueue.WorkloadRequeued},
		{string(lifecycle.DeactivationTarget), kueue.WorkloadDeactivationTarget},
		{string(lifecycle.BlockedOnPreemptionGates), kueue.WorkloadBlockedOnPreemptionGates},
		{string(lifecycle.PodsReady), kueue.WorkloadPodsReady},
		{string(lifecycle.WaitForRecovery), string(kueue.ReasonWaitForRecovery)},
		{string(lifecycle.PreemptionGated), string(kueue.ReasonPreemptionGated)},
		{string(lifecycle.OwnerNotFound), string(kueue.ReasonOwnerNotFound)},
		{string(lifecycle.DeactivateForAdmissionCheck), string(kueue.ReasonAdmissionCheck)},
		{string(lifecycle.DeactivateForExecutionTime), string(kueue.ReasonMaximumExecutionTimeExceeded)},
		{string(lifecycle.DeactivateForRequeuing), string(kueue.ReasonRequeuingLimitExceeded)},
		{string(lifecycle.EventExecutionTimeExceeded), kueue.EventMaximumExecutionTimeExceeded},
		{string(lifecycle.EventDeleted), kueue.EventDeleted},
		{string(lifecycle.CheckPending), string(kueue.CheckStatePending)},
		{string(lifecycle.CheckReady), string(kueue.CheckStateReady)},
		{string(lifecycle.CheckRetry), string(kueue.CheckStateRetry)},
		{string(lifecycle.CheckRejected), string(kueue.CheckStateRejected)},
		{string(lifecycle.EvictedByPreemption), string(kueue.ReasonPreempted)},
		{string(lifecycle.EvictedByPodsReadyTimeout), string(kueue.ReasonPodsReadyTimeout)},
		{string(lifecycle.EvictedByAdmissionCheck), string(kueue.ReasonAdmissionCheck)},
		{string(lifecycle.EvictedByClusterQueueStopped), string(kueue.ReasonClusterQueueStopped)},
		{string(lifecycle.EvictedByLocalQueueStopped), string(kueue.ReasonLocalQueueStopped)},
		{string(lifecycle.EvictedByNodeFailures), string(kueue.ReasonNodeFailures)},
		{string(lifecycle.EvictedByDeactivation), string(kueue.ReasonDeactivated)},
		{string(lifecycle.RequeuedReactivated), string(kueue.ReasonReactivated)},
		{string(lifecycle.RequeuedBackoffFinished), string(kueue.ReasonBackoffFinished)},
		{string(lifecycle.RequeuedClusterQueueRestarted), string(kueue.ReasonClusterQueueRestarted)},
		{string(lifecycle.RequeuedLocalQueueRestarted), string(kueue.ReasonLocalQueueRestarted)},
		{string(lifecycle.EventAdmissionCheckRejected), kueue.EventAdmissionCheckRejected},
		{string(lifecycle.EventAdmissionGated), kueue.EventAdmissionGated},
		{string(lifecycle.EventAdmissionGateCleared), kueue.EventAdmissionGateCleared},
		{string(admission.UnsatisfiedAdmissionChecks), string(kueue.ReasonUnsatisfiedAdmissionChecks)},
		{string(admission.NoReservation), string(kueue.ReasonNoReservation)},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%q is %q in the API", pair[0], pair[1])
		}
	}
}

// newWorkloadWithCheck is a Workload with a reservation and a check that has not answered.
func newWorkloadWithCheck() *kueue.Workload {
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Name: "wl", Namespace: "ns", Generation: 1}}
	ReserveQuota(wl, &kueue.Admission{ClusterQueue: "cq"}, []string{"check"}, "reserved", noon)
	return wl
}

func TestTheLastReadyCheckAdmitsTheWorkloadInTheSameWrite(t *testing.T) {
	wl := newWorkloadWithCheck()
	if IsAdmitted(wl) || !HasQuota(wl) || StatusClassOf(wl) != QuotaReserved {
		t.Fatalf("before: %s", StatusClassOf(wl))
	}
	if !SetAdmissionCheck(wl, "check", kueue.CheckStateReady, "worker says yes", noon.Add(time.Minute)) {
		t.Fatal("the check did not change")
	}
	events := DeriveConditions(wl, noon.Add(time.Minute))
	if !IsAdmitted(wl) || StatusClassOf(wl) != Admitted {
		t.Errorf("not admitted: %+v", wl.Status.Conditions)
	}
	if len(events) != 1 || events[0].Reason != "Admitted" || !strings.Contains(events[0].Note, "60s") {
		t.Errorf("events: %+v", events)
	}
	if again := DeriveConditions(wl, noon.Add(2*time.Minute)); len(again) > 0 {
		t.Errorf("tells it twice: %+v", again)
	}
}

func TestACheckChangesItsTimeOnlyWithItsState(t *testing.T) {
	wl := newWorkloadWithCheck()
	SetAdmissionCheck(wl, "check", kueue.CheckStatePending, "still looking", noon.Add(time.Minute))
	if got := FindAdmissionCheck(wl, "check"); !got.LastTransitionTime.Time.Equal(noon) || got.Message != "still looking" {
		t.Errorf("got %+v", got)
	}
	if SetAdmissionCheck(wl, "other", kueue.CheckStateReady, "", noon) || SetAdmissionCheck(wl, "check", kueue.CheckStatePending, "still looking", noon) {
		t.Error("reports a change where there is none")
	}
}

func TestAReservationKeepsTheAdmissionAsItIs(t *testing.T) {
	wl := newWorkloadWithCheck()
	if diff := cmp.Diff(&kueue.Admission{ClusterQueue: "cq"}, wl.Status.Admission); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestReleaseClearsWhatTheEvictedWorkloadHeld(t *testing.T) {
	wl := newFullWorkload()
	if ReleaseQuota(wl, noon) {
		t.Fatal("released a workload that is not evicted")
	}
	if !Evict(wl, lifecycle.Eviction{Reason: lifecycle.EvictedByPreemption, Message: "for x"}, noon) || !IsEvicted(wl) || !HasQuota(wl) {
		t.Fatal("an eviction must mark the workload and leave it its quota")
	}
	if wl.Status.AdmissionChecks[0].PodSetUpdates != nil {
		t.Error("a check that begins anew keeps its pod set updates")
	}
	if !ReleaseQuota(wl, noon.Add(time.Minute)) {
		t.Fatal("not released")
	}
	if ReleaseQuota(wl, noon.Add(time.Hour)) {
		t.Error("released twice")
	}
	st := wl.Status
	if st.Admission != nil || st.ClusterName != nil || st.UnhealthyNodes != nil || HasQuota(wl) {
		t.Errorf("still holds %+v", st)
	}
	if !meta.IsStatusConditionTrue(st.Conditions, kueue.WorkloadRequeued) || !MayQueue(wl) {
		t.Error("a victim may queue again at once")
	}
	if meta.FindStatusCondition(st.Conditions, "example.com/Epoch") == nil {
		t.Error("a condition of others was dropped")
	}
}

func TestFinishIsFinal(t *testing.T) {
	wl := newWorkloadWithCheck()
	if !Finish(wl, kueue.ReasonSucceeded, "done", noon) || Finish(wl, kueue.ReasonFailed, "no", noon) {
		t.Error("finishes other than once")
	}
	if c := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadFinished); c.Reason != "Succeeded" || StatusClassOf(wl) != Finished {
		t.Errorf("got %+v", c)
	}
}

func TestAMessageThatIsTooLongIsCut(t *testing.T) {
	wl := &kueue.Workload{}
	long := strings.Repeat("x", 40*1024)
	if !SetPending(wl, admission.WaitingForQuota, long, noon) || SetPending(wl, admission.WaitingForQuota, long, noon) {
		t.Error("the same long message is not the same again")
	}
	if n := len(wl.Status.Conditions[0].Message); n != 32*1024 {
		t.Errorf("%d bytes", n)
	}
}

func TestApplicableChecks(t *testing.T) {
	cq := &kueue.ClusterQueue{}
	if got := ApplicableChecks(cq, &kueue.Admission{}); got != nil {
		t.Errorf("a queue without checks asks for %q", got)
	}
	cq.Spec.AdmissionChecksStrategy = &kueue.AdmissionChecksStrategy{AdmissionChecks: []kueue.AdmissionCheckStrategyRule{
		{Name: "z"}, {Name: "onB", OnFlavors: []kueue.ResourceFlavorReference{"x", "b"}}, {Name: "onC", OnFlavors: []kueue.ResourceFlavorReference{"c"}},
	}}
	if diff := cmp.Diff([]string{"onB", "z"}, ApplicableChecks(cq, newFullWorkload().Status.Admission), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAdmissionGatesAreNormalized(t *testing.T) {
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{kueue.AdmissionGatedByAnnotation: " b,a ,,b"}}}
	if diff := cmp.Diff([]string{"a", "b"}, AdmissionGates(wl)); diff != "" || MayQueue(wl) {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A Workload that was admitted for less than a second has been admitted: zero is said, and nothing before there was an admission.
func TestAnAdmissionOfNoTimeIsAnAdmissionToo(t *testing.T) {
	now := time.Date(2026, time.November, 21, 9, 0, 0, 0, time.UTC)
	wl := &kueue.Workload{Spec: kueue.WorkloadSpec{PodSets: []kueue.PodSet{{Name: "main", Count: 1}}}}
	ReserveQuota(wl, &kueue.Admission{ClusterQueue: "cq"}, nil, "reserved", now)
	if past := wl.Status.AccumulatedPastExecutionTimeSeconds; past != nil {
		t.Errorf("%d seconds of earlier admissions in the first", *past)
	}
	evict := func(reason admission.Reason) {
		Evict(wl, lifecycle.Eviction{Reason: reason}, now.Add(300*time.Millisecond))
		ReleaseQuota(wl, now.Add(600*time.Millisecond))
	}
	evict(lifecycle.EvictedByPreemption)
	if past := wl.Status.AccumulatedPastExecutionTimeSeconds; past == nil || *past != 0 {
		t.Errorf("past execution is %v, want 0", past)
	}
	ReserveQuota(wl, &kueue.Admission{ClusterQueue: "cq"}, nil, "reserved", now)
	evict("DeactivatedDueToMaximumExecutionTimeExceeded")
	if past := wl.Status.AccumulatedPastExecutionTimeSeconds; past != nil {
		t.Errorf("%d seconds are left of a time that was used up", *past)
	}
}

func TestAWorkloadOnHoldDoesNotQueue(t *testing.T) {
	wl := &kueue.Workload{Spec: kueue.WorkloadSpec{PodSets: []kueue.PodSet{{Name: "main", Count: 1}}}}
	ReserveQuota(wl, &kueue.Admission{ClusterQueue: "cq"}, nil, "reserved", noon)
	if !Hold(wl, "nothing to run", noon) || Hold(wl, "nothing to run", noon) {
		t.Error("it is not held once")
	}
	if !IsOnHold(wl) || MayQueue(wl) || HasQuota(wl) {
		t.Errorf("on hold %v, may queue %v, has quota %v", IsOnHold(wl), MayQueue(wl), HasQuota(wl))
	}
	if !Resume(wl, noon) || IsOnHold(wl) || !MayQueue(wl) || Resume(wl, noon) {
		t.Error("it does not queue again, once")
	}
}
