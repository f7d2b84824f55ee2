package controller

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
)

// connectedState and lostAt are connections as a supervisor reports them.
func connectedState(name string) fleet.State {
	return fleet.State{Cluster: name, Connected: true, EverConnected: true}
}

func lostState(name string, since time.Time) fleet.State {
	return fleet.State{Cluster: name, EverConnected: true, LostSince: since, Failures: 1, Err: errors.New("gone")}
}

func TestTheLatestConnectionsDecideWhetherTheHubIsCutOff(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	clock := clocktesting.NewFakePassiveClock(noon)
	c := &cutOffDetector{clock: clock, window: time.Minute}
	minute := func(n float64) time.Time { return noon.Add(time.Duration(n * float64(time.Minute))) }
	type said struct {
		Concerns, News bool
		Ended          time.Time
	}
	for i, step := range []struct {
		states []fleet.State
		want   said
	}{
		{[]fleet.State{connectedState("w1"), connectedState("w2"), connectedState("w3")}, said{}},
		{[]fleet.State{lostState("w1", noon), lostState("w2", noon), connectedState("w3")}, said{Concerns: true, News: true}},
		{[]fleet.State{lostState("w1", noon), lostState("w2", noon), connectedState("w3")}, said{Concerns: true}},
		{[]fleet.State{lostState("w1", noon), connectedState("w2"), connectedState("w3")}, said{Concerns: true, News: true, Ended: minute(4)}},
		{[]fleet.State{lostState("w1", noon), connectedState("w2"), connectedState("w3")}, said{Ended: minute(4)}},
		{[]fleet.State{connectedState("w1"), connectedState("w2"), connectedState("w3")}, said{Ended: minute(4)}},
	} {
		clock.SetTime(minute(float64(i + 1)))
		look := func() []fleet.State {
			if c.mu.TryLock() {
				t.Error("somebody else may look meanwhile, and store what he saw later")
				c.mu.Unlock()
			}
			return step.states
		}
		s := c.update(look)
		if diff := cmp.Diff(step.want, said{s.affectsAll, s.changed, s.cutOffEndedAt}); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
}

// Four of five clusters vanish, one after the other, and when the second is back the first is one of few that were lost together
// with it; the last ones still are most of those of their time.
func TestTheHubMayBeBackForOneClusterWhileItIsCutOffFromOthers(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	clock := clocktesting.NewFakePassiveClock(noon)
	c := &cutOffDetector{clock: clock, window: time.Minute}
	late, later := noon.Add(54*time.Second), noon.Add(108*time.Second)
	lost := func() []fleet.State {
		return []fleet.State{lostState("w1", noon), lostState("w2", noon), lostState("w3", late), lostState("w4", later), connectedState("w5")}
	}
	c.update(lost)
	clock.SetTime(noon.Add(time.Hour))
	s := c.update(func() []fleet.State { back := lost(); back[1] = connectedState("w2"); return back })
	if first := linkFromState(lost()[0]); dispatch.CutOff(s.links, first, c.window) || !dispatch.HubCutOff(s.links, c.window) {
		t.Fatal("the story is another one")
	}
	if !s.cutOffEndedAt.Equal(noon.Add(time.Hour)) {
		t.Errorf("the clock of the first begins at %v", s.cutOffEndedAt)
	}
}

// Of three clusters all were lost together. The others are back, which nobody has noticed so far; the first is not.
func TestARunIsNotGivenUpByWhoNoticesFirstThatACutOffIsOver(t *testing.T) {
	st := newTestEnv(t, "w1", "w2", "w3")
	st.submit()
	st.runOn("w1")
	st.workers["w1"].setDown(true)
	st.eventually("w1 is lost, and was tried since", func() bool {
		s, _ := st.fleet.State("w1")
		return !s.Connected && s.Failures > 1
	})
	st.queue.ShutDownWithDrain() // nobody else is to look at what follows
	looked := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer looked.ShutDown()
	if err := st.fleet.WorkloadRequests().Source().Start(t.Context(), looked); err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	st.reconciler.cutOff.mu.Lock()
	st.reconciler.cutOff.clusters = []string{"w1", "w2", "w3"}
	st.reconciler.cutOff.mu.Unlock()

	s, err := st.reconciler.observe(t.Context(), workloadKey())
	if err != nil || s == nil {
		t.Fatal(s, err)
	}
	if s.observed.CutOffEnded.Before(before) {
		t.Errorf("the cut-off ended at %v, before %v", s.observed.CutOffEnded, before)
	}
	state, _ := st.fleet.State("w1")
	policy := s.policy
	policy.WorkerLostTimeout = before.Sub(state.LostSince)
	if plan := dispatch.Step(s.state, s.observed, policy); plan.Reason != dispatch.InGrace {
		t.Errorf("%s: %s", plan.Reason, plan.Message)
	}
	if request, _ := looked.Get(); request.NamespacedName != workloadKey() {
		t.Errorf("not told to look: %v", request)
	}
}
