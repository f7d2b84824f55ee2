package controller

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"switchyard.dev/admissioncheck/multikueue/capacity"
	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/tracker"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/workload"
)

// newBestFitEnv is a stage whose hub offers to the best cluster first, and explains nothing.
func newBestFitEnv(t *testing.T, names ...string) *testEnv {
	t.Helper()
	return newExplainedBestFitEnv(t, 0, names...)
}

// newExplainedBestFitEnv is bestFit with a hub that explains after a time.
func newExplainedBestFitEnv(t *testing.T, after time.Duration, names ...string) *testEnv {
	t.Helper()
	st := newTestEnv(t, names...)
	policy := dispatch.Compatible(time.Minute)
	policy.Dispatcher, policy.ExplainAfter = dispatch.BestFit, after
	for _, name := range names {
		st.publishReport(name, 0)
	}
	st.restart(policy)
	st.waitConnected()
	for _, name := range names { // Workloads, Jobs and the report: see connected
		st.eventually("reports are watched", func() bool { return st.workers[name].addWatches(0) >= 3 })
	}
	return st
}

// startCapacityWatcher lets the news of capacity be spread, as the hub's manager does.
func (st *testEnv) startCapacityWatcher() {
	st.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	news := &CapacityWatcher{Reconciler: st.reconciler, Interval: 5 * time.Millisecond, Clock: clock.RealClock{}}
	running.Go(func() { _ = news.Start(ctx) })
	st.t.Cleanup(func() { cancel(); running.Wait() })
}

// updateReport changes what a worker has published, and waits until the hub knows.
func (st *testEnv) updateReport(worker string, change func(*switchyard.CapacityReport)) {
	st.t.Helper()
	report := &switchyard.CapacityReport{}
	if err := st.workers[worker].Get(context.Background(), client.ObjectKey{Name: switchyard.CapacityReportName}, report); err != nil {
		st.t.Fatal(err)
	}
	change(report)
	if err := st.workers[worker].Update(context.Background(), report); err != nil {
		st.t.Fatal(err)
	}
	st.eventually("the hub knows what "+worker+" has published", func() bool {
		obj, _ := st.fleet.Get(worker, capacity.ReportGVK(), client.ObjectKey{Name: switchyard.CapacityReportName})
		return obj != nil && obj.GetResourceVersion() == report.ResourceVersion
	})
}

