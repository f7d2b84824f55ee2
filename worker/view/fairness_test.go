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

// fair is a view that samples every minute and forgets half in a minute, with LocalQueues lq and lq2 behind cq.
func fair() *View {
	v := New(Options{Usage: &usage.Options{HalfLife: time.Minute, Interval: time.Minute}})
	cq := testQueue("cq", "4", "red")
	cq.Spec.AdmissionScope = &kueue.AdmissionScope{AdmissionMode: kueue.UsageBasedAdmissionFairSharing}
	feedAll(v, testNamespace(nil), testFlavor("red"), cq, testLocal("lq", "cq"), testLocal("lq2", "cq"))
	return v
}

func idle(v *View, now time.Time) Batch {
	return v.Cycle(now, func(*admission.Snapshot) admission.Plan { return admission.Plan{} })
}

// used is the figure of lq in whole gpus and thousandths.
func used(v *View) int64 { return int64(v.snap.RecentUsage(keyOf("ns", "lq"))) }

func admitted(wl *kueue.Workload) *kueue.Workload {
	setCondition(&wl.Status.Conditions, kueue.WorkloadAdmitted, true, "Admitted", epoch)
	return wl
}

func TestAnAssumptionWeighsOnItsLocalQueue(t *testing.T) {
	const penalty = 2000 // Half of 4 gpus.
	reserved := func() *kueue.Workload { return reserve(testWorkload("w", 4, 20), "cq", "red") }
	ended := admitted(reserved())
	setCondition(&ended.Status.Conditions, kueue.WorkloadFinished, true, "Succeeded", epoch)
	for name, tc := range map[string]struct {
		then func(v *View, seen *kueue.Workload)
		want int64
	}{
		"while it is assumed":                {func(*View, *kueue.Workload) {}, penalty},
		"while it is reserved":               {func(v *View, _ *kueue.Workload) { feedAll(v, reserved()) }, penalty},
		"when it is admitted":                {func(v *View, _ *kueue.Workload) { feedAll(v, reserved(), admitted(reserved())) }, penalty},
		"when it is admitted and ended":      {func(v *View, _ *kueue.Workload) { feedAll(v, ended) }, penalty},
		"not after a refusal":                {func(v *View, seen *kueue.Workload) { v.Refused(seen, epoch) }, 0},
		"not when it lost its reservation":   {func(v *View, _ *kueue.Workload) { feedAll(v, reserved(), testWorkload("w", 4, 30)) }, 0},
		"not when it is deleted before that": {func(v *View, seen *kueue.Workload) { unfeed(v, seen) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			v := fair()
			feedAll(v, testWorkload("w", 4, 10))
			batch := runCycle(v, epoch)
			tc.then(v, batch.Admit[0].Seen)
			idle(v, epoch)
			if got := used(v); got != tc.want {
				t.Errorf("the figure is %d, want %d", got, tc.want)
			}
		})
	}
}

func TestUsageIsSampledOnTheTimeOfTheLoop(t *testing.T) {
	v := fair()
	feedAll(v, admitted(reserve(testWorkload("w", 4, 10), "cq", "red")))
	if got := idle(v, epoch).WakeAt; !got.Equal(at(60)) {
		t.Errorf("the next sample is at %s", got)
	}
	for minute, want := range []int64{0, 2000, 3000, 3500} {
		if idle(v, at(60*minute)); used(v) != want {
			t.Errorf("after %d minutes the figure is %d, want %d", minute, used(v), want)
		}
	}
	if a, known := v.UsageThatCounts(types.NamespacedName{Namespace: "ns", Name: "lq"}); !known || !a.SampledAt.Equal(at(180)) || a.Usage != 3500 {
		t.Errorf("the account is %+v", a)
	}
}

func TestUsageSurvivesARestart(t *testing.T) {
	v := fair()
	lq := testLocal("lq3", "cq")
	lq.Status.FairSharing = &kueue.LocalQueueFairSharingStatus{AdmissionFairSharingStatus: &kueue.AdmissionFairSharingStatus{
		ConsumedResources: corev1.ResourceList{"gpu": resource.MustParse("6")}, LastUpdate: metav1.NewTime(epoch.Add(-time.Minute)),
	}}
	wl := reserve(testWorkload("w", 2, 10), "cq", "red")
	wl.Spec.QueueName = "lq3"
	feedAll(v, wl, lq) // The reservation is known before the LocalQueue.
	idle(v, epoch)
	if got := v.snap.RecentUsage(keyOf("ns", "lq3")); got != 3000+1000 {
		t.Errorf("the figure is %d, want half of what it was and half of 2 gpus as a penalty", got)
	}
	unfeed(v, lq)
	if _, known := v.UsageThatCounts(types.NamespacedName{Namespace: "ns", Name: "lq3"}); known || v.snap.RecentUsage(keyOf("ns", "lq3")) != 0 {
		t.Error("a LocalQueue that is gone has used nothing")
	}
}

