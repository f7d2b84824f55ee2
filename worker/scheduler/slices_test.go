package scheduler

import (
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// submitSlice creates a slice of the elastic job "job".
func (s *testEnv) submitSlice(name string, gpus int32, replaces string) {
	s.Helper()
	s.submitWorkload(name, gpus)
	wl := s.getWorkload(name)
	wl.Annotations = map[string]string{kueue.ElasticJobAnnotation: "true", kueue.WorkloadSliceNameAnnotation: "old"}
	wl.Labels = map[string]string{kueue.JobUIDLabel: "job-uid"}
	wl.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: "job-uid", Controller: ptr.To(true)}}
	if replaces != "" {
		wl.Annotations[kueue.WorkloadSliceReplacementForAnnotation] = "ns/" + replaces
		wl.CreationTimestamp = metav1.NewTime(baseTime.Add(time.Hour))
	}
	if err := s.client.Update(s.Context(), wl); err != nil {
		s.Fatal(err)
	}
	s.deliver(s.getWorkload(name))
}

func TestTheAdmissionOfASliceFinishesTheOneBeforeIt(t *testing.T) {
	s := newTestEnv(t)
	s.submitSlice("old", 3, "")
	s.runCycle()
	old := s.getWorkload("old")
	old.Status.ClusterName = ptr.To("w1")
	if err := s.client.Status().Update(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	s.deliver(s.getWorkload("old"))
	s.recordedEvents()
	s.submitSlice("new", 4, "old")
	s.runCycle()
	if got := s.conditionOf("new", kueue.WorkloadAdmitted); got != "True Admitted" {
		t.Errorf("the new slice: %q", got)
	}
	if got := ptr.Deref(s.getWorkload("new").Status.ClusterName, ""); got != "w1" {
		t.Errorf("the new slice goes to %q", got)
	}
	c := meta.FindStatusCondition(s.getWorkload("old").Status.Conditions, kueue.WorkloadFinished)
	want := "Replaced to accommodate a workload (UID: " + string(s.getWorkload("new").UID) + ", JobUID: job-uid) due to workload slice aggregation"
	if want = strings.Replace(want, "UID: ,", "UID: UNKNOWN,", 1); c == nil || c.Reason != "WorkloadSliceReplaced" || c.Message != want {
		t.Errorf("the old slice: %+v", c)
	}
	if said := s.recordedEvents(); len(said) != 3 || !strings.HasPrefix(said[2], "Normal WorkloadSliceReplaced Replaced to accommodate") {
		t.Errorf("events are %q", said)
	}
}

// The second write fails: the old slice counts for nothing all the same, and its job's reconciler ends it.
func TestAnOldSliceThatCannotBeFinishedHoldsNothing(t *testing.T) {
	s := newTestEnv(t)
	s.submitSlice("old", 3, "")
	s.runCycle()
	s.deliver(s.getWorkload("old"))
	s.submitSlice("new", 3, "old")
	s.writeErrors = []error{nil, apierrors.NewConflict(schema.GroupResource{Resource: "workloads"}, "old", nil)}
	s.runCycle()
	if got := s.conditionOf("old", kueue.WorkloadFinished); got != "" {
		t.Fatalf("the old slice: %q", got)
	}
	s.deliver(s.getWorkload("old"), s.getWorkload("new"))
	s.submitWorkload("other", 1)
	s.runCycle()
	if got := s.conditionOf("other", kueue.WorkloadAdmitted); got != "True Admitted" {
		t.Errorf("another workload does not get what is left: %q", got)
	}
	s.submitWorkload("third", 1)
	s.runCycle()
	if got := s.conditionOf("third", kueue.WorkloadAdmitted); got != "" && got != "False NoReservation" {
		t.Errorf("more is admitted than there is: %q", got)
	}
}

func TestASliceThatIsNotAdmittedLeavesTheOldOneAlone(t *testing.T) {
	s := newTestEnv(t)
	s.submitSlice("old", 3, "")
	s.runCycle()
	s.deliver(s.getWorkload("old"))
	s.submitSlice("new", 4, "old")
	s.writeErrors = []error{apierrors.NewConflict(schema.GroupResource{Resource: "workloads"}, "new", nil)}
	s.runCycle()
	if got := s.conditionOf("old", kueue.WorkloadFinished); got != "" {
		t.Errorf("the old slice: %q", got)
	}
}
