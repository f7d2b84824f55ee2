package controller

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// counting is a Resolver with a fleet of the named clusters, none of which is ever reached.
func counting(names ...string) *Resolver {
	r := &Resolver{}
	r.Fleet = fleet.New(fleet.Options{OnRemoved: r.removed})
	for _, name := range names {
		r.Fleet.Connect(name, fleet.Credentials{Fingerprint: name})
	}
	return r
}

// seriesOf lists the metrics that have a series with a label whose value begins so, by name.
func seriesOf(t *testing.T, prefix string) []string {
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
	r := counting("fig-a", "fig-b", "fig-c", "fig-d")
	s := &subject{state: dispatch.State{Epoch: 1, Nominated: []string{"fig-a", "fig-b", "fig-c"}}}
	s.original.Workload = &kueue.Workload{}
	s.observed.Clusters = []dispatch.ClusterView{{Name: "fig-a"}, {Name: "fig-b", Copy: dispatch.Copy{Refused: true}}, {Name: "fig-c"}, {Name: "fig-d"}}
	r.count(s, dispatch.Plan{Next: dispatch.State{Epoch: 1, Bound: "fig-a"}})
	for labels, want := range map[[2]string]float64{
		{"fig-a", "won"}: 1, {"fig-b", "refused"}: 1, {"fig-c", "lost"}: 1, {"fig-d", "lost"}: 0,
	} {
		if got := testutil.ToFloat64(offers.WithLabelValues(labels[0], labels[1])); got != want {
			t.Errorf("%v: %v", labels, got)
		}
	}
	s.state = dispatch.State{Epoch: 1, Bound: "fig-a"}
	r.count(s, given("fig-a"))
	if got := testutil.ToFloat64(retreats.WithLabelValues("fig-a", "RemoteLost")); got != 1 {
		t.Errorf("%v retreats", got)
	}
	countDispatched(s.original.Workload, "fig-a")
	admitted.WithLabelValues("", "fig-a").Inc()
	for _, cluster := range []string{"fig-a", "fig-b", "fig-c", "fig-d"} {
		r.Fleet.Remove(cluster)
	}
	if left := seriesOf(t, "fig-"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// given is the plan to give up a cluster that is bound in epoch 1.
func given(cluster string) dispatch.Plan {
	next := dispatch.State{Epoch: 2, Bound: cluster, Debts: []dispatch.Debt{{Cluster: cluster, Epoch: 1}}}
	return dispatch.Plan{Next: next, Because: dispatch.RemoteLost}
}

func TestARestoredEpochIsNoRetreat(t *testing.T) {
	r := counting("fix-a")
	s := &subject{state: dispatch.State{Epoch: 1, Bound: "fix-a"}}
	restored := dispatch.State{Epoch: 4, Bound: "fix-a", Debts: []dispatch.Debt{{Cluster: "fix-b", Epoch: 3}}}
	r.count(s, dispatch.Plan{Next: restored, Because: dispatch.RecordLost})
	if got := seriesOf(t, "fix-"); len(got) > 0 {
		t.Errorf("counted: %v", got)
	}
}

func TestNothingIsCountedOfAClusterThatWasRemoved(t *testing.T) {
	r := counting("fin-a", "fin-b")
	s := &subject{state: dispatch.State{Epoch: 1, Bound: "fin-a"}}
	s.original.Workload = &kueue.Workload{}
	r.Fleet.Remove("fin-a")
	r.count(s, given("fin-a"))
	s.state = dispatch.State{Epoch: 1, Nominated: []string{"fin-a", "fin-b"}}
	s.observed.Clusters = []dispatch.ClusterView{{Name: "fin-a"}, {Name: "fin-b"}}
	ready := dispatch.Plan{Next: dispatch.State{Epoch: 1, Bound: "fin-a"}, Verdict: dispatch.Verdict{Check: dispatch.Ready}}
	r.record(s, ready, done{wl: &kueue.Workload{}})
	r.Fleet.Remove("fin-b")
	if got := seriesOf(t, "fin-"); len(got) > 0 {
		t.Errorf("counted: %v", got)
	}
}

func TestTheSeriesOfAClusterQueueGoWithIt(t *testing.T) {
	wl := &kueue.Workload{}
	for _, queue := range []string{"fiq-gone", "fiq-kept"} {
		wl.Status.Admission = &kueue.Admission{ClusterQueue: kueue.ClusterQueueReference(queue)}
		countDispatched(wl, "w1")
		admitted.WithLabelValues(queue, "w1").Inc()
	}
	queue := &kueue.ClusterQueue{}
	queue.Name = "fiq-gone"
	queueDeletions().Delete(t.Context(), event.DeleteEvent{Object: queue}, nil)
	if got := seriesOf(t, "fiq-gone"); len(got) > 0 {
		t.Errorf("left: %v", got)
	}
	if got := seriesOf(t, "fiq-kept"); len(got) != 2 {
		t.Errorf("of another queue there is left: %v", got)
	}
	queueRemoved("fiq-kept")
}

func TestTheConnectionOfEveryClusterIsToldOnceAndOnlyWhileItIsThere(t *testing.T) {
	st := newStage(t, "w1", "w2")
	registry := prometheus.NewPedanticRegistry()
	for _, f := range []*fleet.Fleet{st.fleet, st.fleet} {
		if err := registerFleet(registry, f); err != nil {
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
