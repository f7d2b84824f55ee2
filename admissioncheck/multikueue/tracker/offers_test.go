package tracker

import (
	"testing"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/worker/admission"
)

func TestAnInFlightOfferIsCountedWithTheReportThatIncludesIt(t *testing.T) {
	tr, now, w := New(time.Minute), noon, newWorkload("a")
	inFlight := func(report time.Time) int { return len(tr.InFlight("w1", teamKey("b"), report, now)) }
	tr.Assume(w, "w1", newClaims(), now)
	if inFlight(now) != 1 || len(tr.InFlight("w1", w.Key, now, now)) != 0 {
		t.Error("what others have in flight counts, and nothing else")
	}
	tr.Observe(w, offered("w1"), observation(now, reservedAt(time.Time{})), dispatch.Plan{})
	now = now.Add(time.Hour)
	if inFlight(now) != 1 {
		t.Error("dropped while it still waits there")
	}
	tr.Observe(w, offered("w1"), observation(now, reservedAt(now)), dispatch.Plan{})
	if inFlight(now) != 1 {
		t.Error("landed with a report of the same second as the reservation")
	}
	if inFlight(now.Add(time.Second)) != 0 {
		t.Error("still in flight after the report that counts it")
	}
	tr.Assume(w, "w1", newClaims(), now)
	if inFlight(now.Add(2*time.Second)) != 0 {
		t.Error("counted twice")
	}
}

func TestAReservationOnAClusterWithoutReportIsCountedAfterAWhile(t *testing.T) {
	tr, w := New(time.Minute), newWorkload("a")
	tr.Assume(w, "w1", newClaims(), noon)
	tr.Observe(w, offered("w1"), observation(noon, reservedAt(noon)), dispatch.Plan{})
	if got := tr.InFlight("w1", teamKey("b"), time.Time{}, noon.Add(uncountedTTL-time.Second)); len(got) != 1 {
		t.Errorf("counted too early: %v", got)
	}
	if got := tr.InFlight("w1", teamKey("b"), time.Time{}, noon.Add(uncountedTTL)); len(got) != 0 {
		t.Errorf("never counted: %v", got)
	}
}

func TestAnInFlightOfferThatWasNeverStoredIsForgotten(t *testing.T) {
	tr, w := New(time.Minute), newWorkload("a")
	tr.Assume(w, "w1", newClaims(), noon)
	if len(tr.InFlight("w1", teamKey("b"), time.Time{}, noon.Add(UnconfirmedTTL-time.Second))) != 1 {
		t.Error("forgotten too early")
	}
	if len(tr.InFlight("w1", teamKey("b"), time.Time{}, noon.Add(UnconfirmedTTL))) != 0 {
		t.Error("kept")
	}
}

func TestAStaleWorkloadRemovesNoOfferThatIsAboutToBeStored(t *testing.T) {
	tr, w := New(time.Minute), newWorkload("a")
	tr.Assume(w, "w1", newClaims(), noon)
	stale := dispatch.Observation{Now: noon}
	tr.Observe(w, dispatch.State{}, stale, dispatch.Plan{})
	if len(tr.InFlight("w1", teamKey("b"), time.Time{}, noon)) != 1 {
		t.Error("dropped before it was stored")
	}
	tr.Observe(w, offered("w1"), observation(noon, reservedAt(time.Time{})), dispatch.Plan{})
	tr.Observe(w, dispatch.State{}, stale, dispatch.Plan{})
	if len(tr.InFlight("w1", teamKey("b"), time.Time{}, noon)) != 0 {
		t.Error("kept although its reservation ended")
	}
}

func TestTheOffersOfABoundWorkloadAreThoseToItsCluster(t *testing.T) {
	tr, w := New(time.Minute), newWorkload("a")
	for _, cluster := range []string{"w1", "w2"} {
		tr.Assume(w, cluster, newClaims(), noon)
	}
	tr.Observe(w, dispatch.State{Epoch: 1, Bound: "w1"}, observation(noon, reservedAt(noon)), dispatch.Plan{})
	if len(tr.InFlight("w1", admission.Key{}, noon, noon)) != 1 || len(tr.InFlight("w2", admission.Key{}, noon, noon)) != 0 {
		t.Error("in flight to the winner alone")
	}
}

// bind has a Workload offered to clusters, one second after the other, and bound to one of them.
func (t *Tracker) bind(winner string, took time.Duration, refused map[string]dispatch.Copy, clusters ...string) {
	w := newWorkload("bound")
	for i, name := range clusters {
		a := dispatch.Action{Verb: dispatch.CreateOffer, Cluster: name, Epoch: 1}
		t.Sent(w, a, noon.Add(time.Duration(i)*time.Second))
		if name == winner {
			t.Answered(w, a, Answer{Created: true}, noon)
		}
	}
	o := observation(noon.Add(took), refused)
	t.Bound(w, offered(clusters...), o, dispatch.Policy{Dispatcher: dispatch.BestFit}, dispatch.Plan{Next: dispatch.State{Epoch: 1, Bound: winner}})
	t.ForgetWorkload(w.Key)
}

func TestHowLongAnOfferMayWait(t *testing.T) {
	tr := New(time.Minute)
	if got := tr.HedgeDelay([]string{"w1"}); got != defaultHedgeDelay {
		t.Errorf("unknown: %v", got)
	}
	for range minLatencySamples {
		tr.bind("quick", 10*time.Millisecond, nil, "quick")
		tr.bind("slow", 4*time.Second, nil, "slow")
		tr.bind("stuck", time.Hour, nil, "stuck")
	}
	for cluster, want := range map[string]time.Duration{"quick": minHedgeDelay, "slow": 8 * time.Second, "stuck": maxHedgeDelay} {
		if got := tr.HedgeDelay([]string{cluster}); got != want {
			t.Errorf("%s: %v", cluster, got)
		}
	}
	if got := tr.HedgeDelay([]string{"quick", "slow"}); got != 8*time.Second {
		t.Errorf("two of them: %v", got)
	}
}

func TestMissesCountUntilAnAdmissionOrTheirExpiry(t *testing.T) {
	tr := New(time.Minute)
	seen := map[string]dispatch.Copy{"w1": {Refused: true}, "w2": {}, "w3": {}}
	for range 2 {
		tr.bind("w3", 0, seen, "w1", "w2", "w3")
	}
	for name, want := range map[string]int{"w1": 0, "w2": 2, "w3": 0} {
		if got := tr.Misses(name, noon); got != want {
			t.Errorf("%s: %d misses, want %d", name, got, want)
		}
	}
	if got := tr.Misses("w2", noon.Add(missTTL)); got != 0 {
		t.Errorf("%d misses are never forgiven", got)
	}
	tr.bind("w2", 0, nil, "w2")
	if got := tr.Misses("w2", noon); got != 0 {
		t.Errorf("%d misses although it admitted one since", got)
	}
}
