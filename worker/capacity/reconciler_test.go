package capacity

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

const (
	preemptNever = kueue.PreemptionPolicyNever
	preemptLower = kueue.PreemptionPolicyLowerPriority
	preemptAny   = kueue.PreemptionPolicyAny
)

func TestTheReportedCapacity(t *testing.T) {
	tests := map[string]struct {
		objects []client.Object
		want    string
	}{
		"an empty queue": {
			[]client.Object{testClusterQueue("q", "", 8, preemptNever, preemptNever), testLocalQueue("lq", "q")}, "q: red own 8 free 8 largest 8",
		},
		"what is held is not free": {
			[]client.Object{testClusterQueue("q", "", 8, preemptNever, preemptNever), testLocalQueue("lq", "q"), setReservation(pendingWorkload("w", "lq", 3, 0, 0), "q")},
			"q: red own 5 free 5 largest 8",
		},
		"more held than there is leaves nothing": {
			[]client.Object{testClusterQueue("q", "", 2, preemptNever, preemptNever), testLocalQueue("lq", "q"), setReservation(pendingWorkload("w", "lq", 3, 0, 0), "q")},
			"q: red own 0 free 0 largest 2",
		},
		"what others do not use can be borrowed": {
			[]client.Object{
				testClusterQueue("q", "c", 4, preemptNever, preemptNever), testClusterQueue("r", "c", 4, preemptNever, preemptNever), testLocalQueue("lq", "q"),
				setReservation(pendingWorkload("w", "lq", 2, 0, 0), "q"),
			},
			"q: red own 2 free 6 largest 8",
		},
		"own quota that others have borrowed is not free": {
			[]client.Object{
				testClusterQueue("q", "c", 4, preemptNever, preemptNever), testClusterQueue("r", "c", 4, preemptNever, preemptNever), testLocalQueue("lq", "q"), testLocalQueue("lr", "r"),
				setReservation(pendingWorkload("w", "lr", 7, 0, 0), "r"),
			},
			"q: red own 1 free 1 largest 8\nr: red own 0 free 1 largest 8",
		},
		"a priority evicts what is lower, step by step": {
			[]client.Object{
				testClusterQueue("q", "", 8, preemptLower, preemptNever), testLocalQueue("lq", "q"), testLocalQueue("lq2", "q"),
				setReservation(pendingWorkload("a", "lq", 3, 0, 0), "q"), setReservation(pendingWorkload("b", "lq2", 4, 9, 0), "q"),
			},
			"q: red own 1 free 1 largest 8, from 1: 4, from 10: 8",
		},
		"who may reclaim gets back its own, and no more": {
			[]client.Object{
				testClusterQueue("q", "c", 4, preemptNever, preemptAny), testClusterQueue("r", "c", 4, preemptNever, preemptNever), testLocalQueue("lq", "q"), testLocalQueue("lr", "r"),
				setReservation(pendingWorkload("w", "lr", 8, 5, 0), "r"),
			},
			"q: red own 0 free 0 largest 8, from -2147483648: 4\nr: red own 0 free 0 largest 8",
		},
		"who may reclaim from lower priorities has to be higher": {
			[]client.Object{
				testClusterQueue("q", "c", 4, preemptNever, preemptLower), testClusterQueue("r", "c", 4, preemptNever, preemptNever), testLocalQueue("lq", "q"), testLocalQueue("lr", "r"),
				setReservation(pendingWorkload("w", "lr", 8, 5, 0), "r"),
			},
			"q: red own 0 free 0 largest 8, from 6: 4\nr: red own 0 free 0 largest 8",
		},
		"who waits is counted by priority, with the first of them": {
			[]client.Object{
				testClusterQueue("q", "", 0, preemptNever, preemptNever), testLocalQueue("lq", "q"), testLocalQueue("lq2", "q"),
				pendingWorkload("a", "lq", 1, 0, 60), pendingWorkload("b", "lq2", 1, 0, 30), pendingWorkload("c", "lq", 1, 7, 90),
			},
			"q: red own 0 free 0 largest 0; waiting 7: 1 since 90; waiting 0: 2 since 30",
		},
		"who waits in many priorities is counted together at the end": {
			append(manyPendingWorkloads(10), testClusterQueue("q", "", 0, preemptNever, preemptNever), testLocalQueue("lq", "q")),
			"q: red own 0 free 0 largest 0; waiting 9: 1 since 9; waiting 8: 1 since 8; waiting 7: 1 since 7; waiting 6: 1 since 6; " +
				"waiting 5: 1 since 5; waiting 4: 1 since 4; waiting 3: 1 since 3; waiting 2: 3 since 0",
		},
		"a queue that nobody can reach is left out": {
			[]client.Object{testClusterQueue("q", "", 8, preemptNever, preemptNever), testClusterQueue("r", "", 8, preemptNever, preemptNever), testLocalQueue("lr", "r")},
			"r: red own 8 free 8 largest 8",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newTestEnv(t, append([]client.Object{testFlavor("red")}, test.objects...)...)
			s.reconcile()
			if diff := cmp.Diff(test.want, s.describeReport()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// manyPendingWorkloads has one waiting workload of each of n priorities.
func manyPendingWorkloads(n int) []client.Object {
	var list []client.Object
	for i := range n {
		list = append(list, pendingWorkload(fmt.Sprintf("w%d", i), "lq", 1, int32(i), i))
	}
	return list
}

func TestTheReportNamesFlavorsKindsAndLocalQueues(t *testing.T) {
	red := testFlavor("red")
	red.Spec.NodeLabels = map[string]string{"gpu": "red"}
	red.Spec.NodeTaints = []corev1.Taint{{Key: "spot", Effect: corev1.TaintEffectNoSchedule}}
	picky := testClusterQueue("picky", "", 1, preemptNever, preemptNever)
	picky.Spec.NamespaceSelector = nil
	picky.Spec.QueueingStrategy = kueue.StrictFIFO
	stopped := testLocalQueue("b", "open")
	stopped.Spec.StopPolicy = kueue.Hold
	held := testClusterQueue("held", "", 1, preemptNever, preemptNever)
	held.Spec.StopPolicy = kueue.Hold
	s := newTestEnv(t, red, testFlavor("unused"), testClusterQueue("open", "", 1, preemptNever, preemptNever), picky, held,
		testLocalQueue("a", "open"), stopped, testLocalQueue("c", "picky"), testLocalQueue("d", "held"), testLocalQueue("e", "missing"))
	s.reconcile()
	got := s.getReport()
	if !got.ObservedAt.Time.Equal(baseTime) || got.IgnoresUncovered {
		t.Errorf("observed at %v, ignores uncovered resources %v", got.ObservedAt, got.IgnoresUncovered)
	}
	if diff := cmp.Diff([]string{"Job.v1.batch"}, got.Kinds); diff != "" {
		t.Errorf("kinds: -want +got:\n%s", diff)
	}
	flavors := []switchyard.CapacityFlavor{{Name: "red", NodeLabels: red.Spec.NodeLabels, NodeTaints: red.Spec.NodeTaints}}
	if diff := cmp.Diff(flavors, got.Flavors); diff != "" {
		t.Errorf("flavors: -want +got:\n%s", diff)
	}
	type door struct {
		Closed string
		Strict bool
		Ways   []switchyard.CapacityLocalQueue
	}
	doors := map[string]door{}
	for _, q := range got.ClusterQueues {
		doors[q.Name] = door{q.Closed, q.Strict, q.LocalQueues}
	}
	want := map[string]door{
		"open": {Ways: []switchyard.CapacityLocalQueue{{Name: "ns/a"}, {Name: "ns/b", Closed: "it is stopped"}}},
		"picky": {Strict: true, Ways: []switchyard.CapacityLocalQueue{
			{Name: "ns/c", Closed: "workload namespace doesn't match ClusterQueue selector"},
		}},
		"held": {Closed: "Can't admit new workloads: is stopped.", Ways: []switchyard.CapacityLocalQueue{{Name: "ns/d"}}},
	}
	if diff := cmp.Diff(want, doors); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestItWritesOnChangeAtMostOnceInTwoSecondsAndEveryFiveMinutes(t *testing.T) {
	s := newTestEnv(t, testFlavor("red"), testClusterQueue("q", "", 8, preemptNever, preemptNever), testLocalQueue("lq", "q"))
	expect := func(when string, writes int, wake time.Duration) {
		t.Helper()
		if got := s.reconcile(); got != wake || s.writes != writes {
			t.Errorf("%s: %d writes and a look after %v, want %d and %v", when, s.writes, got, writes, wake)
		}
	}
	expect("at first", 1, refreshInterval)
	s.clock.Step(time.Second)
	s.deliver(pendingWorkload("w", "lq", 2, 0, 0))
	expect("one second later", 1, time.Second)
	s.clock.Step(time.Second)
	expect("two seconds later", 2, refreshInterval-2*time.Second)
	s.clock.Step(time.Minute)
	s.deliver(pendingWorkload("w", "lq", 2, 0, 0))
	expect("when nothing has changed", 2, refreshInterval-62*time.Second)
	s.clock.Step(refreshInterval)
	expect("when it has not written for long", 3, refreshInterval)
	if got := s.getReport().ObservedAt.Time; !got.Equal(s.clock.Now()) {
		t.Errorf("observed at %v, not renewed", got)
	}
	s.clock.Step(refreshInterval - 2*time.Second)
	s.deliver(pendingWorkload("x", "lq", 2, 0, 0))
	expect("with news right before", 4, 2*time.Second)
	s.clock.Step(2 * time.Second)
	expect("when all is computed anew", 4, refreshInterval-2*time.Second)
}

func TestTheSameFiguresOfOtherReservationsAreANewReport(t *testing.T) {
	s := newTestEnv(t, testFlavor("red"), testClusterQueue("q", "", 8, preemptNever, preemptNever), testLocalQueue("lq", "q"), setReservation(pendingWorkload("a", "lq", 2, 0, 0), "q"))
	s.reconcile()
	before := s.describeReport()
	s.clock.Step(time.Minute)
	s.remove(setReservation(pendingWorkload("a", "lq", 2, 0, 0), "q"))
	s.deliver(setReservation(pendingWorkload("b", "lq", 2, 0, 0), "q"))
	s.reconcile()
	if diff := cmp.Diff(before, s.describeReport()); diff != "" {
		t.Errorf("figures: -before +after:\n%s", diff)
	}
	if got := s.getReport().ObservedAt.Time; s.writes != 2 || !got.Equal(baseTime.Add(time.Minute)) {
		t.Errorf("%d writes, observed at %v", s.writes, got)
	}
}

func TestDeletedObjectsLeaveTheReport(t *testing.T) {
	s := newTestEnv(t, testFlavor("red"), testClusterQueue("q", "c", 8, preemptNever, preemptNever), testClusterQueue("r", "c", 8, preemptNever, preemptNever), testLocalQueue("lq", "q"), testLocalQueue("lr", "r"))
	s.reconcile()
	s.clock.Step(time.Minute)
	s.remove(testClusterQueue("r", "c", 8, preemptNever, preemptNever))
	s.deliver(testClusterQueue("q", "c", 8, preemptNever, preemptNever)) // The view tells of the whole tree.
	s.reconcile()
	if diff := cmp.Diff("q: red own 8 free 8 largest 8", s.describeReport()); diff != "" {
		t.Errorf("without its ClusterQueue: -want +got:\n%s", diff)
	}
	s.clock.Step(time.Minute)
	s.remove(testLocalQueue("lq", "q"))
	s.reconcile()
	if diff := cmp.Diff("", s.describeReport()); diff != "" {
		t.Errorf("without its LocalQueue: -want +got:\n%s", diff)
	}
}

func TestAWriteThatFailsIsTriedAgain(t *testing.T) {
	s := newTestEnv(t, testFlavor("red"), testClusterQueue("q", "", 8, preemptNever, preemptNever), testLocalQueue("lq", "q"))
	s.nextError = errors.New("the server is on fire")
	if _, err := s.Reconcile(t.Context(), ctrl.Request{}); err == nil {
		t.Error("the failure is not reported")
	}
	if wait := s.reconcile(); wait != MinWriteInterval || s.writes != 1 {
		t.Errorf("%d writes and a look after %v: a failed write counts as one", s.writes, wait)
	}
	s.clock.Step(MinWriteInterval)
	s.reconcile()
	if diff := cmp.Diff("q: red own 8 free 8 largest 8", s.describeReport()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAClusterWithoutCapacityReportsIsRetriedRarely(t *testing.T) {
	s := newTestEnv(t, testFlavor("red"), testClusterQueue("q", "", 8, preemptNever, preemptNever), testLocalQueue("lq", "q"))
	s.nextError = newNotInstalledError()
	if wait := s.reconcile(); wait != notInstalledRetry {
		t.Errorf("it looks again after %v, want %v", wait, notInstalledRetry)
	}
	s.clock.Step(time.Minute)
	s.deliver(pendingWorkload("w", "lq", 2, 0, 0))
	if wait := s.reconcile(); wait != notInstalledRetry-time.Minute || s.writes != 1 {
		t.Errorf("%d writes and a look after %v", s.writes, wait)
	}
	s.clock.Step(notInstalledRetry)
	s.reconcile()
	if diff := cmp.Diff("q: red own 8 free 8 largest 8; waiting 0: 1 since 0", s.describeReport()); diff != "" {
		t.Errorf("once it is installed: -want +got:\n%s", diff)
	}
}

// delayRecorder notes what is asked for later. It is used by one goroutine.
type delayRecorder struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	delays map[reconcile.Request]time.Duration
}

func (q *delayRecorder) AddAfter(request reconcile.Request, after time.Duration) {
	q.delays[request] = after
}

func TestAllChangesBecomeOneRequest(t *testing.T) {
	s := newTestEnv(t, testFlavor("red"), testClusterQueue("q", "", 8, preemptNever, preemptNever), testLocalQueue("lq", "q"))
	s.changed = newChangedNames()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	work := &delayRecorder{TypedRateLimitingInterface: queue, delays: map[reconcile.Request]time.Duration{}}
	for _, source := range s.sources() {
		if err := source.Start(t.Context(), work); err != nil {
			t.Fatal(err)
		}
	}
	report := reconcile.Request{NamespacedName: types.NamespacedName{Name: switchyard.CapacityReportName}}
	if diff := cmp.Diff(map[reconcile.Request]time.Duration{report: firstChangeDelay}, work.delays); diff != "" || queue.Len() != 0 {
		t.Errorf("%d requests at once, later ones: -want +got:\n%s", queue.Len(), diff)
	}
	want := changedNames{clusterQueues: map[string]bool{"q": true}, localQueues: map[types.NamespacedName]bool{{Namespace: "ns", Name: "lq"}: true}}
	if diff := cmp.Diff(want, s.changed, cmp.AllowUnexported(changedNames{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	other := testLocalQueue("other", "q")
	other.CreationTimestamp = metav1.NewTime(baseTime)
	informer, err := s.informers.FakeInformerFor(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	informer.Add(other)
	if !s.changed.localQueues[types.NamespacedName{Namespace: "ns", Name: "other"}] {
		t.Error("a new LocalQueue is not noted")
	}
}
