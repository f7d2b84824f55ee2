package tracker

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/placement"
	"switchyard.dev/worker/admission"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func teamKey(name string) admission.Key { return admission.Key{Namespace: "team", Name: name} }

func newWorkload(name string) Workload { return Workload{Key: teamKey(name), UID: "uid-of-" + name} }

func newClaims() []placement.Claim {
	return []placement.Claim{{Queue: "cq", Flavor: "gpu", Resource: "cpu", Amount: 4}}
}

// offered is the State of a Workload with an offer to each of the clusters.
func offered(clusters ...string) dispatch.State { return dispatch.State{Epoch: 1, Nominated: clusters} }

// observation is what is seen of a Workload with quota whose copies are as given.
func observation(now time.Time, copies map[string]dispatch.Copy) dispatch.Observation {
	o := dispatch.Observation{Now: now, Local: dispatch.Local{Quota: dispatch.LocalQuota{Reserved: true}}}
	for _, name := range []string{"w1", "w2", "w3"} {
		if c, ok := copies[name]; ok {
			o.Clusters = append(o.Clusters, dispatch.ClusterView{Name: name, Copy: c})
		}
	}
	return o
}

func reservedAt(at time.Time) map[string]dispatch.Copy {
	return map[string]dispatch.Copy{"w1": {QuotaReserved: !at.IsZero(), Since: at}}
}

// isEmpty reports whether nothing is remembered of any Workload.
func (t *Tracker) isEmpty() bool {
	for _, c := range t.clusters {
		if len(c.offers) > 0 {
			return false
		}
	}
	u := t.unplaced
	return len(t.workloads)+len(t.deletions.witnessed)+len(t.deletions.deleted)+len(u.workloads)+len(u.rechecks)+len(u.clusters) == 0
}

// checkOffers compares the offers of Workloads with those of clusters and with the claims.
func checkOffers(t *testing.T, tr *Tracker, names []string) {
	t.Helper()
	count := 0
	for key, s := range tr.workloads {
		for cluster, of := range s.offers {
			count++
			if tr.clusters[cluster].offers[key] != of {
				t.Fatalf("the offer of %s to %s is not the cluster's", key, cluster)
			}
		}
	}
	for _, name := range names {
		claims := int64(0)
		for _, of := range tr.lookupCluster(name).offers {
			count--
			if !of.isCounted {
				claims++
			}
		}
		sum := int64(0)
		for _, c := range tr.claims.List(name, admission.Key{}) {
			sum += int64(c.Amount)
		}
		if sum > 4*claims {
			t.Fatalf("%s: %d in flight, with %d offers that are not counted", name, sum, claims)
		}
	}
	if count != 0 {
		t.Fatalf("%d offers are in one place only", count)
	}
}

// TestWhatIsRememberedEnds does anything in any order: what is remembered is consistent at any time, and nothing is left of a
// Workload that was forgotten, or never observed.
func TestWhatIsRememberedEnds(t *testing.T) {
	clusters, names := []string{"w1", "w2", "w3"}, []string{"a", "b", "c", "d"}
	verbs := []dispatch.Verb{dispatch.CreateOffer, dispatch.OpenGate, dispatch.Retract, dispatch.CreateJob, dispatch.LiveRead}
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		tr, now := New(time.Minute), noon
		for range 200 {
			now = now.Add(time.Duration(random.IntN(4000)) * time.Millisecond)
			w := newWorkload(names[random.IntN(len(names))])
			if random.IntN(10) == 0 {
				w.UID = "made again"
			}
			cluster := clusters[random.IntN(len(clusters))]
			a := dispatch.Action{Verb: verbs[random.IntN(len(verbs))], Cluster: cluster, Epoch: 1 + random.Int64N(3)}
			seen := observation(now, map[string]dispatch.Copy{cluster: {QuotaReserved: random.IntN(2) == 0, Since: now}})
			switch random.IntN(14) {
			case 0, 1:
				tr.Assume(w, cluster, newClaims(), now)
			case 2:
				tr.Submitted(w, a, now)
			case 3, 4:
				tr.Sent(w, a, now)
			case 5:
				tr.Answered(w, a, Answer{Created: true, Refused: random.IntN(2) == 0, Removed: []string{"x"}}, now)
			case 6:
				seen.Local.Finished, seen.Local.Deleted = random.IntN(3) == 0, random.IntN(3) == 0
				tr.Observe(w, offered(cluster), seen, dispatch.Plan{})
			case 7:
				tr.Observe(w, dispatch.State{Epoch: 1, Bound: cluster}, seen, dispatch.Plan{})
			case 8:
				tr.InFlight(cluster, w.Key, now.Add(time.Duration(random.IntN(3)-1)*time.Second), now)
			case 9:
				tr.Bound(w, offered(clusters...), seen, dispatch.Policy{Dispatcher: dispatch.BestFit}, dispatch.Plan{Next: dispatch.State{Bound: cluster}})
			case 10:
				tr.Unplaced().Set(w.Key, &Unplaced{Key: w.Key, RecheckAt: now, Ineligible: []Ineligible{{cluster, 1}}})
				tr.Deletions().Record(w.Key)
				tr.Deletions().Witness(w, "")
			case 11:
				tr.DeferJobCreation(w, []dispatch.Action{a}, func(dispatch.Action) bool { return true }, now)
				tr.AwaitFinish(w, now)
			case 12:
				tr.ForgetCluster(cluster)
			default:
				tr.Expire(now)
			}
			checkOffers(t, tr, clusters)
		}
		for _, name := range names {
			tr.ForgetWorkload(teamKey(name))
		}
		if !tr.isEmpty() {
			t.Fatalf("seed %d: left behind: %+v", seed, tr)
		}
	}
}

