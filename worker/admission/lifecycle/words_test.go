package lifecycle

import (
	"testing"
	"time"

	"switchyard.dev/apis/kueue/contracttest"
	"switchyard.dev/worker/admission"
)

// of is what the state says in a condition; about, what a plan tells with a reason of an event.
func of(s State, t ConditionType) contracttest.Said {
	c, _ := s.Condition(t)
	return contracttest.Said{Kind: string(c.Type) + " " + string(c.Status) + " " + string(c.Reason), Text: c.Message}
}

func about(p Plan) contracttest.Said {
	if len(p.Because) != 1 {
		return contracttest.Said{}
	}
	kind := "Normal "
	if p.Because[0].Warning {
		kind = "Warning "
	}
	return contracttest.Said{Kind: kind + string(p.Because[0].Reason), Text: p.Because[0].Message}
}

func named(s State) State { s.Name = "ns/wl"; return s }

func withChecks(states ...CheckState) (State, Observation) {
	s := reserved(0, "b", "a").says("b", CheckPending, "", 0)
	said := map[CheckState]string{CheckRetry: "later", CheckRejected: "never"}
	for i, state := range states {
		if i == 0 {
			s = s.says("b", state, said[state], 1)
			continue
		}
		s = s.says("a", state, "", 1)
	}
	return s, open(5).with(func(o *Observation) { o.Checks = []string{"a", "b"} })
}

// words brings about every situation that the lifecycle speaks of.
func words() (plans map[string]Plan) {
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
	step("deactivated for a check", inactive(rejected), open(6))
	step("pods late", named(reserved(0)), watching(100))
	over := step("retries are over", reserved(0).change(func(s *State) { s.RequeueCount = 1 }), watching(100, 1))
	step("deactivated for retries", inactive(over), open(6))
	over = step("time is over", reserved(0).change(func(s *State) { s.MaxExecution = 60 }), open(60))
	step("deactivated for time", inactive(over), open(61))
	step("deactivated", inactive(reserved(0)), open(5))
	stopped := open(5).with(func(o *Observation) { o.ClusterQueue.State = QueueDraining })
	plans["ClusterQueue restarted"] = Step(Release(step("ClusterQueue drains", reserved(0), stopped), at(6)), open(7))
	stopped = open(5).with(func(o *Observation) { o.LocalQueue.State = QueueDraining })
	released := Release(step("LocalQueue drains", reserved(0), stopped), at(6))
	plans["quota released"] = Plan{Next: released}
	step("LocalQueue restarted", released, open(7))
	released = Release(plans["deactivated"].Next, at(6))
	plans["quota released after deactivation"] = Plan{Next: released}
	step("reactivated", released.change(func(s *State) { s.Active = true }), open(8))
	step("backoff over", Release(plans["pods late"].Next, at(101)), open(200))
	step("owner gone", reserved(0), open(5).with(func(o *Observation) { o.OwnerGone, o.Policy.FinishOrphans = true, true }))
	step("admitted", reserved(0, "a").says("a", CheckReady, "", 90), open(90).with(func(o *Observation) { o.Checks = []string{"a"} }))
	gates := open(5).with(func(o *Observation) { o.GatedBy, o.Gates = []string{"a", "b.io/x"}, "b.io/x,a" })
	step("gate cleared", step("gated", queued(), gates), open(6))
	kept := open(90).with(func(o *Observation) { o.Policy.KeepFinished = new(time.Duration) })
	step("retention over", Finish(queued(), "Succeeded", "", at(1)), kept)
	return plans
}

func TestWhatBecomesOfAWorkloadInWords(t *testing.T) {
	plans := words()
	waits, delayed := reserved(0, "a"), Reserve(queued(), Reservation{ClusterQueue: "cq", DelayedTopology: true}, nil, "", at(0))
	again := Reserve(Release(plans["ClusterQueue drains"].Next, at(6)), Reservation{ClusterQueue: "cq"}, nil, ReservedMessage("cq"), at(8))
	got := map[string]contracttest.Said{
		"reserved": of(again, QuotaReserved), "evicted before this reservation": of(again, Evicted),
		"admitted": of(plans["admitted"].Next, Admitted), "checks not ready": of(waits, Admitted), "topology delayed": of(delayed, Admitted),
		"released": of(plans["quota released"].Next, Admitted), "requeue waits": of(plans["quota released"].Next, Requeued),
		"reactivated, pending":              of(plans["reactivated"].Next, QuotaReserved),
		"quota released":                    of(plans["quota released"].Next, QuotaReserved),
		"quota released after deactivation": of(plans["quota released after deactivation"].Next, QuotaReserved),
		"owner gone":                        of(plans["owner gone"].Next, Finished),
	}
	for _, name := range []string{
		"pods late", "one check retries", "checks retry", "ClusterQueue drains", "LocalQueue drains", "deactivated",
		"deactivated for time", "deactivated for retries", "deactivated for a check",
	} {
		got[name] = of(plans[name].Next, Evicted)
	}
	for _, name := range []string{"check rejected", "checks rejected", "time is over", "retries are over"} {
		got[name] = of(plans[name].Next, DeactivationTarget)
	}
	for _, name := range []string{"reactivated", "backoff over", "LocalQueue restarted", "ClusterQueue restarted"} {
		got[name] = of(plans[name].Next, Requeued)
	}
	s, o := withChecks(CheckReady, CheckRetry)
	reset := Step(s, o).Next.Checks[1] // b, which was Ready when a asked for a retry
	got["check reset"] = contracttest.Said{Kind: "check " + string(reset.State), Text: reset.Message}
	contracttest.Compare(t, "workload conditions", got)
}

