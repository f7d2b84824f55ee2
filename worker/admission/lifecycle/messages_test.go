package lifecycle

import (
	"testing"
	"time"

	"switchyard.dev/apis/kueue/contracttest"
	"switchyard.dev/worker/admission"
)

// conditionText is what the state says in a condition; about, what a plan tells with a reason of an event.
func conditionText(s State, t ConditionType) contracttest.Said {
	c, _ := s.Condition(t)
	return contracttest.Said{Kind: string(c.Type) + " " + string(c.Status) + " " + string(c.Reason), Text: c.Message}
}

func eventText(p Plan) contracttest.Said {
	if len(p.Events) != 1 {
		return contracttest.Said{}
	}
	kind := "Normal "
	if p.Events[0].Warning {
		kind = "Warning "
	}
	return contracttest.Said{Kind: kind + string(p.Events[0].Reason), Text: p.Events[0].Message}
}

func withName(s State) State { s.Name = "ns/wl"; return s }

func withChecks(states ...CheckState) (State, Observation) {
	s := reservedState(0, "b", "a").withCheckState("b", CheckPending, "", 0)
	said := map[CheckState]string{CheckRetry: "later", CheckRejected: "never"}
	for i, state := range states {
		if i == 0 {
			s = s.withCheckState("b", state, said[state], 1)
			continue
		}
		s = s.withCheckState("a", state, "", 1)
	}
	return s, openObservation(5).withChange(func(o *Observation) { o.Checks = []string{"a", "b"} })
}

// buildMessagePlans brings about every situation that the lifecycle speaks of.
func buildMessagePlans() (plans map[string]Plan) {
	plans = map[string]Plan{}
	step := func(name string, s State, o Observation) State {
		plans[name] = Step(s, o)
		return plans[name].Next
	}
	check := func(name string, states ...CheckState) State {
		s, o := withChecks(states...)
		return step(name, s, o)
	}
	check("one check retries", CheckRetry)
	check("checks retry", CheckRetry, CheckRetry)
	rejected := check("check rejected", CheckRejected)
	check("checks rejected", CheckRejected, CheckRejected)
	step("deactivated for a check", deactivatedState(rejected), openObservation(6))
	step("pods late", withName(reservedState(0)), podsReadyObservation(100))
	over := step("retries are over", reservedState(0).withChange(func(s *State) { s.RequeueCount = 1 }), podsReadyObservation(100, 1))
	step("deactivated for retries", deactivatedState(over), openObservation(6))
	over = step("time is over", reservedState(0).withChange(func(s *State) { s.MaxExecution = 60 }), openObservation(60))
	step("deactivated for time", deactivatedState(over), openObservation(61))
	step("deactivated", deactivatedState(reservedState(0)), openObservation(5))
	stopped := openObservation(5).withChange(func(o *Observation) { o.ClusterQueue.State = QueueDraining })
	plans["ClusterQueue restarted"] = Step(Release(step("ClusterQueue drains", reservedState(0), stopped), at(6)), openObservation(7))
	stopped = openObservation(5).withChange(func(o *Observation) { o.LocalQueue.State = QueueDraining })
	released := Release(step("LocalQueue drains", reservedState(0), stopped), at(6))
	plans["quota released"] = Plan{Next: released}
	step("LocalQueue restarted", released, openObservation(7))
	released = Release(plans["deactivated"].Next, at(6))
	plans["quota released after deactivation"] = Plan{Next: released}
	step("reactivated", released.withChange(func(s *State) { s.Active = true }), openObservation(8))
	step("backoff over", Release(plans["pods late"].Next, at(101)), openObservation(200))
	step("owner gone", reservedState(0), openObservation(5).withChange(func(o *Observation) { o.OwnerGone, o.Policy.FinishOrphans = true, true }))
	step("admitted", reservedState(0, "a").withCheckState("a", CheckReady, "", 90), openObservation(90).withChange(func(o *Observation) { o.Checks = []string{"a"} }))
	gates := openObservation(5).withChange(func(o *Observation) {
		o.AdmissionGates, o.AdmissionGateAnnotation = []string{"a", "b.io/x"}, "b.io/x,a"
	})
	step("gate cleared", step("gated", queuedState(), gates), openObservation(6))
	kept := openObservation(90).withChange(func(o *Observation) { o.Policy.FinishedRetention = new(time.Duration) })
	step("retention over", Finish(queuedState(), "Succeeded", "", at(1)), kept)
	return plans
}