// publishReport makes a worker say how many pods it has room for in the queue that the test's job goes to.
func (st *testEnv) publishReport(worker string, pods int64) {
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

// waitReported waits until the hub has a worker's report of so many free pods.
func (st *testEnv) waitReported(worker string, pods int64) {
	st.t.Helper()
	st.eventually(worker+" has reported", func() bool {
		obj, _ := st.fleet.Get(worker, capacity.ReportGVK(), client.ObjectKey{Name: switchyard.CapacityReportName})
		report, ok := obj.(*switchyard.CapacityReport)
		return ok && report.ClusterQueues[0].Groups[0].Flavors[0].Own[0] == pods
	})
}

func TestTheBestClusterIsNominatedWithTheReservationAndNoOther(t *testing.T) {
	st := newBestFitEnv(t, "w1", "w2", "w3")
	st.publishReport("w2", 5)
	st.waitReported("w2", 5)
	st.submit()
	if got := st.hubWorkload().Status.NominatedClusterNames; !slices.Equal(got, []string{"w2"}) {
		t.Fatalf("nominated %v", got)
	}
	st.runOn("w2")
	if st.copyOn("w1") != nil || st.copyOn("w3") != nil {
		t.Error("others were offered to as well")
	}
	writes := slices.DeleteFunc(st.hubLog.snapshot(), func(call string) bool { return call != "patch status v1beta2.Workload" })
	if len(writes) > 3 { // the reservation, bound, Ready
		t.Errorf("%d writes of the Workload's status", len(writes))
	}
}

func TestARefusalBringsTheNextBest(t *testing.T) {
	st := newBestFitEnv(t, "w1", "w2", "w3")
	st.publishReport("w2", 5)
	st.publishReport("w3", 9)
	st.waitReported("w2", 5)
	st.waitReported("w3", 9)
	st.submit()
	first := st.hubWorkload().Status.NominatedClusterNames
	if len(first) != 1 {
		t.Fatalf("nominated %v", first)
	}
	second := map[string]string{"w2": "w3", "w3": "w2"}[first[0]]
	st.waitOffered(first[0])
	st.setConditionOn(first[0], kueue.WorkloadEvicted, "Preempted", "no")
	st.waitOffered(second)
	if st.copyOn("w1") != nil {
		t.Error("a cluster without room was offered to before one with room")
	}
}

func TestWhatIsInFlightIsNotOfferedTwice(t *testing.T) {
	st := newBestFitEnv(t, "w1", "w2")
	st.publishReport("w1", 1)
	st.publishReport("w2", 1)
	st.waitReported("w1", 1)
	st.waitReported("w2", 1)
	st.enqueue()
	first, second := st.hubWorkload(), st.hubWorkload()
	second.Name, second.UID = "job-other", "other-uid"
	for _, wl := range []*kueue.Workload{first, second} {
		reserveWithoutDispatcher(wl)
		st.reconciler.NominateClusters(context.Background(), wl, time.Now())
		if _, err := st.reconciler.Reconcile(t.Context(), reconcile.Request{NamespacedName: workloadKey()}); err != nil { // knows of no reservation
			t.Fatal(err)
		}
	}
	if a, b := first.Status.NominatedClusterNames, second.Status.NominatedClusterNames; len(a) != 1 || len(b) != 1 || a[0] == b[0] {
		t.Errorf("nominated %v and %v", a, b)
	}
}

// listUnplaced lists the Workloads that some cluster cannot be offered. There are no terms without digest.
func (st *testEnv) listUnplaced() []*tracker.Unplaced {
	var list []*tracker.Unplaced
	st.reconciler.tracker.do(func(t *tracker.Tracker) {
		for _, cluster := range t.Unplaced().IneligibleClusters() {
			list = append(list, t.Unplaced().ChangedTerms(cluster, admission.Key{Namespace: "team", Name: "gpu"}, 0)...)
		}
	})
	return list
}

func TestChangedCapacityRequeuesUnplacedWorkloads(t *testing.T) {
	st := newBestFitEnv(t, "w1")
	st.startCapacityWatcher()
	st.updateReport("w1", func(r *switchyard.CapacityReport) { r.ClusterQueues[0].Closed = "stopped" })
	st.submit()
	st.eventually("nobody can take it", func() bool { return len(st.listUnplaced()) == 1 })
	if got := st.hubWorkload().Status.NominatedClusterNames; len(got) != 0 {
		t.Fatalf("nominated %v", got)
	}
	st.publishReport("w1", 3)
	st.waitOffered("w1")
}

// newFilteredEnv is a Workload that w1 has refused and that w2 cannot be offered, because it has no such LocalQueue.
func newFilteredEnv(t *testing.T, explained time.Duration) *testEnv {
	t.Helper()
	st := newExplainedBestFitEnv(t, explained, "w1", "w2")
	st.updateReport("w2", func(r *switchyard.CapacityReport) { r.ClusterQueues[0].LocalQueues[0].Name = "other/queue" })
	st.submit()
	st.waitOffered("w1")
	st.setConditionOn("w1", kueue.WorkloadEvicted, "Preempted", "no")
	st.eventually("the refusal is known", func() bool {
		obj, _ := st.fleet.Get("w1", workloadGVK(), workloadKey())
		wl, ok := obj.(*kueue.Workload)
		return ok && workload.IsEvicted(wl)
	})
	return st
}

func TestChangedCapacityRequeuesWorkloadsWithAnOfferElsewhere(t *testing.T) {
	st := newFilteredEnv(t, 0)
	st.startCapacityWatcher()
	st.updateReport("w2", func(r *switchyard.CapacityReport) { r.ClusterQueues[0].LocalQueues[0].Name = "team/gpu" })
	st.waitOffered("w2")
}

func TestTheReportedReasonIsTheLatest(t *testing.T) {
	st := newFilteredEnv(t, time.Nanosecond)
	st.startCapacityWatcher()
	st.eventually("why not", func() bool {
		return strings.Contains(st.checkState().Message, "LocalQueue team/gpu doesn't exist there")
	})
	st.updateReport("w2", func(r *switchyard.CapacityReport) {
		r.ClusterQueues[0].LocalQueues[0] = switchyard.CapacityLocalQueue{Name: "team/gpu", Closed: "it is stopped"}
	})
	st.eventually("why not now", func() bool {
		return strings.Contains(st.checkState().Message, "LocalQueue team/gpu admits nothing: it is stopped")
	})
}

func TestChangesOfFreeCapacityRequeueNothing(t *testing.T) {
	st := newFilteredEnv(t, 0)
	st.eventually("it is known whom news concern", func() bool { return len(st.listUnplaced()) == 1 })
	news := &CapacityWatcher{Reconciler: st.reconciler, Clock: clock.RealClock{}}
	st.updateReport("w2", func(r *switchyard.CapacityReport) {
		figures := &r.ClusterQueues[0].Groups[0].Flavors[0]
		figures.Own, figures.Free = []int64{7}, []int64{9}
		r.ClusterQueues[0].Waiting = []switchyard.CapacityWaiting{{Count: 3}}
	})
	if woken := news.requeueAffected(); woken != 0 {
		t.Errorf("%d were woken", woken)
	}
	before := st.listUnplaced()[0].Ineligible
	st.updateReport("w2", func(r *switchyard.CapacityReport) { r.Kinds = nil })
	st.eventually("other kinds are news", func() bool {
		news.requeueAffected()
		now := st.listUnplaced()
		return len(now) == 1 && !slices.Equal(now[0].Ineligible, before)
	})
}