func TestTheEventsOfAWorkloadInWords(t *testing.T) {
	got, plans := map[string]contracttest.Said{}, words()
	for name := range contracttest.Section(t, "workload events") {
		got[name] = about(plans[name])
	}
	got["admitted at once"] = contracttest.Said{Kind: "Normal " + string(EventAdmitted), Text: AdmittedMessage(reserved(4), at(4))}
	contracttest.Compare(t, "workload events", got)
}

func TestWhyAWorkloadIsNotEvaluatedInWords(t *testing.T) {
	got := map[string]contracttest.Said{}
	say := func(name string, s State, change func(*Observation)) {
		got[name] = of(Step(s, open(5).with(change)).Next, QuotaReserved)
	}
	say("nothing in the way", queued(), func(*Observation) {})
	say("nothing in the way, said explicitly", queued(), func(o *Observation) { o.Policy.ExplicitStatus = true })
	say("without queue name", queued(), func(o *Observation) { o.LocalQueue = Queue{State: QueueMissing} })
	say("LocalQueue missing", queued(), func(o *Observation) { o.LocalQueue.State = QueueMissing })
	say("LocalQueue stopped", queued(), func(o *Observation) { o.LocalQueue.State = QueueHeld })
	say("LocalQueue drains", queued(), func(o *Observation) { o.LocalQueue.State = QueueDraining })
	say("ClusterQueue missing", queued(), func(o *Observation) { o.ClusterQueue.State = QueueMissing })
	say("ClusterQueue inactive", queued(), func(o *Observation) { o.ClusterQueue.State = QueueInactive })
	say("ClusterQueue stopped", queued(), func(o *Observation) { o.ClusterQueue.State = QueueHeld })
	say("deactivated", inactive(queued()), func(o *Observation) { o.LocalQueue.State = QueueMissing })
	gated := func(o *Observation) { o.GatedBy, o.Gates = []string{"a", "b.io/x"}, "b.io/x,a" }
	say("gated", queued(), gated)
	say("gated, LocalQueue missing", queued(), func(o *Observation) { gated(o); o.LocalQueue.State = QueueMissing })
	say("gated, LocalQueue stopped", queued(), func(o *Observation) { gated(o); o.LocalQueue.State = QueueHeld })
	say("gate cleared", Step(queued(), open(5).with(gated)).Next, func(*Observation) {})
	blocked := Step(queued(), open(5).with(func(o *Observation) { o.LocalQueue.State = QueueHeld })).Next
	say("LocalQueue started", blocked, func(*Observation) {})
	say("the scheduler's word stays", WaitFor(queued(), admission.Misconfigured, "workload namespace doesn't match ClusterQueue selector", at(1)), func(*Observation) {})
	say("a backoff runs", WaitFor(queued(), admission.PendingEvaluation, "Exceeded the PodsReady timeout ns/wl", at(1)).change(func(s *State) { s.RequeueAt = at(60) }),
		func(o *Observation) { o.LocalQueue.State = QueueHeld })
	contracttest.Compare(t, "waiting", got)
}

// The reason why a workload waits comes with Admitted=False and with the checks that it will need, in one write.
func TestWhoIsToldWhyHeWaitsIsToldHisChecksToo(t *testing.T) {
	held := open(5).with(func(o *Observation) { o.ClusterQueue.State, o.Checks = QueueInactive, []string{"a", "b"} })
	got := Step(queued(), held).Next
	want := "QuotaReserved=False Suspended +5s\nAdmitted=False NoReservation +5s\ncheck a Pending retries=0 \"\"\ncheck b Pending retries=0 \"\"\n"
	if tell(got) != want {
		t.Errorf("got:\n%swant:\n%s", tell(got), want)
	}
	if healthy := Step(queued(), open(5).with(func(o *Observation) { o.Checks = []string{"a"} })).Next; !healthy.Equal(queued()) {
		t.Errorf("a healthy workload costs a write:\n%s", tell(healthy))
	}
	stopped := Step(queued(), held.with(func(o *Observation) { o.LocalQueue.State = QueueHeld })).Next
	if len(stopped.Checks) != 0 {
		t.Errorf("checks behind a stopped LocalQueue: %v", stopped.Checks)
	}
}

// A job that may run is stopped before its quota goes, however soon after its reservation it lost its permission.
func TestOnlyWhoWasNeverAdmittedLosesTheReservationAtOnce(t *testing.T) {
	s, held := reserved(5), open(5).with(func(o *Observation) { o.ClusterQueue.State, o.Checks = QueueHeld, []string{"new"} })
	if got := Step(s, held).Next; got.Reservation == nil || !got.Is(Evicted) {
		t.Errorf("a job that may run lost its quota:\n%s", tell(got))
	}
	two := Step(s, open(5).with(func(o *Observation) { o.Checks = []string{"new"} })).Next
	if got := Step(two, held).Next; got.Reservation == nil || !got.Is(Evicted) {
		t.Errorf("two steps in one second:\n%s", tell(got))
	}
}