func TestWhatIsRecordedAfterAWorkloadHasGoneExpires(t *testing.T) {
	for _, verb := range []dispatch.Verb{dispatch.CreateOffer, dispatch.OpenGate} {
		tr, w := New(time.Minute), newWorkload("a")
		tr.Sent(w, dispatch.Action{Verb: verb, Cluster: "w1", Epoch: 1}, noon)
		tr.Expire(noon.Add(UnconfirmedTTL - time.Second))
		if tr.isEmpty() {
			t.Errorf("%s: expired too early", verb)
		}
		tr.Expire(noon.Add(2 * UnconfirmedTTL))
		if !tr.isEmpty() {
			t.Errorf("%s: left behind", verb)
		}
	}
}

func TestAWorkloadOfTheNameOfAnotherInheritsNothing(t *testing.T) {
	tr, first := New(time.Minute), newWorkload("a")
	second := Workload{Key: first.Key, UID: "another"}
	offer := dispatch.Action{Verb: dispatch.CreateOffer, Cluster: "w1", Epoch: 1}
	tr.Assume(first, "w1", newClaims(), noon)
	tr.Sent(first, offer, noon)
	tr.Sent(first, dispatch.Action{Verb: dispatch.OpenGate, Cluster: "w1", Epoch: 1}, noon)
	v := dispatch.ClusterView{Name: "w1"}
	if tr.AddTo(second, 1, &v); v.Offer != (dispatch.Offer{}) {
		t.Errorf("%+v", v.Offer)
	}
	if tr.AddTo(first, 2, &v); v.Offer != (dispatch.Offer{}) {
		t.Errorf("in a later epoch: %+v", v.Offer)
	}
	if tr.AddTo(first, 1, &v); !v.Offer.StartedAt.Equal(noon) || !v.Offer.GateRequested {
		t.Errorf("its own: %+v", v.Offer)
	}
	later := noon.Add(time.Second)
	tr.Sent(second, offer, later)
	v = dispatch.ClusterView{Name: "w1"}
	if tr.AddTo(second, 1, &v); !v.Offer.StartedAt.Equal(later) || v.Offer.GateRequested {
		t.Errorf("%+v", v.Offer)
	}
	if left := tr.InFlight("w1", admission.Key{}, noon, later); len(left) != 0 {
		t.Errorf("in flight still: %v", left)
	}
}

func TestAPreemptionGateIsRequestedOfOneClusterAndForgottenWhenItIsSeen(t *testing.T) {
	tr, w := New(time.Minute), newWorkload("a")
	open := func(cluster string) dispatch.Action {
		return dispatch.Action{Verb: dispatch.OpenGate, Cluster: cluster, Epoch: 1}
	}
	offer := func(cluster string, c dispatch.Copy) dispatch.Offer {
		v := dispatch.ClusterView{Name: cluster, Copy: c}
		tr.AddTo(w, 1, &v)
		return v.Offer
	}
	tr.Submitted(w, open("w1"), noon)
	tr.Submitted(w, open("w2"), noon)
	if offer("w1", dispatch.Copy{}).GateRequested {
		t.Error("a request that was not called ends with the next one")
	}
	called := noon.Add(time.Second)
	tr.Sent(w, open("w2"), called)
	tr.Answered(w, open("w2"), Answer{Refused: true}, called)
	if got := offer("w2", dispatch.Copy{}); !got.GateRequested || !got.GateRequestedAt.IsZero() {
		t.Errorf("the server surely has not opened it: %+v", got)
	}
	tr.Sent(w, open("w2"), called)
	tr.Answered(w, open("w2"), Answer{}, called)
	if got := offer("w2", dispatch.Copy{}); !got.GateRequestedAt.Equal(called) || !got.GateFirstRequestedAt.Equal(noon) {
		t.Errorf("it may be open: %+v", got)
	}
	tr.Submitted(w, open("w1"), called)
	if !offer("w2", dispatch.Copy{}).GateRequested {
		t.Error("a request that was called does not end with the next one")
	}
	shown := dispatch.Copy{Holder: dispatch.Ours, GateOpenedAt: called}
	if offer("w2", shown); offer("w2", shown).GateRequested {
		t.Error("remembered though it is seen")
	}
}

