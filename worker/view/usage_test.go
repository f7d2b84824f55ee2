package view

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/usage"
)

// newUsageBasedView is a view that samples every minute and forgets half in a minute, with LocalQueues lq and lq2 behind cq.
func newUsageBasedView() *View {
	v := New(Options{Usage: &usage.Options{HalfLife: time.Minute, Interval: time.Minute}})
	cq := testQueue("cq", "4", "red")
	cq.Spec.AdmissionScope = &kueue.AdmissionScope{AdmissionMode: kueue.UsageBasedAdmissionFairSharing}
	setObjects(v, testNamespace(nil), testFlavor("red"), cq, testLocalQueue("lq", "cq"), testLocalQueue("lq2", "cq"))
	return v
}

func runEmptyCycle(v *View, now time.Time) CycleResult {
	return v.RunCycle(now, func(*admission.Snapshot) admission.Plan { return admission.Plan{} })
}

// recentUsageOf is the figure of lq in whole gpus and thousandths.
func recentUsageOf(v *View) int64 { return int64(v.snap.RecentUsage(keyOf("ns", "lq"))) }

func setAdmitted(wl *kueue.Workload) *kueue.Workload {
	setCondition(&wl.Status.Conditions, kueue.WorkloadAdmitted, true, "Admitted", baseTime)
	return wl
}

func TestAnAssumptionCountsAsUsageOfItsLocalQueue(t *testing.T) {
	const penalty = 2000 // Half of 4 gpus.
	reserved := func() *kueue.Workload { return setReservation(testWorkload("w", 4, 20), "cq", "red") }
	ended := setAdmitted(reserved())
	setCondition(&ended.Status.Conditions, kueue.WorkloadFinished, true, "Succeeded", baseTime)
	for name, tc := range map[string]struct {
		then func(v *View, seen *kueue.Workload)
		want int64
	}{
		"while it is assumed":                {func(*View, *kueue.Workload) {}, penalty},
		"while it is reserved":               {func(v *View, _ *kueue.Workload) { setObjects(v, reserved()) }, penalty},
		"when it is admitted":                {func(v *View, _ *kueue.Workload) { setObjects(v, reserved(), setAdmitted(reserved())) }, penalty},
		"when it is admitted and ended":      {func(v *View, _ *kueue.Workload) { setObjects(v, ended) }, penalty},
		"not after a refusal":                {func(v *View, seen *kueue.Workload) { v.RecordRefusal(seen, baseTime) }, 0},
		"not when it lost its reservation":   {func(v *View, _ *kueue.Workload) { setObjects(v, reserved(), testWorkload("w", 4, 30)) }, 0},
		"not when it is deleted before that": {func(v *View, seen *kueue.Workload) { deleteObject(v, seen) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			v := newUsageBasedView()
			setObjects(v, testWorkload("w", 4, 10))
			batch := runCycle(v, baseTime)
			tc.then(v, batch.Admit[0].Object)
			runEmptyCycle(v, baseTime)
			if got := recentUsageOf(v); got != tc.want {
				t.Errorf("the figure is %d, want %d", got, tc.want)
			}
		})
	}
}

func TestUsageIsSampledAtTheTimeOfTheCycle(t *testing.T) {
	v := newUsageBasedView()
	setObjects(v, setAdmitted(setReservation(testWorkload("w", 4, 10), "cq", "red")))
	if got := runEmptyCycle(v, baseTime).NextCycleAt; !got.Equal(timeAt(60)) {
		t.Errorf("the next sample is at %s", got)
	}
	for minute, want := range []int64{0, 2000, 3000, 3500} {
		if runEmptyCycle(v, timeAt(60*minute)); recentUsageOf(v) != want {
			t.Errorf("after %d minutes the figure is %d, want %d", minute, recentUsageOf(v), want)
		}
	}
	if a, known := v.OrderingUsage(types.NamespacedName{Namespace: "ns", Name: "lq"}); !known || !a.SampledAt.Equal(timeAt(180)) || a.WeightedUsage != 3500 {
		t.Errorf("the account is %+v", a)
	}
}

func TestUsageSurvivesARestart(t *testing.T) {
	v := newUsageBasedView()
	lq := testLocalQueue("lq3", "cq")
	lq.Status.FairSharing = &kueue.LocalQueueFairSharingStatus{AdmissionFairSharingStatus: &kueue.AdmissionFairSharingStatus{
		ConsumedResources: corev1.ResourceList{"gpu": resource.MustParse("6")}, LastUpdate: metav1.NewTime(baseTime.Add(-time.Minute)),
	}}
	wl := setReservation(testWorkload("w", 2, 10), "cq", "red")
	wl.Spec.QueueName = "lq3"
	setObjects(v, wl, lq) // The reservation is known before the LocalQueue.
	runEmptyCycle(v, baseTime)
	if got := v.snap.RecentUsage(keyOf("ns", "lq3")); got != 3000+1000 {
		t.Errorf("the figure is %d, want half of what it was and half of 2 gpus as a penalty", got)
	}
	deleteObject(v, lq)
	if _, known := v.OrderingUsage(types.NamespacedName{Namespace: "ns", Name: "lq3"}); known || v.snap.RecentUsage(keyOf("ns", "lq3")) != 0 {
		t.Error("a LocalQueue that is gone has used nothing")
	}
}

