package view

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// collectRequests collects what a controller of the source would look at.
func collectRequests(t *testing.T, s source.Source) func() []string {
	t.Helper()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	if err := s.Start(context.Background(), queue); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(queue.ShutDown)
	return func() []string {
		var names []string
		for queue.Len() > 0 {
			request, _ := queue.Get()
			names = append(names, request.Name)
			queue.Done(request)
		}
		slices.Sort(names)
		return names
	}
}

func TestACohortIsReconciledWhenItsTreeOrThoseBelowItChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := New(Options{})
		news, queues := collectRequests(t, v.CohortRequests()), collectRequests(t, v.ClusterQueueRequests())
		expect := func(what string, want ...string) {
			t.Helper()
			if got := news(); !slices.Equal(got, want) {
				t.Errorf("%s: told of %v, want %v", what, got, want)
			}
		}
		low := &kueue.Cohort{Spec: kueue.CohortSpec{ParentName: "top"}}
		low.Name = "low"
		cq := testQueue("cq", "4", "red")
		cq.Spec.CohortName = "low"
		setObjects(v, testNamespace(nil), testFlavor("red"), low)
		expect("a cohort comes", "low", "top")
		setObjects(v, cq, testLocalQueue("lq", "cq"))
		expect("a queue joins", "low")
		time.Sleep(StatusInterval) //nolint:forbidigo // steps the clock of the bubble
		synctest.Wait()
		news()
		setObjects(v, setReservation(testWorkload("w", 1, 10), "cq", "red"))
		expect("a workload gets quota, right away")
		time.Sleep(StatusInterval) //nolint:forbidigo // steps the clock of the bubble
		synctest.Wait()
		expect("a workload gets quota, gathered", "low", "top")
		queues()
		richer := low.DeepCopy()
		richer.Spec.ResourceGroups = cq.Spec.ResourceGroups
		setObjects(v, richer)
		expect("a cohort gets quota of its own", "low", "top")
		time.Sleep(StatusInterval) //nolint:forbidigo // steps the clock of the bubble
		synctest.Wait()
		if got := queues(); !slices.Equal(got, []string{"cq"}) {
			t.Errorf("told of the queues %v, of which each has another share now", got)
		}
		news()
		moved := cq.DeepCopy()
		moved.Spec.CohortName = "other"
		setObjects(v, moved)
		expect("a queue moves", "low", "other")
		deleteObject(v, low)
		expect("a cohort goes", "low", "top")
	})
}

func TestCohortStatusesIncludeThoseWithoutObject(t *testing.T) {
	v := New(Options{})
	cq := testQueue("cq", "4", "red")
	cq.Spec.CohortName = "co"
	setObjects(v, testNamespace(nil), testFlavor("red"), cq, testLocalQueue("lq", "cq"), testWorkload("w", 1, 10), setReservation(testWorkload("x", 1, 11), "cq", "red"))
	if got := v.CohortStatuses(); len(got) != 1 || got[0].Name != "co" {
		t.Errorf("the cohorts are %+v", got)
	}
	if got := v.Workloads(); len(got) != 2 || got[0].Queue != "cq" || got[1].Queue != "cq" {
		t.Errorf("the workloads are %+v", got)
	}
	if _, counts := v.OrderingUsage(requestFor(keyOf("ns", "lq")).NamespacedName); counts {
		t.Error("usage counts although no ClusterQueue asks for it")
	}
}

func TestWorkloadsOfAStoppedLocalQueueAreNotPending(t *testing.T) {
	v := New(Options{})
	stopped, going := testLocalQueue("stopped", "cq"), testLocalQueue("going", "cq")
	stopped.Spec.StopPolicy = kueue.Hold
	going.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	setObjects(v, testNamespace(nil), testFlavor("red"), testQueue("cq", "4", "red"), testLocalQueue("lq", "cq"), stopped, going)
	for _, through := range []string{"lq", "stopped", "going", "missing"} {
		wl := testWorkload("through-"+through, 9, 0)
		wl.Spec.QueueName = kueue.LocalQueueName(through)
		setObjects(v, wl)
	}
	standing, _ := v.ClusterQueueStatus("cq")
	waiters, census := v.PendingWorkloads(), v.PendingCounts()
	if standing.Pending != 1 || len(waiters) != 1 || len(census.Queues) != 1 || census.Queues[0].Active+census.Queues[0].Inadmissible != 1 {
		t.Errorf("pending are %d, waiters %+v, the census %+v", standing.Pending, waiters, census)
	}
	for _, in := range v.Workloads() {
		if open := in.Workload.Spec.QueueName == "lq"; in.QueueInactive == open {
			t.Errorf("the way of %s is closed: %t", in.Workload.Name, in.QueueInactive)
		}
	}
}