func TestRemovalsAreRememberedForAWhileOverTheirConnection(t *testing.T) {
	tr := New(time.Minute)
	retract := dispatch.Action{Verb: dispatch.Retract, Cluster: "w1"}
	tr.Answered(newWorkload("a"), retract, Answer{Removed: []string{"job"}, Connection: 1}, noon)
	if !tr.IsRemoved("job", 1, noon) || tr.IsRemoved("workload", 1, noon) || tr.IsRemoved("job", 2, noon) {
		t.Error("the job was removed over connection 1, and nothing else")
	}
	tr.Answered(newWorkload("a"), retract, Answer{Removed: []string{"workload"}, Connection: 1}, noon.Add(removalTTL-1))
	at := noon.Add(2*removalTTL - 2)
	if !tr.IsRemoved("job", 1, at) || !tr.IsRemoved("workload", 1, at) {
		t.Error("forgotten too early")
	}
	if tr.IsRemoved("job", 1, noon.Add(4*removalTTL)) || !New(0).removals.rotatedAt.IsZero() {
		t.Error("remembered for too long")
	}
}

func TestAWinnerWaitsForQuickLosersOnly(t *testing.T) {
	tr, w := New(time.Minute), newWorkload("a")
	actions := []dispatch.Action{{Verb: dispatch.Retract, Cluster: "w2"}, {Verb: dispatch.CreateJob, Cluster: "w1"}}
	pending := true
	decide := func(now time.Time) (int, time.Time) {
		due, until := tr.DeferJobCreation(w, actions, func(dispatch.Action) bool { return pending }, now)
		return len(due), until
	}
	if n, until := decide(noon); n != 1 || !until.Equal(noon.Add(loserRemovalTimeout)) {
		t.Errorf("%d actions, again at %v", n, until)
	}
	if n, until := decide(noon.Add(loserRemovalTimeout)); n != 2 || !until.IsZero() {
		t.Errorf("%d actions after the timeout, again at %v", n, until)
	}
	pending = false
	decide(noon.Add(time.Hour))
	pending = true
	if n, _ := decide(noon.Add(2 * time.Hour)); n != 1 {
		t.Error("the wait has not begun anew")
	}
}

func TestTheJobControllerHasTimeByHowLongItTookLately(t *testing.T) {
	tr := New(time.Minute)
	end := func(name string, took time.Duration) time.Duration {
		w := newWorkload(name)
		given := tr.AwaitFinish(w, noon).Sub(noon)
		if again := tr.AwaitFinish(w, noon.Add(time.Second)).Sub(noon); again != given {
			t.Errorf("%s: it has until %v, then until %v", name, given, again)
		}
		tr.Observe(w, dispatch.State{}, dispatch.Observation{Now: noon.Add(took), Local: dispatch.Local{Finished: true}}, dispatch.Plan{})
		return given
	}
	if got := end("first", 3*time.Second); got != minFinishDelay {
		t.Errorf("at first %v", got)
	}
	if got := end("second", time.Hour); got != 12*time.Second {
		t.Errorf("after one of 3s: %v", got)
	}
	taken := newWorkload("taken")
	tr.AwaitFinish(taken, noon)
	tr.FinishTaken(taken)
	before := tr.finishes
	tr.Observe(taken, dispatch.State{}, dispatch.Observation{Now: noon, Local: dispatch.Local{Finished: true}}, dispatch.Plan{})
	if tr.finishes != before {
		t.Error("what the dispatcher did itself says nothing of the job controller")
	}
}

func TestDrainsTakeTurns(t *testing.T) {
	tr, bound := New(time.Minute), []admission.Key{teamKey("a"), teamKey("b"), teamKey("c")}
	var turns []string
	for range 4 {
		next, _ := tr.NextToDrain("w1", bound)
		gang := []admission.Key{next}
		if next == teamKey("a") {
			gang = append(gang, teamKey("c"))
		}
		tr.SetDrainTargets("w1", gang)
		turns = append(turns, next.Name)
	}
	if got := fmt.Sprint(turns); got != "[a b a b]" {
		t.Errorf("turns: %s", got)
	}
	v := dispatch.ClusterView{Name: "w1", Operator: dispatch.Operator{BeingDrained: true}}
	if tr.AddTo(newWorkload("b"), 1, &v); !v.Operator.Draining {
		t.Error("b has the turn")
	}
	if tr.AddTo(newWorkload("a"), 1, &v); v.Operator.Draining {
		t.Error("a has not")
	}
	tr.EndDrain("w1")
	if tr.AddTo(newWorkload("b"), 1, &v); v.Operator.Draining {
		t.Error("the drain is over")
	}
	if _, ok := tr.NextToDrain("w1", nil); ok {
		t.Error("nothing runs there")
	}
}

func TestAMissingClusterIsMissingSinceItWasSeenToBe(t *testing.T) {
	tr := New(time.Minute)
	if got := tr.MissingSince("w9", noon); !got.Equal(noon) || !tr.MissingSince("w9", noon.Add(time.Hour)).Equal(noon) {
		t.Errorf("since %v", got)
	}
	tr.ClusterFound("w9")
	if later := noon.Add(2 * time.Hour); !tr.MissingSince("w9", later).Equal(later) {
		t.Error("it was found meanwhile")
	}
}