func TestTheLocalQueueThatUsedLessGoesFirst(t *testing.T) {
	v := newUsageBasedView()
	heavy, light, other := testWorkload("heavy", 4, 1), testWorkload("light", 4, 2), testWorkload("running", 4, 3)
	light.Spec.QueueName, light.CreationTimestamp = "lq2", metav1.NewTime(timeAt(9))
	setObjects(v, setAdmitted(setReservation(other, "cq", "red")), heavy, light)
	runEmptyCycle(v, baseTime)
	runEmptyCycle(v, timeAt(60))
	deleteObject(v, other)
	batch := runCycle(v, timeAt(60))
	if names := slices.Collect(func(yield func(string) bool) {
		for _, d := range batch.Admit {
			yield(d.Workload.Name)
		}
	}); !slices.Equal(names, []string{"light"}) {
		t.Errorf("admitted are %v, want the one whose LocalQueue used nothing", names)
	}
}

func TestRecentUsageIsKeptWithoutAScopeAndListedDownToZero(t *testing.T) {
	v := New(Options{Usage: &usage.Options{Interval: time.Minute}}) // without memory: a sample is what is in use
	setObjects(v, testNamespace(nil), testFlavor("red"), testQueue("cq", "4", "red"), testLocalQueue("lq", "cq"))
	name := types.NamespacedName{Namespace: "ns", Name: "lq"}
	if r := v.RecentUsage(name); !r.Enabled || r.Known {
		t.Errorf("before the first cycle: %+v", r)
	}
	runEmptyCycle(v, baseTime)
	if r := v.RecentUsage(name); !r.Known || len(r.Consumed) > 0 {
		t.Errorf("nothing was consumed: %+v", r)
	}
	wl := setAdmitted(setReservation(testWorkload("w", 4, 10), "cq", "red"))
	setObjects(v, wl)
	runEmptyCycle(v, timeAt(60))
	if r := v.RecentUsage(name); !slices.Equal(r.Consumed, []usage.Consumed{{Resource: "gpu", Milli: 4000}}) {
		t.Errorf("4 gpus are in use: %+v", r.Consumed)
	}
	deleteObject(v, wl)
	runEmptyCycle(v, timeAt(180))
	if r := v.RecentUsage(name); !slices.Equal(r.Consumed, []usage.Consumed{{Resource: "gpu"}}) {
		t.Errorf("what was consumed has decayed: %+v", r.Consumed)
	}
	if _, counts := v.OrderingUsage(name); counts {
		t.Error("a queue without the scope is ordered by usage")
	}
}

func TestEverySampleOfRecentUsageIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newUsageBasedView()
		setObjects(v, setAdmitted(setReservation(testWorkload("w", 4, 10), "cq", "red")))
		runEmptyCycle(v, baseTime)
		news := collectRequests(t, v.LocalQueueRequests())
		heard := func() []string {
			<-time.After(StatusInterval)
			synctest.Wait()
			return news()
		}
		heard()
		for minute := range 40 { // after which rounding leaves nothing to tell but the time
			runEmptyCycle(v, timeAt(60*minute))
			heard()
		}
		if runEmptyCycle(v, timeAt(60*40)); !slices.Equal(heard(), []string{"lq"}) {
			t.Error("nobody heard of a further sample of the same use, or somebody of one that is not used")
		}
	})
}

func TestTheCountsOfALocalQueueWithoutItsClusterQueue(t *testing.T) {
	v := newBasicView()
	setObjects(v, setReservation(testWorkload("runs", 1, 10), "cq", "red"), testWorkload("waits", 1, 11))
	name := types.NamespacedName{Namespace: "ns", Name: "lq"}
	expect := func(when string, pending, reserving, flavors int) {
		t.Helper()
		s, known := v.LocalQueueStatus(name)
		if !known || s.Pending != pending || s.Reserving != reserving || len(s.Reserved) != flavors {
			t.Errorf("%s: %d pending, %d reserving, flavors %v", when, s.Pending, s.Reserving, s.Reserved)
		}
	}
	stopped, stoppedLocal := testQueue("cq", "4", "red"), testLocalQueue("lq", "cq")
	stopped.Spec.StopPolicy, stoppedLocal.Spec.StopPolicy = kueue.Hold, kueue.Hold
	expect("at first", 1, 1, 1)
	setObjects(v, stopped)
	expect("its ClusterQueue is stopped", 1, 1, 1)
	setObjects(v, stoppedLocal)
	expect("it is stopped", 0, 1, 1)
	deleteObject(v, stopped)
	expect("it is stopped and its ClusterQueue gone", 0, 0, 0)
	setObjects(v, testLocalQueue("lq", "cq"))
	expect("its ClusterQueue is gone", 1, 0, 0)
	setObjects(v, testQueue("cq", "4", "red"))
	expect("its ClusterQueue is there again", 1, 1, 1)
}
