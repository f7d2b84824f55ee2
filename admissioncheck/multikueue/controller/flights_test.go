package controller

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/placement"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func TestWhatIsInFlightLandsWithTheReportThatCountsIt(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	mine, other := types.NamespacedName{Namespace: "team", Name: "mine"}, types.NamespacedName{Namespace: "team", Name: "other"}
	claims := []placement.Claim{{Queue: "cq", Flavor: "gpu", Resource: "cpu", Amount: 4}}
	var f flights
	flying := func(report time.Time) int { return len(f.inFlight("w1", other, report, now)) }
	f.nominate("w1", mine, claims, now)
	if flying(now) != 1 || len(f.inFlight("w1", mine, now, now)) != 0 {
		t.Error("what others have in flight counts, and nothing else")
	}
	f.stored("w1", mine, time.Time{}, now)
	now = now.Add(time.Hour)
	if flying(now) != 1 {
		t.Error("dropped while it still waits there")
	}
	f.stored("w1", mine, now, now)
	if flying(now) != 1 {
		t.Error("landed with a report of the same second as the reservation")
	}
	if flying(now.Add(time.Second)) != 0 {
		t.Error("still in flight after the report that counts it")
	}
	f.nominate("w1", mine, claims, now)
	if flying(now.Add(2*time.Second)) != 0 {
		t.Error("counted twice")
	}
}

func TestAFlightThatWasNeverStoredIsForgotten(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	mine, other := types.NamespacedName{Name: "mine"}, types.NamespacedName{Name: "other"}
	var f flights
	f.nominate("w1", mine, []placement.Claim{{Queue: "cq", Resource: "cpu", Amount: 4}}, now)
	if len(f.inFlight("w1", other, time.Time{}, now.Add(unstored-time.Second))) != 1 {
		t.Error("forgotten too early")
	}
	if len(f.inFlight("w1", other, time.Time{}, now.Add(unstored))) != 0 {
		t.Error("kept")
	}
}

func TestAStaleLookAtTheWorkloadDropsNothingThatIsAboutToBeStored(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	mine, other := types.NamespacedName{Name: "mine"}, types.NamespacedName{Name: "other"}
	var f flights
	f.nominate("w1", mine, []placement.Claim{{Queue: "cq", Resource: "cpu", Amount: 4}}, now)
	f.ended(mine)
	if len(f.inFlight("w1", other, time.Time{}, now)) != 1 {
		t.Error("dropped before it was stored")
	}
	f.stored("w1", mine, time.Time{}, now)
	f.ended(mine)
	if len(f.inFlight("w1", other, time.Time{}, now)) != 0 {
		t.Error("kept although its reservation ended")
	}
}

func TestHowLongAnOfferMayWait(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var f flights
	offer := func(cluster string, took time.Duration) {
		key := types.NamespacedName{Name: "x"}
		f.offer(cluster, key, now)
		f.land(cluster, key, now.Add(took))
		f.only(key)
	}
	if got := f.patienceWith([]string{"w1"}); got != hedgeFirst {
		t.Errorf("unknown: %v", got)
	}
	for range enough {
		offer("quick", 10*time.Millisecond)
		offer("slow", 4*time.Second)
		offer("stuck", time.Hour)
	}
	for cluster, want := range map[string]time.Duration{"quick": hedgeLeast, "slow": 8 * time.Second, "stuck": hedgeMost} {
		if got := f.patienceWith([]string{cluster}); got != want {
			t.Errorf("%s: %v", cluster, got)
		}
	}
	if got := f.patienceWith([]string{"quick", "slow"}); got != 8*time.Second {
		t.Errorf("two of them: %v", got)
	}
}

func TestWhoDidNotAdmitInTimeIsHeldToItUntilItDoesOrIsForgiven(t *testing.T) {
	r := counting("w0", "w1", "w2", "w3")
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	s := &subject{state: dispatch.State{Epoch: 1, Nominated: []string{"w0", "w1", "w2", "w3"}}}
	s.observed.Clusters = []dispatch.ClusterView{
		{Name: "w0", Copy: dispatch.Copy{Refused: true}}, {Name: "w1"}, {Name: "w2"}, {Name: "w3"},
	}
	s.original.Workload = &kueue.Workload{}
	s.observed.Now = now
	s.policy.Dispatcher = dispatch.BestFit
	for i, name := range []string{"w0", "w1", "w2", "w3"} {
		r.flights.nominate(name, s.key(), nil, now)
		r.flights.send(name, s.key(), 1, now.Add(time.Duration(i)*time.Second))
	}
	r.flights.offer("w2", s.key(), now)
	for range 2 {
		r.count(s, dispatch.Plan{Next: dispatch.State{Epoch: 1, Bound: "w2"}})
	}
	for name, want := range map[string]int{"w0": 0, "w1": 2, "w2": 0, "w3": 0} {
		if got := r.flights.troubles(name, now); got != want {
			t.Errorf("%s: %d misses, want %d", name, got, want)
		}
	}
	if got := r.flights.troubles("w1", now.Add(forgiven)); got != 0 {
		t.Errorf("%d misses are never forgiven", got)
	}
	r.flights.offer("w1", s.key(), now)
	r.count(s, dispatch.Plan{Next: dispatch.State{Epoch: 1, Bound: "w1"}})
	if got := r.flights.troubles("w1", now); got != 0 {
		t.Errorf("%d misses although it admitted one since", got)
	}
	for _, name := range s.state.Nominated {
		r.removed(name)
	}
}
