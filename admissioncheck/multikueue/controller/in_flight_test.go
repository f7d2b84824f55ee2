package controller

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/placement"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func TestAnInFlightOfferIsCountedWithTheReportThatIncludesIt(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	mine, other := types.NamespacedName{Namespace: "team", Name: "mine"}, types.NamespacedName{Namespace: "team", Name: "other"}
	claims := []placement.Claim{{Queue: "cq", Flavor: "gpu", Resource: "cpu", Amount: 4}}
	var f inFlightOffers
	flying := func(report time.Time) int { return len(f.rivalClaims("w1", other, report, now)) }
	f.recordNomination("w1", mine, claims, now)
	if flying(now) != 1 || len(f.rivalClaims("w1", mine, now, now)) != 0 {
		t.Error("what others have in flight counts, and nothing else")
	}
	f.recordStored("w1", mine, time.Time{}, now)
	now = now.Add(time.Hour)
	if flying(now) != 1 {
		t.Error("dropped while it still waits there")
	}
	f.recordStored("w1", mine, now, now)
	if flying(now) != 1 {
		t.Error("landed with a report of the same second as the reservation")
	}
	if flying(now.Add(time.Second)) != 0 {
		t.Error("still in flight after the report that counts it")
	}
	f.recordNomination("w1", mine, claims, now)
	if flying(now.Add(2*time.Second)) != 0 {
		t.Error("counted twice")
	}
}

func TestAnInFlightOfferThatWasNeverStoredIsForgotten(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	mine, other := types.NamespacedName{Name: "mine"}, types.NamespacedName{Name: "other"}
	var f inFlightOffers
	f.recordNomination("w1", mine, []placement.Claim{{Queue: "cq", Resource: "cpu", Amount: 4}}, now)
	if len(f.rivalClaims("w1", other, time.Time{}, now.Add(unstoredTTL-time.Second))) != 1 {
		t.Error("forgotten too early")
	}
	if len(f.rivalClaims("w1", other, time.Time{}, now.Add(unstoredTTL))) != 0 {
		t.Error("kept")
	}
}

func TestAStaleWorkloadRemovesNoOfferThatIsAboutToBeStored(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	mine, other := types.NamespacedName{Name: "mine"}, types.NamespacedName{Name: "other"}
	var f inFlightOffers
	f.recordNomination("w1", mine, []placement.Claim{{Queue: "cq", Resource: "cpu", Amount: 4}}, now)
	f.removeStored(mine)
	if len(f.rivalClaims("w1", other, time.Time{}, now)) != 1 {
		t.Error("dropped before it was stored")
	}
	f.recordStored("w1", mine, time.Time{}, now)
	f.removeStored(mine)
	if len(f.rivalClaims("w1", other, time.Time{}, now)) != 0 {
		t.Error("kept although its reservation ended")
	}
}

func TestHowLongAnOfferMayWait(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var f inFlightOffers
	offer := func(cluster string, took time.Duration) {
		key := types.NamespacedName{Name: "x"}
		f.recordOffer(cluster, key, now)
		f.recordBound(cluster, key, now.Add(took))
		f.removeExcept(key)
	}
	if got := f.hedgeDelay([]string{"w1"}); got != defaultHedgeDelay {
		t.Errorf("unknown: %v", got)
	}
	for range minLatencySamples {
		offer("quick", 10*time.Millisecond)
		offer("slow", 4*time.Second)
		offer("stuck", time.Hour)
	}
	for cluster, want := range map[string]time.Duration{"quick": minHedgeDelay, "slow": 8 * time.Second, "stuck": maxHedgeDelay} {
		if got := f.hedgeDelay([]string{cluster}); got != want {
			t.Errorf("%s: %v", cluster, got)
		}
	}
	if got := f.hedgeDelay([]string{"quick", "slow"}); got != 8*time.Second {
		t.Errorf("two of them: %v", got)
	}
}

func TestMissesCountUntilAnAdmissionOrTheirExpiry(t *testing.T) {
	r := newMetricsReconciler("w0", "w1", "w2", "w3")
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	s := &workloadScope{state: dispatch.State{Epoch: 1, Nominated: []string{"w0", "w1", "w2", "w3"}}}
	s.observed.Clusters = []dispatch.ClusterView{
		{Name: "w0", Copy: dispatch.Copy{Refused: true}}, {Name: "w1"}, {Name: "w2"}, {Name: "w3"},
	}
	s.original.Workload = &kueue.Workload{}
	s.observed.Now = now
	s.policy.Dispatcher = dispatch.BestFit
	for i, name := range []string{"w0", "w1", "w2", "w3"} {
		r.inFlight.recordNomination(name, s.key(), nil, now)
		r.inFlight.recordSend(name, s.key(), 1, now.Add(time.Duration(i)*time.Second))
	}
	r.inFlight.recordOffer("w2", s.key(), now)
	for range 2 {
		r.recordMetrics(s, dispatch.Plan{Next: dispatch.State{Epoch: 1, Bound: "w2"}})
	}
	for name, want := range map[string]int{"w0": 0, "w1": 2, "w2": 0, "w3": 0} {
		if got := r.inFlight.countMisses(name, now); got != want {
			t.Errorf("%s: %d misses, want %d", name, got, want)
		}
	}
	if got := r.inFlight.countMisses("w1", now.Add(missTTL)); got != 0 {
		t.Errorf("%d misses are never forgiven", got)
	}
	r.inFlight.recordOffer("w1", s.key(), now)
	r.recordMetrics(s, dispatch.Plan{Next: dispatch.State{Epoch: 1, Bound: "w1"}})
	if got := r.inFlight.countMisses("w1", now); got != 0 {
		t.Errorf("%d misses although it admitted one since", got)
	}
	for _, name := range s.state.Nominated {
		r.forgetCluster(name)
	}
}
