package podgroup_test

import (
	"context"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/podgroup"
)

type (
	handlerQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	podEvent     = event.UpdateEvent
)

// newQueue is a controller's queue on a clock that stands still.
func newQueue(t *testing.T) (handlerQueue, *testclock.FakeClock) {
	t.Helper()
	clock := testclock.NewFakeClock(born)
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[reconcile.Request]{Clock: clock})
	q := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request](),
		workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Clock: clock, DelayingQueue: delaying})
	t.Cleanup(q.ShutDown)
	return q, clock
}

// next waits for a request.
func next(q handlerQueue) reconcile.Request {
	request, _ := q.Get()
	q.Done(request)
	return request
}

func TestTheEventsOfAGroupAreOneLook(t *testing.T) {
	c := newCluster(t)
	_, events, _ := podgroup.NewReconciler(job.Options{Gates: job.DefaultGates()}, c, c, c, c.recorder)
	q, clock := newQueue(t)
	ctx := context.Background()
	for range 1000 {
		events.Create(ctx, event.CreateEvent{Object: member("a1", 1000)}, q)
	}
	events.Create(ctx, event.CreateEvent{Object: newPod("p1")}, q)
	if got := next(q); got != podgroup.Single(namespace, "p1") {
		t.Errorf("a single pod has to wait behind %s", got)
	}
	if q.Len() > 0 {
		t.Error("the group is looked at immediately")
	}
	for !clock.HasWaiters() { // the queue takes up what waits in a goroutine of its own
		runtime.Gosched()
	}
	clock.Step(podgroup.BatchInterval)
	if got := next(q); got != podgroup.Group(namespace, group) {
		t.Errorf("looked at %s", got)
	}
	if q.Len() > 0 {
		t.Errorf("%d looks are left", q.Len())
	}
}

func TestOnlyWhatDecidesBringsALook(t *testing.T) {
	c := newCluster(t)
	_, events, _ := podgroup.NewReconciler(job.Options{Gates: job.DefaultGates()}, c, c, c, c.recorder)
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		looks  int
	}{
		"a status of containers":  {func(pod *corev1.Pod) { pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main"}} }, 0},
		"a condition of others":   {func(pod *corev1.Pod) { pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.ContainersReady}} }, 0},
		"readiness":               {func(pod *corev1.Pod) { pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady}} }, 1},
		"its phase":               {func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodRunning }, 1},
		"its queue":               {func(pod *corev1.Pod) { pod.Labels["kueue.x-k8s.io/queue-name"] = "other" }, 1},
		"that it joined a group":  {func(pod *corev1.Pod) { pod.Annotations["kueue.x-k8s.io/pod-group-name"] = group }, 1}, // the group's comes later
		"nothing, as in a resync": {func(pod *corev1.Pod) { pod.ResourceVersion = "1" }, 1},
	} {
		q, _ := newQueue(t)
		was := podgroup.Strip(newPod("p1", func(pod *corev1.Pod) { pod.ResourceVersion = "1" }))
		is := newPod("p1", func(pod *corev1.Pod) { pod.ResourceVersion = "2" })
		tc.change(is)
		events.Update(context.Background(), podEvent{ObjectOld: was, ObjectNew: podgroup.Strip(is)}, q)
		if q.Len() != tc.looks {
			t.Errorf("%s: %d looks, want %d", name, q.Len(), tc.looks)
		}
	}
}
