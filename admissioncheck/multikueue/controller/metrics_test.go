package controller

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// newMetricsReconciler is a Resolver with a fleet of the named clusters, none of which is ever reached.
func newMetricsReconciler(names ...string) *WorkloadReconciler {
	r := NewWorkloadReconciler(&WorkloadReconciler{Clock: clock.RealClock{}})
	r.SetFleet(fleet.New(fleet.Options{OnRemoved: r.forgetCluster}))
	for _, name := range names {
		r.Fleet.Connect(name, fleet.Credentials{Fingerprint: name})
	}
	return r
}

// listSeries lists the metrics that have a series with a label whose value begins so, by name.
func listSeries(t *testing.T, prefix string) []string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := RegisterMetrics(registry); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if strings.HasPrefix(label.GetValue(), prefix) {
					names = append(names, family.GetName())
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func TestOffersAndRetreatsAreCountedAndGoWithTheirCluster(t *testing.T) {
	r := newMetricsReconciler("fig-a", "fig-b", "fig-c", "fig-d")
	s := &workloadScope{state: dispatch.State{Epoch: 1, Nominated: []string{"fig-a", "fig-b", "fig-c"}}}
	s.original.Workload = &kueue.Workload{}
	s.observed.Clusters = []dispatch.ClusterView{{Name: "fig-a"}, {Name: "fig-b", Copy: dispatch.Copy{Refused: true}}, {Name: "fig-c"}, {Name: "fig-d"}}
	r.recordMetrics(s, dispatch.Plan{Next: dispatch.State{Epoch: 1, Bound: "fig-a"}})
	for labels, want := range map[[2]string]float64{
		{"fig-a", "won"}: 1, {"fig-b", "refused"}: 1, {"fig-c", "lost"}: 1, {"fig-d", "lost"}: 0,
	} {
		if got := testutil.ToFloat64(offersTotal.WithLabelValues(labels[0], labels[1])); got != want {
			t.Errorf("%v: %v", labels, got)
		}
	}
	s.state = dispatch.State{Epoch: 1, Bound: "fig-a"}
	r.recordMetrics(s, metricValue("fig-a"))
	if got := testutil.ToFloat64(retreatsTotal.WithLabelValues("fig-a", "RemoteLost")); got != 1 {
		t.Errorf("%v retreats", got)
	}
	countDispatched(s.original.Workload, "fig-a")
	admittedTotal.WithLabelValues("", "fig-a").Inc()
	for _, cluster := range []string{"fig-a", "fig-b", "fig-c", "fig-d"} {
		r.Fleet.Remove(cluster)
	}
	if left := listSeries(t, "fig-"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// metricValue is the plan to give up a cluster that is bound in epoch 1.
func metricValue(cluster string) dispatch.Plan {
	next := dispatch.State{Epoch: 2, Bound: cluster, Debts: []dispatch.Debt{{Cluster: cluster, Epoch: 1}}}
	return dispatch.Plan{Next: next, Reason: dispatch.RemoteLost}
}

func TestARestoredEpochIsNoRetreat(t *testing.T) {
	r := newMetricsReconciler("fix-a")
	s := &workloadScope{state: dispatch.State{Epoch: 1, Bound: "fix-a"}}
	restored := dispatch.State{Epoch: 4, Bound: "fix-a", Debts: []dispatch.Debt{{Cluster: "fix-b", Epoch: 3}}}
	r.recordMetrics(s, dispatch.Plan{Next: restored, Reason: dispatch.RecordLost})
	if got := listSeries(t, "fix-"); len(got) > 0 {
		t.Errorf("counted: %v", got)
	}
}

func TestNothingIsCountedOfAClusterThatWasRemoved(t *testing.T) {
	r := newMetricsReconciler("fin-a", "fin-b")
	s := &workloadScope{state: dispatch.State{Epoch: 1, Bound: "fin-a"}}
	s.original.Workload = &kueue.Workload{}
	r.Fleet.Remove("fin-a")
	r.recordMetrics(s, metricValue("fin-a"))
	s.state = dispatch.State{Epoch: 1, Nominated: []string{"fin-a", "fin-b"}}
	s.observed.Clusters = []dispatch.ClusterView{{Name: "fin-a"}, {Name: "fin-b"}}
	ready := dispatch.Plan{Next: dispatch.State{Epoch: 1, Bound: "fin-a"}, CheckResult: dispatch.CheckResult{State: dispatch.Ready}}
	r.recordChange(s, ready, hubChange{wl: &kueue.Workload{}})
	r.Fleet.Remove("fin-b")
	if got := listSeries(t, "fin-"); len(got) > 0 {
		t.Errorf("counted: %v", got)
	}
}

func TestTheSeriesOfAClusterQueueGoWithIt(t *testing.T) {
	wl := &kueue.Workload{}
	for _, queue := range []string{"fiq-gone", "fiq-kept"} {
		wl.Status.Admission = &kueue.Admission{ClusterQueue: kueue.ClusterQueueReference(queue)}
		countDispatched(wl, "w1")
		admittedTotal.WithLabelValues(queue, "w1").Inc()
	}
	queue := &kueue.ClusterQueue{}
	queue.Name = "fiq-gone"
	queueDeletionHandler().Delete(t.Context(), event.DeleteEvent{Object: queue}, nil)
	if got := listSeries(t, "fiq-gone"); len(got) > 0 {
		t.Errorf("left: %v", got)
	}
	if got := listSeries(t, "fiq-kept"); len(got) != 2 {
		t.Errorf("of another queue there is left: %v", got)
	}
	deleteQueueMetrics("fiq-kept")
}

func TestTheConnectionOfEveryClusterIsReportedOnceAndOnlyWhileItIsThere(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	registry := prometheus.NewPedanticRegistry()
	for _, f := range []*fleet.Fleet{st.fleet, st.fleet} {
		if err := registerFleetMetrics(registry, f); err != nil {
			t.Fatal(err)
		}
	}
	told := func() string {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, family := range families {
			if family.GetName() == "switchyard_multikueue_cluster_connected" {
				for _, metric := range family.GetMetric() {
					names = append(names, metric.GetLabel()[0].GetValue())
				}
			}
		}
		return strings.Join(names, " ")
	}
	if got := told(); got != "w1 w2" {
		t.Errorf("told of %q", got)
	}
	st.fleet.Remove("w2")
	if got := told(); got != "w1" {
		t.Errorf("afterwards of %q", got)
	}
}
