package workload

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/lifecycle"
)

func testPreemption(because admission.Reason) Preemption {
	return Preemption{Reason: because, Queue: "cq", VictimPath: "/org/cq", PreemptorPath: "/org/team/theirs", Preemptor: &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
		Namespace: "other", Name: "big", UID: "uid-of-big", Labels: map[string]string{kueue.JobUIDLabel: "uid-of-job"},
	}}}
}

// newRunningWorkload is an admitted Workload, owned by a job or not.
func newRunningWorkload(owned bool) *kueue.Workload {
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Name: "wl", Namespace: "ns", UID: "uid-of-wl", Generation: 1}}
	if owned {
		wl.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: "job", Controller: ptr.To(true)}}
	}
	ReserveQuota(wl, &kueue.Admission{ClusterQueue: "cq"}, nil, "reserved", noon)
	return wl
}

func hasCondition(wl *kueue.Workload, t string, status metav1.ConditionStatus, reason string) bool {
	c := meta.FindStatusCondition(wl.Status.Conditions, t)
	return c != nil && c.Status == status && c.Reason == reason
}

func TestAPreemptedWorkloadOfAJobIsEvictedAndKeepsItsQuota(t *testing.T) {
	wl := newRunningWorkload(true)
	events := Preempt(wl, testPreemption(admission.InCohortReclamation), noon.Add(time.Minute))
	if !HasQuota(wl) || !hasCondition(wl, kueue.WorkloadEvicted, metav1.ConditionTrue, "Preempted") ||
		!hasCondition(wl, kueue.WorkloadPreempted, metav1.ConditionTrue, "InCohortReclamation") {
		t.Errorf("conditions %+v", wl.Status.Conditions)
	}
	want := []kueue.WorkloadSchedulingStatsEviction{{Reason: "Preempted", Count: 1}}
	if diff := cmp.Diff(want, wl.Status.SchedulingStats.Evictions); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for i, reason := range []string{"EvictedDueToPreempted", "Preempted"} {
		if e := events[i]; e.Reason != reason || e.Warning || !strings.Contains(e.Note, "(UID: uid-of-big, JobUID: uid-of-job) due to reclamation within the cohort; preemptor path: /org/team/theirs; preemptee path: /org/cq") {
			t.Errorf("event %+v", e)
		}
	}
	if again := Preempt(wl, testPreemption(admission.InCohortReclamation), noon.Add(time.Hour)); again != nil {
		t.Errorf("evicts what is leaving: %+v", again)
	}
}

func TestAPreemptedWorkloadWithoutOwnerKeepsItsQuota(t *testing.T) {
	wl := newRunningWorkload(false)
	if events := Preempt(wl, testPreemption(admission.InClusterQueue), noon.Add(time.Minute)); len(events) != 2 {
		t.Errorf("events %+v", events)
	}
	if !HasQuota(wl) || !hasCondition(wl, kueue.WorkloadEvicted, metav1.ConditionTrue, "Preempted") {
		t.Errorf("conditions %+v", wl.Status.Conditions)
	}
}

func TestAPreemptedRemoteCopyWithoutJobIsReleasedInTheSameWrite(t *testing.T) {
	wl := newRunningWorkload(false)
	wl.Labels = map[string]string{kueue.MultiKueueOriginLabel: "hub"}
	if events := Preempt(wl, testPreemption(admission.InClusterQueue), noon.Add(time.Minute)); len(events) != 2 {
		t.Errorf("events %+v", events)
	}
	if HasQuota(wl) || !MayQueue(wl) || !hasCondition(wl, kueue.WorkloadRequeued, metav1.ConditionTrue, "Preempted") {
		t.Errorf("conditions %+v", wl.Status.Conditions)
	}
	if got := ptr.Deref(wl.Status.AccumulatedPastExecutionTimeSeconds, 0); got != 60 {
		t.Errorf("past execution %d s", got)
	}
}

