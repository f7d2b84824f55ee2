package controller

import (
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/tracker"
)

// Three clusters were lost together. Two are back, which no reconcile has noticed so far; the first is not.
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
	st.reconciler.tracker.do(func(t *tracker.Tracker) {
		var links []tracker.ClusterLink
		for _, name := range []string{"w1", "w2", "w3"} {
			links = append(links, tracker.ClusterLink{Cluster: name, Link: dispatch.Link{State: dispatch.Unreachable, Since: before}})
		}
		t.ObserveLinks(links, before)
	})

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