func TestConditionMessages(t *testing.T) {
	plans := buildMessagePlans()
	waits, delayed := reservedState(0, "a"), Reserve(queuedState(), Reservation{ClusterQueue: "cq", DelayedTopology: true}, nil, "", at(0))
	again := Reserve(Release(plans["ClusterQueue drains"].Next, at(6)), Reservation{ClusterQueue: "cq"}, nil, ReservedMessage("cq"), at(8))
	got := map[string]contracttest.Said{
		"reserved": conditionText(again, QuotaReserved), "evicted before this reservation": conditionText(again, Evicted),
		"admitted": conditionText(plans["admitted"].Next, Admitted), "checks not ready": conditionText(waits, Admitted), "topology delayed": conditionText(delayed, Admitted),
		"released": conditionText(plans["quota released"].Next, Admitted), "requeue waits": conditionText(plans["quota released"].Next, Requeued),
		"reactivated, pending":              conditionText(plans["reactivated"].Next, QuotaReserved),
		"quota released":                    conditionText(plans["quota released"].Next, QuotaReserved),
		"quota released after deactivation": conditionText(plans["quota released after deactivation"].Next, QuotaReserved),
		"owner gone":                        conditionText(plans["owner gone"].Next, Finished),
	}
	for _, name := range []string{
		"pods late", "one check retries", "checks retry", "ClusterQueue drains", "LocalQueue drains", "deactivated",
		"deactivated for time", "deactivated for retries", "deactivated for a check",
	} {
		got[name] = conditionText(plans[name].Next, Evicted)
	}
	for _, name := range []string{"check rejected", "checks rejected", "time is over", "retries are over"} {
		got[name] = conditionText(plans[name].Next, DeactivationTarget)
	}
	for _, name := range []string{"reactivated", "backoff over", "LocalQueue restarted", "ClusterQueue restarted"} {
		got[name] = conditionText(plans[name].Next, Requeued)
	}
	s, o := withChecks(CheckReady, CheckRetry)
	reset := Step(s, o).Next.Checks[1] // b, which was Ready when a asked for a retry
	got["check reset"] = contracttest.Said{Kind: "check " + string(reset.State), Text: reset.Message}
	contracttest.Compare(t, "workload conditions", got)
}

func TestEventMessages(t *testing.T) {
	got, plans := map[string]contracttest.Said{}, buildMessagePlans()
	for name := range contracttest.Section(t, "workload events") {
		got[name] = eventText(plans[name])
	}
	got["admitted at once"] = contracttest.Said{Kind: "Normal " + string(EventAdmitted), Text: AdmittedMessage(reservedState(4), at(4))}
	contracttest.Compare(t, "workload events", got)
}

