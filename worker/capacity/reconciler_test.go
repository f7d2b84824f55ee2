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
	never  = kueue.PreemptionPolicyNever
	lower  = kueue.PreemptionPolicyLowerPriority
	anyone = kueue.PreemptionPolicyAny
)

func TestTheReportSaysWhatThereIsRoomFor(t *testing.T) {
	tests := map[string]struct {
		objects []client.Object
		want    string
	}{
		"an empty queue": {
			[]client.Object{queue("q", "", 8, never, never), local("lq", "q")}, "q: red own 8 free 8 largest 8",
		},
		"what is held is not free": {
			[]client.Object{queue("q", "", 8, never, never), local("lq", "q"), holding(waiting("w", "lq", 3, 0, 0), "q")},
			"q: red own 5 free 5 largest 8",
		},
		"more held than there is leaves nothing": {
			[]client.Object{queue("q", "", 2, never, never), local("lq", "q"), holding(waiting("w", "lq", 3, 0, 0), "q")},
			"q: red own 0 free 0 largest 2",
		},
		"what others do not use can be borrowed": {
			[]client.Object{
				queue("q", "c", 4, never, never), queue("r", "c", 4, never, never), local("lq", "q"),
				holding(waiting("w", "lq", 2, 0, 0), "q"),
			},
			"q: red own 2 free 6 largest 8",
		},
		"own quota that others have borrowed is not free": {
			[]client.Object{
				queue("q", "c", 4, never, never), queue("r", "c", 4, never, never), local("lq", "q"), local("lr", "r"),
				holding(waiting("w", "lr", 7, 0, 0), "r"),
			},
			"q: red own 1 free 1 largest 8\nr: red own 0 free 1 largest 8",
		},
		"a priority evicts what is lower, step by step": {
			[]client.Object{
				queue("q", "", 8, lower, never), local("lq", "q"), local("lq2", "q"),
				holding(waiting("a", "lq", 3, 0, 0), "q"), holding(waiting("b", "lq2", 4, 9, 0), "q"),
			},
			"q: red own 1 free 1 largest 8, from 1: 4, from 10: 8",
		},
		"who may reclaim gets back its own, and no more": {
			[]client.Object{
				queue("q", "c", 4, never, anyone), queue("r", "c", 4, never, never), local("lq", "q"), local("lr", "r"),
				holding(waiting("w", "lr", 8, 5, 0), "r"),
			},
			"q: red own 0 free 0 largest 8, from -2147483648: 4\nr: red own 0 free 0 largest 8",
		},
		"who may reclaim from lower priorities has to be higher": {
			[]client.Object{
				queue("q", "c", 4, never, lower), queue("r", "c", 4, never, never), local("lq", "q"), local("lr", "r"),
				holding(waiting("w", "lr", 8, 5, 0), "r"),
			},
			"q: red own 0 free 0 largest 8, from 6: 4\nr: red own 0 free 0 largest 8",
		},
		"who waits is counted by priority, with the first of them": {
			[]client.Object{
				queue("q", "", 0, never, never), local("lq", "q"), local("lq2", "q"),
				waiting("a", "lq", 1, 0, 60), waiting("b", "lq2", 1, 0, 30), waiting("c", "lq", 1, 7, 90),
			},
			"q: red own 0 free 0 largest 0; waiting 7: 1 since 90; waiting 0: 2 since 30",
		},
		"who waits in many priorities is counted together at the end": {
			append(crowd(10), queue("q", "", 0, never, never), local("lq", "q")),
			"q: red own 0 free 0 largest 0; waiting 9: 1 since 9; waiting 8: 1 since 8; waiting 7: 1 since 7; waiting 6: 1 since 6; " +
				"waiting 5: 1 since 5; waiting 4: 1 since 4; waiting 3: 1 since 3; waiting 2: 3 since 0",
		},
		"a queue that nobody can reach is left out": {
			[]client.Object{queue("q", "", 8, never, never), queue("r", "", 8, never, never), local("lr", "r")},
			"r: red own 8 free 8 largest 8",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, append([]client.Object{flavor("red")}, test.objects...)...)
			s.reconcile()
			if diff := cmp.Diff(test.want, s.show()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// crowd has one waiting workload of each of n priorities.
func crowd(n int) []client.Object {
	var list []client.Object
	for i := range n {
		list = append(list, waiting(fmt.Sprintf("w%d", i), "lq", 1, int32(i), i))
	}
	return list
}

func TestTheReportNamesFlavorsKindsAndTheWaysIn(t *testing.T) {
	red := flavor("red")
	red.Spec.NodeLabels = map[string]string{"gpu": "red"}
	red.Spec.NodeTaints = []corev1.Taint{{Key: "spot", Effect: corev1.TaintEffectNoSchedule}}
	picky := queue("picky", "", 1, never, never)
	picky.Spec.NamespaceSelector = nil
	picky.Spec.QueueingStrategy = kueue.StrictFIFO
	stopped := local("b", "open")
	stopped.Spec.StopPolicy = kueue.Hold
	held := queue("held", "", 1, never, never)
	held.Spec.StopPolicy = kueue.Hold
	s := newStage(t, red, flavor("unused"), queue("open", "", 1, never, never), picky, held,
		local("a", "open"), stopped, local("c", "picky"), local("d", "held"), local("e", "missing"))
	s.reconcile()
	got := s.stored()
	if !got.ObservedAt.Time.Equal(epoch) || got.IgnoresUncovered {
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
	s := newStage(t, flavor("red"), queue("q", "", 8, never, never), local("lq", "q"))
	expect := func(when string, writes int, wake time.Duration) {
		t.Helper()
		if got := s.reconcile(); got != wake || s.writes != writes {
			t.Errorf("%s: %d writes and a look after %v, want %d and %v", when, s.writes, got, writes, wake)
		}
	}
	expect("at first", 1, refreshEvery)
	s.clock.Step(time.Second)
	s.deliver(waiting("w", "lq", 2, 0, 0))
	expect("one second later", 1, time.Second)
	s.clock.Step(time.Second)
	expect("two seconds later", 2, refreshEvery-2*time.Second)
	s.clock.Step(time.Minute)
	s.deliver(waiting("w", "lq", 2, 0, 0))
	expect("when nothing has changed", 2, refreshEvery-62*time.Second)
	s.clock.Step(refreshEvery)
	expect("when it has not written for long", 3, refreshEvery)
	if got := s.stored().ObservedAt.Time; !got.Equal(s.clock.Now()) {
		t.Errorf("observed at %v, not renewed", got)
	}
	s.clock.Step(refreshEvery - 2*time.Second)
	s.deliver(waiting("x", "lq", 2, 0, 0))
	expect("with news right before", 4, 2*time.Second)
	s.clock.Step(2 * time.Second)
	expect("when all is computed anew", 4, refreshEvery-2*time.Second)
}

func TestTheSameFiguresOfOtherReservationsAreANewReport(t *testing.T) {
	s := newStage(t, flavor("red"), queue("q", "", 8, never, never), local("lq", "q"), holding(waiting("a", "lq", 2, 0, 0), "q"))
	s.reconcile()
	before := s.show()
	s.clock.Step(time.Minute)
	s.remove(holding(waiting("a", "lq", 2, 0, 0), "q"))
	s.deliver(holding(waiting("b", "lq", 2, 0, 0), "q"))
	s.reconcile()
	if diff := cmp.Diff(before, s.show()); diff != "" {
		t.Errorf("figures: -before +after:\n%s", diff)
	}
	if got := s.stored().ObservedAt.Time; s.writes != 2 || !got.Equal(epoch.Add(time.Minute)) {
		t.Errorf("%d writes, observed at %v", s.writes, got)
	}
}

func TestWhatIsGoneLeavesTheReport(t *testing.T) {
	s := newStage(t, flavor("red"), queue("q", "c", 8, never, never), queue("r", "c", 8, never, never), local("lq", "q"), local("lr", "r"))
	s.reconcile()
	s.clock.Step(time.Minute)
	s.remove(queue("r", "c", 8, never, never))
	s.deliver(queue("q", "c", 8, never, never)) // The view tells of the whole tree.
	s.reconcile()
	if diff := cmp.Diff("q: red own 8 free 8 largest 8", s.show()); diff != "" {
		t.Errorf("without its ClusterQueue: -want +got:\n%s", diff)
	}
	s.clock.Step(time.Minute)
	s.remove(local("lq", "q"))
	s.reconcile()
	if diff := cmp.Diff("", s.show()); diff != "" {
		t.Errorf("without its LocalQueue: -want +got:\n%s", diff)
	}
}

func TestAWriteThatFailsIsTriedAgain(t *testing.T) {
	s := newStage(t, flavor("red"), queue("q", "", 8, never, never), local("lq", "q"))
	s.fail = errors.New("the server is on fire")
	if _, err := s.Reconcile(t.Context(), ctrl.Request{}); err == nil {
		t.Error("the failure is not reported")
	}
	if wait := s.reconcile(); wait != Interval || s.writes != 1 {
		t.Errorf("%d writes and a look after %v: a failed write counts as one", s.writes, wait)
	}
	s.clock.Step(Interval)
	s.reconcile()
	if diff := cmp.Diff("q: red own 8 free 8 largest 8", s.show()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAClusterWithoutTheKindIsLeftInPeace(t *testing.T) {
	s := newStage(t, flavor("red"), queue("q", "", 8, never, never), local("lq", "q"))
	s.fail = notInstalled()
	if wait := s.reconcile(); wait != missingFor {
		t.Errorf("it looks again after %v, want %v", wait, missingFor)
	}
	s.clock.Step(time.Minute)
	s.deliver(waiting("w", "lq", 2, 0, 0))
	if wait := s.reconcile(); wait != missingFor-time.Minute || s.writes != 1 {
		t.Errorf("%d writes and a look after %v", s.writes, wait)
	}
	s.clock.Step(missingFor)
	s.reconcile()
	if diff := cmp.Diff("q: red own 8 free 8 largest 8; waiting 0: 1 since 0", s.show()); diff != "" {
		t.Errorf("once it is installed: -want +got:\n%s", diff)
	}
}

// laterQueue notes what is asked for later. It is used by one goroutine.
type laterQueue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	after map[reconcile.Request]time.Duration
}

func (q *laterQueue) AddAfter(request reconcile.Request, after time.Duration) {
	q.after[request] = after
}

func TestAllNewsEndInOneRequest(t *testing.T) {
	s := newStage(t, flavor("red"), queue("q", "", 8, never, never), local("lq", "q"))
	s.changed = newChanges()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	work := &laterQueue{TypedRateLimitingInterface: queue, after: map[reconcile.Request]time.Duration{}}
	for _, source := range s.sources() {
		if err := source.Start(t.Context(), work); err != nil {
			t.Fatal(err)
		}
	}
	report := reconcile.Request{NamespacedName: types.NamespacedName{Name: switchyard.CapacityReportName}}
	if diff := cmp.Diff(map[reconcile.Request]time.Duration{report: settling}, work.after); diff != "" || queue.Len() != 0 {
		t.Errorf("%d requests at once, later ones: -want +got:\n%s", queue.Len(), diff)
	}
	want := changes{queues: map[string]bool{"q": true}, locals: map[types.NamespacedName]bool{{Namespace: "ns", Name: "lq"}: true}}
	if diff := cmp.Diff(want, s.changed, cmp.AllowUnexported(changes{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	other := local("other", "q")
	other.CreationTimestamp = metav1.NewTime(epoch)
	informer, err := s.informers.FakeInformerFor(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	informer.Add(other)
	if !s.changed.locals[types.NamespacedName{Namespace: "ns", Name: "other"}] {
		t.Error("a new LocalQueue is not noted")
	}
}
