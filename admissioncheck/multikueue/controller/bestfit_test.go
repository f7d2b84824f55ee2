package controller

import (
	"context"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// bestFit is a stage whose hub offers to the best cluster first.
func bestFit(t *testing.T, names ...string) *stage {
	t.Helper()
	st := newStage(t, names...)
	policy := dispatch.Compatible(time.Minute)
	policy.Dispatcher = dispatch.BestFit
	for _, name := range names {
		st.publish(name, 0)
	}
	st.restart(policy)
	st.connected()
	return st
}

// publish makes a worker say how many pods it has room for in the queue that the test's job goes to.
func (st *stage) publish(worker string, pods int64) {
	st.t.Helper()
	next := &switchyard.CapacityReport{
		ObjectMeta: metav1.ObjectMeta{Name: switchyard.CapacityReportName}, ObservedAt: metav1.NowMicro(),
		Kinds: []string{"Job.v1.batch"}, Flavors: []switchyard.CapacityFlavor{{Name: "gpu"}},
		ClusterQueues: []switchyard.CapacityQueue{{
			Name: "cq", LocalQueues: []switchyard.CapacityLocalQueue{{Name: "team/gpu"}},
			Groups: []switchyard.CapacityGroup{{Resources: []string{"pods"}, Flavors: []switchyard.CapacityFigures{{
				Flavor: "gpu", Own: []int64{pods}, Free: []int64{pods}, Largest: []int64{10},
			}}}},
		}},
	}
	c, ctx := st.workers[worker], context.Background()
	last := &switchyard.CapacityReport{}
	err := c.Get(ctx, client.ObjectKeyFromObject(next), last)
	if err == nil {
		next.ResourceVersion = last.ResourceVersion
		err = c.Update(ctx, next)
	} else {
		err = c.Create(ctx, next)
	}
	if err != nil {
		st.t.Fatal(err)
	}
}

// knows waits until the hub has a worker's report of so many free pods.
func (st *stage) knows(worker string, pods int64) {
	st.t.Helper()
	st.eventually(worker+" has reported", func() bool {
		obj, _ := st.fleet.Get(worker, reportGVK(), client.ObjectKey{Name: switchyard.CapacityReportName})
		report, ok := obj.(*switchyard.CapacityReport)
		return ok && report.ClusterQueues[0].Groups[0].Flavors[0].Own[0] == pods
	})
}

func TestTheBestClusterIsNominatedWithTheReservationAndNoOther(t *testing.T) {
	st := bestFit(t, "w1", "w2", "w3")
	st.publish("w2", 5)
	st.knows("w2", 5)
	st.submit()
	if got := st.local().Status.NominatedClusterNames; !slices.Equal(got, []string{"w2"}) {
		t.Fatalf("nominated %v", got)
	}
	st.runsOn("w2")
	if st.copyOn("w1") != nil || st.copyOn("w3") != nil {
		t.Error("others were offered to as well")
	}
	writes := slices.DeleteFunc(st.hubLog.snapshot(), func(call string) bool { return call != "patch status v1beta2.Workload" })
	if len(writes) > 3 { // the reservation, bound, Ready
		t.Errorf("%d writes of the Workload's status", len(writes))
	}
}

func TestARefusalBringsTheNextBest(t *testing.T) {
	st := bestFit(t, "w1", "w2", "w3")
	st.publish("w2", 5)
	st.publish("w3", 9)
	st.knows("w2", 5)
	st.knows("w3", 9)
	st.submit()
	first := st.local().Status.NominatedClusterNames
	if len(first) != 1 {
		t.Fatalf("nominated %v", first)
	}
	second := map[string]string{"w2": "w3", "w3": "w2"}[first[0]]
	st.offered(first[0])
	st.setOn(first[0], kueue.WorkloadEvicted, "Preempted", "no")
	st.offered(second)
	if st.copyOn("w1") != nil {
		t.Error("a cluster without room was offered to before one with room")
	}
}

func TestWhatIsInFlightIsNotOfferedTwice(t *testing.T) {
	st := bestFit(t, "w1", "w2")
	st.publish("w1", 1)
	st.publish("w2", 1)
	st.knows("w1", 1)
	st.knows("w2", 1)
	st.enqueue()
	first, second := st.local(), st.local()
	second.Name, second.UID = "job-other", "other-uid"
	for _, wl := range []*kueue.Workload{first, second} {
		reservePlain(wl)
		st.resolver.Prepare(context.Background(), wl, time.Now())
		if _, err := st.resolver.Reconcile(t.Context(), reconcile.Request{NamespacedName: key()}); err != nil { // knows of no reservation
			t.Fatal(err)
		}
	}
	if a, b := first.Status.NominatedClusterNames, second.Status.NominatedClusterNames; len(a) != 1 || len(b) != 1 || a[0] == b[0] {
		t.Errorf("nominated %v and %v", a, b)
	}
}

func TestNewsOfCapacityReachWhoFoundNoCluster(t *testing.T) {
	st := bestFit(t, "w1")
	report := &switchyard.CapacityReport{}
	if err := st.workers["w1"].Get(context.Background(), client.ObjectKey{Name: switchyard.CapacityReportName}, report); err != nil {
		t.Fatal(err)
	}
	report.ClusterQueues[0].Closed = "stopped"
	if err := st.workers["w1"].Update(context.Background(), report); err != nil {
		t.Fatal(err)
	}
	st.eventually("the closed queue is known", func() bool {
		obj, _ := st.fleet.Get("w1", reportGVK(), client.ObjectKey{Name: switchyard.CapacityReportName})
		seen, ok := obj.(*switchyard.CapacityReport)
		return ok && seen.ClusterQueues[0].Closed != ""
	})
	st.submit()
	st.eventually("nobody can take it", func() bool { return len(st.resolver.starving.all()) == 1 })
	if got := st.local().Status.NominatedClusterNames; len(got) != 0 {
		t.Fatalf("nominated %v", got)
	}
	st.publish("w1", 3)
	st.offered("w1")
}

func TestWithoutReportsTheQueuesOfAStockClusterAreTaken(t *testing.T) {
	queue := &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: "cq"}}
	queue.Spec.ResourceGroups = []kueue.ResourceGroup{resourceGroup("gpu", "10")}
	queue.Status.FlavorsReservation = []kueue.FlavorUsage{{Name: "gpu", Resources: []kueue.ResourceUsage{{Name: "cpu", Total: quantity("4")}}}}
	queue.Status.PendingWorkloads = 2
	local := &kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "gpu"}}
	local.Spec.ClusterQueue = "cq"
	local.Status.Conditions = []metav1.Condition{{Type: "Active", Status: metav1.ConditionFalse, Message: "no queue"}}
	got := stock([]client.Object{queue}, []client.Object{local})
	room := got.Queues[0].Groups[0].Flavors[0]
	if room.Own[0] != 6000 || room.Free[0] != 6000 || room.Largest[0] != 10000 || got.Queues[0].Waiting[0].Count != 2 {
		t.Errorf("queue %+v", got.Queues[0])
	}
	if got.Locals[0].Closed != "no queue" || got.Locals[0].Queue != "cq" || !got.FlavorsUnknown {
		t.Errorf("%+v", got)
	}
	queue.Spec.CohortName = "all"
	lender := queue.DeepCopy()
	lender.Name = "lender"
	room = stock([]client.Object{lender, queue}, nil).Queues[0].Groups[0].Flavors[0]
	if room.Own[0] != 6000 || room.Free[0] != 12000 || room.Perhaps[0] < 1<<60 {
		t.Errorf("in a cohort: %+v", room)
	}
}
