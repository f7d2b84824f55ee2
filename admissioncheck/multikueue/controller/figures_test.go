package controller

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func TestOffersAndRetreatsAreCountedAndGoWithTheirCluster(t *testing.T) {
	r := &Resolver{}
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
	r.count(s, dispatch.Plan{Next: dispatch.State{Epoch: 2, Bound: "fig-a"}, Because: dispatch.RemoteLost})
	if got := testutil.ToFloat64(retreats.WithLabelValues("fig-a", "RemoteLost")); got != 1 {
		t.Errorf("%v retreats", got)
	}
	for _, cluster := range []string{"fig-a", "fig-b", "fig-c", "fig-d"} {
		r.removed(cluster)
	}
	registry := prometheus.NewPedanticRegistry()
	if err := RegisterMetrics(registry); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if strings.HasPrefix(label.GetValue(), "fig-") {
					t.Errorf("%s of %s is left", family.GetName(), label.GetValue())
				}
			}
		}
	}
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