func TestNobodyPreemptsWhatHoldsNothingOrHasFinished(t *testing.T) {
	over := newRunningWorkload(true)
	Finish(over, kueue.ReasonSucceeded, "", noon)
	for name, wl := range map[string]*kueue.Workload{"waiting": {}, "finished": over} {
		if events := Preempt(wl, testPreemption(admission.InClusterQueue), noon); events != nil {
			t.Errorf("%s: %+v", name, events)
		}
	}
}

func TestThePreemptorGetsAnEventForEveryVictim(t *testing.T) {
	e := PreemptedWorkloadEvent(newRunningWorkload(true), testPreemption(admission.InCohortFairSharing))
	if e.Reason != "PreemptedWorkload" || !strings.Contains(e.Note, "ns/wl (UID: uid-of-wl) in ClusterQueue cq; preemptor effective priority: 0 (base: 0, boost: 0); preemptee effective") {
		t.Errorf("event %+v", e)
	}
}

func TestAPreemptionGateThatIsNotOpenIsClosed(t *testing.T) {
	wl := &kueue.Workload{}
	for _, name := range []string{"new", "closed", "open"} {
		wl.Spec.PreemptionGates = append(wl.Spec.PreemptionGates, kueue.PreemptionGate{Name: name})
	}
	wl.Status.PreemptionGates = []kueue.PreemptionGateState{
		{Name: "closed", Position: kueue.GateClosed}, {Name: "open", Position: kueue.GateOpen}, {Name: "forgotten", Position: kueue.GateClosed},
	}
	if diff := cmp.Diff([]string{"closed", "new"}, ClosedPreemptionGates(wl)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestBlockedOnPreemptionGatesIsSetOnce(t *testing.T) {
	wl := &kueue.Workload{}
	if !SetBlockedOnPreemptionGates(wl, noon) || SetBlockedOnPreemptionGates(wl, noon.Add(time.Hour)) {
		t.Error("changes something other than once")
	}
	c := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadBlockedOnPreemptionGates)
	if !IsBlockedOnPreemptionGates(wl) || c.Reason != "PreemptionGated" || c.Message != "Workload requires preemption, but it's gated" {
		t.Errorf("got %+v", c)
	}
	ReserveQuota(wl, &kueue.Admission{ClusterQueue: "cq"}, nil, "reserved", noon)
	if IsBlockedOnPreemptionGates(wl) {
		t.Error("a reservation leaves it blocked")
	}
}

func TestTheFirstStatusWriteClosesTheGatesOfTheSpec(t *testing.T) {
	made := metav1.NewTime(noon.Add(-time.Minute))
	for name, write := range map[string]func(*kueue.Workload){
		"a reservation": func(wl *kueue.Workload) {
			ReserveQuota(wl, &kueue.Admission{ClusterQueue: "cq"}, nil, "reserved", noon)
		},
		"a wait for quota":   func(wl *kueue.Workload) { SetPending(wl, admission.WaitingForQuota, "no room", noon) },
		"that they block it": func(wl *kueue.Workload) { SetBlockedOnPreemptionGates(wl, noon) },
		"a step of its life": func(wl *kueue.Workload) {
			ApplyPlan(wl, lifecycle.Step(State(wl), lifecycle.Observation{Now: noon, AdmissionGates: []string{"x"}}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: made}}
			wl.Spec.Active = ptr.To(true)
			for _, gate := range []string{"b", "a", "opened"} {
				wl.Spec.PreemptionGates = append(wl.Spec.PreemptionGates, kueue.PreemptionGate{Name: gate})
			}
			opened := kueue.PreemptionGateState{Name: "opened", Position: kueue.GateOpen, LastTransitionTime: metav1.NewTime(noon)}
			wl.Status.PreemptionGates = []kueue.PreemptionGateState{opened, {Name: "not in the spec", Position: kueue.GateOpen}}
			write(wl)
			want := []kueue.PreemptionGateState{
				{Name: "b", Position: kueue.GateClosed, LastTransitionTime: made}, {Name: "a", Position: kueue.GateClosed, LastTransitionTime: made}, opened,
			}
			if diff := cmp.Diff(want, wl.Status.PreemptionGates); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestGatesAloneAreNoReasonToWrite(t *testing.T) {
	wl := &kueue.Workload{}
	SetPending(wl, admission.WaitingForQuota, "no room", noon)
	wl.Spec.PreemptionGates = []kueue.PreemptionGate{{Name: "late"}}
	if SetPending(wl, admission.WaitingForQuota, "no room", noon.Add(time.Hour)) || len(wl.Status.PreemptionGates) > 0 {
		t.Errorf("gates %+v", wl.Status.PreemptionGates)
	}
}

func TestPriorityIsThatOfTheSpecAndTheBoost(t *testing.T) {
	for _, c := range []struct {
		name     string
		priority *int32
		boost    string
		gate     bool
		want     int32
	}{
		{"no priority is 0", nil, "", true, 0},
		{"a boost is added", ptr.To[int32](7), "-10", true, -3},
		{"also to no priority", nil, "+5", true, 5},
		{"not with the gate off", ptr.To[int32](7), "3", false, 7},
		{"what is no number counts as nothing", ptr.To[int32](7), "lots", true, 7},
		{"nor does what is too great a number", ptr.To[int32](7), "2147483648", true, 7},
		{"a sum that is too great stays at the greatest", ptr.To[int32](math.MaxInt32 - 1), "5", true, math.MaxInt32},
		{"and one too small at the smallest", ptr.To[int32](math.MinInt32 + 1), "-5", true, math.MinInt32},
	} {
		t.Run(c.name, func(t *testing.T) {
			wl := &kueue.Workload{Spec: kueue.WorkloadSpec{Priority: c.priority}}
			if c.boost != "" {
				wl.Annotations = map[string]string{kueue.PriorityBoostAnnotation: c.boost}
			}
			if got := Priority(wl, c.gate); got != c.want {
				t.Errorf("got %d", got)
			}
		})
	}
}

func TestPodsReadyIsFalseFromTheAdmissionOnUntilTheyStart(t *testing.T) {
	later := noon.Add(time.Hour)
	for _, c := range []struct {
		name string
		was  *metav1.Condition
		want time.Time
	}{
		{"nothing was said before", nil, later},
		{"they were ready in an earlier admission", &metav1.Condition{Status: "True", Reason: "Started"}, later},
		{"they were lost in an earlier admission", &metav1.Condition{Status: "False", Reason: "WaitForRecovery"}, noon}, // a status that stays keeps its time
		{"it says so already", &metav1.Condition{Status: "False", Reason: "WaitForStart"}, noon},
	} {
		t.Run(c.name, func(t *testing.T) {
			wl := newRunningWorkload(true)
			if c.was != nil {
				c.was.Type, c.was.LastTransitionTime = kueue.WorkloadPodsReady, metav1.NewTime(noon)
				wl.Status.Conditions = append(wl.Status.Conditions, *c.was)
			}
			SetPodsNotReady(wl, later)
			got := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadPodsReady)
			if !hasCondition(wl, kueue.WorkloadPodsReady, "False", "WaitForStart") || !got.LastTransitionTime.Time.Equal(c.want) || ArePodsReady(wl) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestPodsAreReadyOnlyIfThatWasSaidInThisAdmission(t *testing.T) {
	wl := newRunningWorkload(true)
	said := func(status metav1.ConditionStatus, at time.Time) *kueue.Workload {
		with := wl.DeepCopy()
		with.Status.Conditions = append(with.Status.Conditions, metav1.Condition{
			Type: kueue.WorkloadPodsReady, Status: status, LastTransitionTime: metav1.NewTime(at),
		})
		return with
	}
	for _, c := range []struct {
		name string
		wl   *kueue.Workload
		want bool
	}{
		{"nothing was said", wl, false},
		{"they are", said(metav1.ConditionTrue, noon.Add(time.Minute)), true},
		{"they are not", said(metav1.ConditionFalse, noon.Add(time.Minute)), false},
		{"they were, before", said(metav1.ConditionTrue, noon.Add(-time.Minute)), false},
		{"they are, and nothing is admitted", &kueue.Workload{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ArePodsReady(c.wl); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