func TestPendingMessages(t *testing.T) {
	got := map[string]contracttest.Said{}
	say := func(name string, s State, change func(*Observation)) {
		got[name] = conditionText(Step(s, openObservation(5).withChange(change)).Next, QuotaReserved)
	}
	say("nothing in the way", queuedState(), func(*Observation) {})
	say("nothing in the way, said explicitly", queuedState(), func(o *Observation) { o.Policy.ExplicitStatus = true })
	say("without queue name", queuedState(), func(o *Observation) { o.LocalQueue = Queue{State: QueueMissing} })
	say("LocalQueue missing", queuedState(), func(o *Observation) { o.LocalQueue.State = QueueMissing })
	say("LocalQueue stopped", queuedState(), func(o *Observation) { o.LocalQueue.State = QueueHeld })
	say("LocalQueue drains", queuedState(), func(o *Observation) { o.LocalQueue.State = QueueDraining })
	say("ClusterQueue missing", queuedState(), func(o *Observation) { o.ClusterQueue.State = QueueMissing })
	say("ClusterQueue inactive", queuedState(), func(o *Observation) { o.ClusterQueue.State = QueueInactive })
	say("ClusterQueue stopped", queuedState(), func(o *Observation) { o.ClusterQueue.State = QueueHeld })
	say("deactivated", deactivatedState(queuedState()), func(o *Observation) { o.LocalQueue.State = QueueMissing })
	gated := func(o *Observation) {
		o.AdmissionGates, o.AdmissionGateAnnotation = []string{"a", "b.io/x"}, "b.io/x,a"
	}
	say("gated", queuedState(), gated)
	say("gated, LocalQueue missing", queuedState(), func(o *Observation) { gated(o); o.LocalQueue.State = QueueMissing })
	say("gated, LocalQueue stopped", queuedState(), func(o *Observation) { gated(o); o.LocalQueue.State = QueueHeld })
	say("gate cleared", Step(queuedState(), openObservation(5).withChange(gated)).Next, func(*Observation) {})
	blocked := Step(queuedState(), openObservation(5).withChange(func(o *Observation) { o.LocalQueue.State = QueueHeld })).Next
	say("LocalQueue started", blocked, func(*Observation) {})
	say("the scheduler's word stays", SetPendingReason(queuedState(), admission.Misconfigured, "workload namespace doesn't match ClusterQueue selector", at(1)), func(*Observation) {})
	say("a backoff runs", SetPendingReason(queuedState(), admission.PendingEvaluation, "Exceeded the PodsReady timeout ns/wl", at(1)).withChange(func(s *State) { s.RequeueAt = at(60) }),
		func(o *Observation) { o.LocalQueue.State = QueueHeld })
	contracttest.Compare(t, "waiting", got)
}

// The reason why a workload waits comes with Admitted=False and with the checks that it will need, in one write.
func TestPendingReasonIsWrittenWithTheChecks(t *testing.T) {
	held := openObservation(5).withChange(func(o *Observation) { o.ClusterQueue.State, o.Checks = QueueInactive, []string{"a", "b"} })
	got := Step(queuedState(), held).Next
	want := "QuotaReserved=False Suspended +5s\nAdmitted=False NoReservation +5s\ncheck a Pending retries=0 \"\"\ncheck b Pending retries=0 \"\"\n"
	if stateText(got) != want {
		t.Errorf("got:\n%swant:\n%s", stateText(got), want)
	}
	if healthy := Step(queuedState(), openObservation(5).withChange(func(o *Observation) { o.Checks = []string{"a"} })).Next; !healthy.Equal(queuedState()) {
		t.Errorf("a healthy workload costs a write:\n%s", stateText(healthy))
	}
	stopped := Step(queuedState(), held.withChange(func(o *Observation) { o.LocalQueue.State = QueueHeld })).Next
	if len(stopped.Checks) != 0 {
		t.Errorf("checks behind a stopped LocalQueue: %v", stopped.Checks)
	}
}

// A job that may run is stopped before its quota goes, however soon after its reservation it lost its permission.
func TestReservationWithoutAdmissionIsWithdrawnAtOnce(t *testing.T) {
	s, held := reservedState(5), openObservation(5).withChange(func(o *Observation) { o.ClusterQueue.State, o.Checks = QueueHeld, []string{"new"} })
	if got := Step(s, held).Next; got.Reservation == nil || !got.IsTrue(Evicted) {
		t.Errorf("a job that may run lost its quota:\n%s", stateText(got))
	}
	two := Step(s, openObservation(5).withChange(func(o *Observation) { o.Checks = []string{"new"} })).Next
	if got := Step(two, held).Next; got.Reservation == nil || !got.IsTrue(Evicted) {
		t.Errorf("two steps in one second:\n%s", stateText(got))
	}
}