func TestWhoUsedLessGoesFirst(t *testing.T) {
	v := fair()
	heavy, light, other := testWorkload("heavy", 4, 1), testWorkload("light", 4, 2), testWorkload("running", 4, 3)
	light.Spec.QueueName, light.CreationTimestamp = "lq2", metav1.NewTime(at(9))
	feedAll(v, admitted(reserve(other, "cq", "red")), heavy, light)
	idle(v, epoch)
	idle(v, at(60))
	unfeed(v, other)
	batch := runCycle(v, at(60))
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
	feedAll(v, testNamespace(nil), testFlavor("red"), testQueue("cq", "4", "red"), testLocal("lq", "cq"))
	name := types.NamespacedName{Namespace: "ns", Name: "lq"}
	if r := v.RecentUsage(name); !r.Counted || r.Known {
		t.Errorf("before the first cycle: %+v", r)
	}
	idle(v, epoch)
	if r := v.RecentUsage(name); !r.Known || len(r.Consumed) > 0 {
		t.Errorf("nothing was consumed: %+v", r)
	}
	wl := admitted(reserve(testWorkload("w", 4, 10), "cq", "red"))
	feedAll(v, wl)
	idle(v, at(60))
	if r := v.RecentUsage(name); !slices.Equal(r.Consumed, []usage.Consumed{{Resource: "gpu", Milli: 4000}}) {
		t.Errorf("4 gpus are in use: %+v", r.Consumed)
	}
	unfeed(v, wl)
	idle(v, at(180))
	if r := v.RecentUsage(name); !slices.Equal(r.Consumed, []usage.Consumed{{Resource: "gpu"}}) {
		t.Errorf("what was consumed has decayed: %+v", r.Consumed)
	}
	if _, counts := v.UsageThatCounts(name); counts {
		t.Error("a queue without the scope is ordered by usage")
	}
}

func TestEverySampleOfWhatIsInUseIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := fair()
		feedAll(v, admitted(reserve(testWorkload("w", 4, 10), "cq", "red")))
		idle(v, epoch)
		news := told(t, v.LocalQueues())
		heard := func() []string {
			<-time.After(StatusInterval)
			synctest.Wait()
			return news()
		}
		heard()
		for minute := range 40 { // after which rounding leaves nothing to tell but the time
			idle(v, at(60*minute))
			heard()
		}
		if idle(v, at(60*40)); !slices.Equal(heard(), []string{"lq"}) {
			t.Error("nobody heard of a further sample of the same use, or somebody of one that is not used")
		}
	})
}

func TestTheCountsOfALocalQueueWithoutItsClusterQueue(t *testing.T) {
	v := basic()
	feedAll(v, reserve(testWorkload("runs", 1, 10), "cq", "red"), testWorkload("waits", 1, 11))
	name := types.NamespacedName{Namespace: "ns", Name: "lq"}
	expect := func(when string, pending, reserving, flavors int) {
		t.Helper()
		s, known := v.LocalQueue(name)
		if !known || s.Pending != pending || s.Reserving != reserving || len(s.Reserved) != flavors {
			t.Errorf("%s: %d pending, %d reserving, flavors %v", when, s.Pending, s.Reserving, s.Reserved)
		}
	}
	stopped, stoppedLocal := testQueue("cq", "4", "red"), testLocal("lq", "cq")
	stopped.Spec.StopPolicy, stoppedLocal.Spec.StopPolicy = kueue.Hold, kueue.Hold
	expect("at first", 1, 1, 1)
	feedAll(v, stopped)
	expect("its ClusterQueue is stopped", 1, 1, 1)
	feedAll(v, stoppedLocal)
	expect("it is stopped", 0, 1, 1)
	unfeed(v, stopped)
	expect("it is stopped and its ClusterQueue gone", 0, 0, 0)
	feedAll(v, testLocal("lq", "cq"))
	expect("its ClusterQueue is gone", 1, 0, 0)
	feedAll(v, testQueue("cq", "4", "red"))
	expect("its ClusterQueue is there again", 1, 1, 1)
}
