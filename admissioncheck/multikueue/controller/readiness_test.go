package controller

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"switchyard.dev/admissioncheck/multikueue/mirror"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job/statefulset"
)

// setOnHub is a StatefulSet with its Workload.
func setOnHub() mirror.Original {
	return mirror.Original{
		Origin: origin, Kind: statefulset.Mirrored(), JobName: "web",
		Workload: &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "wl", UID: "wl-uid"}},
		Job: &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "set-uid"}, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](2)},
		},
	}
}

func setThere(t *testing.T, epoch int64, ready int32) *appsv1.StatefulSet {
	t.Helper()
	set, ok := setOnHub().JobCopy(epoch, false).(*appsv1.StatefulSet)
	if !ok {
		t.Fatal("the copy is no StatefulSet")
	}
	set.Status.ReadyReplicas = ready
	return set
}

func TestPodsAreReadyWhenTheirClusterSaysSo(t *testing.T) {
	o := setOnHub()
	workload := func(epoch int64, status metav1.ConditionStatus) *kueue.Workload {
		wl := o.WorkloadCopy(epoch)
		meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{Type: kueue.WorkloadPodsReady, Status: status})
		return wl
	}
	foreign := setThere(t, 2, 2)
	foreign.Labels = nil
	for name, c := range map[string]struct {
		seen mirror.Found
		want bool
	}{
		"nothing is seen":                     {mirror.Found{}, false},
		"its Workload says so":                {mirror.Found{Workload: workload(2, "True")}, true},
		"an earlier Workload says so":         {mirror.Found{Workload: workload(1, "True")}, false},
		"the set says so":                     {mirror.Found{Workload: o.WorkloadCopy(2), Job: setThere(t, 2, 2)}, true},
		"the set lacks a pod":                 {mirror.Found{Workload: workload(2, "False"), Job: setThere(t, 2, 1)}, false},
		"a set says so that is somebody's":    {mirror.Found{Workload: o.WorkloadCopy(2), Job: foreign}, false},
		"a set says so, without its Workload": {mirror.Found{Job: setThere(t, 2, 2)}, false},
	} {
		if got := areReadyThere(o, c.seen, 2); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestAWorkerWhosePodsAreReadyNowAndThenCostsLittle(t *testing.T) {
	s := &workloadScope{original: setOnHub()}
	wl, noon := s.original.Workload, time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{Type: kueue.WorkloadAdmitted, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon)})
	said := 0
	for i := range 100 { // a tenth of a second each
		s.observed.Now = noon.Add(time.Duration(i) * 100 * time.Millisecond)
		if next := s.nextReadiness(i%2 == 0); next != nil {
			said++
			meta.SetStatusCondition(&wl.Status.Conditions, *next)
		}
	}
	if most := int(10*time.Second/statusCopyInterval) + 1; said < 2 || said > most {
		t.Errorf("it was said %d times in ten seconds", said)
	}
	s.observed.Now, s.retryAt = noon.Add(time.Hour), time.Time{}
	before := meta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadPodsReady)
	if next := s.nextReadiness(!before); next == nil || !s.retryAt.IsZero() {
		t.Errorf("it is not said when it is due: %v", next)
	}
}

// Under run-once a set that is gone counts as stopped only if its status has shown that no pod is left, or its worker lets nobody hurry that.
func TestASetHasStoppedWhenItsStatusShowsNoPods(t *testing.T) {
	o := setOnHub()
	for name, c := range map[string]struct {
		change  func(*appsv1.StatefulSet)
		guarded bool
		want    int64
	}{
		"it showed no pods": {func(s *appsv1.StatefulSet) { s.Status.ObservedGeneration = 2 }, false, 3},
		"it showed pods":    {func(s *appsv1.StatefulSet) { s.Status.ObservedGeneration, s.Status.Replicas = 2, 1 }, false, 0},
		"its controller had not looked at its deletion": {func(s *appsv1.StatefulSet) { s.Status.ObservedGeneration = 1 }, false, 0},
		"it showed pods on a worker that waits":         {func(s *appsv1.StatefulSet) { s.Status.Replicas = 1 }, true, 3},
		"it was deleted in the background":              {func(s *appsv1.StatefulSet) { s.Finalizers = nil }, true, 0},
	} {
		last := setThere(t, 3, 0)
		last.Generation, last.Finalizers = 2, []string{metav1.FinalizerDeleteDependents}
		c.change(last)
		l := deletedObjects{}
		l.job.LastState, l.job.DeletionObserved = last, true
		if got := stoppedEpoch(o, l, c.guarded); got != c.want {
			t.Errorf("%s: stopped in epoch %d, want %d", name, got, c.want)
		}
	}
}
