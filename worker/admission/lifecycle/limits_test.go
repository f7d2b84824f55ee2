package lifecycle

import (
	"testing"
	"time"

	"switchyard.dev/worker/admission"
)

func (s State) withChange(change func(*State)) State {
	change(&s)
	return s
}

// withPodsReady is what the job's reconciler says about the pods.
func (s State) withPodsReady(status Status, reason admission.Reason, seconds int) State {
	return s.withCondition(PodsReady, status, reason, "", at(seconds))
}

// podsReadyObservation is a world in which pods must be ready in 100 s, or again in 50 s, with delays of 10 s to 60 s.
func podsReadyObservation(seconds int, limit ...int32) Observation {
	policy := &PodsReadyPolicy{Timeout: 100 * time.Second, RecoveryTimeout: 50 * time.Second, BackoffBase: 10 * time.Second, BackoffMax: 60 * time.Second}
	if len(limit) > 0 {
		policy.RequeueLimit = &limit[0]
	}
	return openObservation(seconds).withChange(func(o *Observation) { o.Policy.PodsReady = policy })
}

func expectRecheckAt(seconds int) func(*testing.T, Plan) {
	return func(t *testing.T, p Plan) {
		t.Helper()
		want := time.Time{}
		if seconds != 0 {
			want = at(seconds)
		}
		if !p.RecheckAt.Truncate(time.Second).Equal(want) { // the API knows whole seconds
			t.Errorf("wakes at %v, want %v", p.RecheckAt, want)
		}
	}
}

const runningConditions = "QuotaReserved=True QuotaReserved +0s\nAdmitted=True Admitted +0s\n"

func TestWaitForPodsReady(t *testing.T) {
	admitted := reservedState(0)
	late := Step(admitted, podsReadyObservation(100)).Next
	requeued := func(n int32) func(*State) { return func(s *State) { s.RequeueCount = n } }
	for _, s := range []scenario{
		{
			name:    "the time to start runs from the admission, also while nothing is said of the pods",
			initial: admitted, observed: podsReadyObservation(99), want: runningConditions + "holds quota in cq\n", check: expectRecheckAt(100),
		},
		{
			name:    "pods that wait for their start have the time from the admission, however late that was said",
			initial: admitted.withPodsReady(False, "WaitForStart", 90), observed: podsReadyObservation(99),
			want: runningConditions + "PodsReady=False WaitForStart +90s\nholds quota in cq\n", check: expectRecheckAt(100),
		},
		{
			name:    "pods that are late cost their workload the quota, with a delay",
			initial: admitted, observed: podsReadyObservation(100),
			want:   runningConditions + "Evicted=True PodsReadyTimeout +100s\nholds quota in cq\nrequeued 1 times\nrequeue at +110s\nevicted 1 times for PodsReadyTimeout WaitForStart\n",
			events: []admission.Reason{"EvictedDueToPodsReadyTimeout"}, check: expectRecheckAt(0),
		},
		{
			name:    "pods that are ready have all the time of the world",
			initial: admitted.withPodsReady(True, "Started", 40), observed: podsReadyObservation(5000),
			want: runningConditions + "PodsReady=True Started +40s\nholds quota in cq\n", check: expectRecheckAt(0),
		},
		{
			name:    "a lost pod has the time to recover from its loss",
			initial: admitted.withPodsReady(True, "Started", 40).withPodsReady(False, WaitForRecovery, 400), observed: podsReadyObservation(449),
			want: runningConditions + "PodsReady=False WaitForRecovery +400s\nholds quota in cq\n", check: expectRecheckAt(450),
		},
		{
			name:    "a pod that does not recover in time costs its workload the quota",
			initial: admitted.withPodsReady(False, WaitForRecovery, 400), observed: podsReadyObservation(450),
			want: runningConditions + "PodsReady=False WaitForRecovery +400s\nEvicted=True PodsReadyTimeout +450s\nholds quota in cq\n" +
				"requeued 1 times\nrequeue at +460s\nevicted 1 times for PodsReadyTimeout WaitForRecovery\n",
			events: []admission.Reason{"EvictedDueToPodsReadyTimeout"},
		},
		{
			name:    "what was said in an earlier admission does not count",
			initial: reservedState(30).withPodsReady(True, "Started", 10), observed: podsReadyObservation(129),
			want: "QuotaReserved=True QuotaReserved +30s\nAdmitted=True Admitted +30s\nPodsReady=True Started +10s\nholds quota in cq\n", check: expectRecheckAt(130),
		},
		{
			name:    "a workload whose checks are not ready starts no pods and waits for none",
			initial: reservedState(0, "a"), observed: podsReadyObservation(500).withChange(func(o *Observation) { o.Checks = []string{"a"} }),
			want: stateText(reservedState(0, "a")), check: expectRecheckAt(0),
		},
		{
			name:    "without the policy nobody waits for pods",
			initial: admitted, observed: openObservation(5000), want: runningConditions + "holds quota in cq\n", check: expectRecheckAt(0),
		},
		{
			name:    "released, the workload waits for the end of its delay",
			initial: Release(late, at(105)), observed: podsReadyObservation(106),
			want: "QuotaReserved=False PendingEvaluation +105s\nAdmitted=False NoReservation +105s\nEvicted=True PodsReadyTimeout +100s\n" +
				"Requeued=False PodsReadyTimeout +105s\nrequeued 1 times\nrequeue at +110s\npast execution 105s\nevicted 1 times for PodsReadyTimeout WaitForStart\n",
			check: expectRecheckAt(110),
		},
		{
			name:    "when the delay is over it queues again, and the count stays",
			initial: Release(late, at(105)), observed: podsReadyObservation(111),
			want: "QuotaReserved=False PendingEvaluation +105s\nAdmitted=False NoReservation +105s\nEvicted=True PodsReadyTimeout +100s\n" +
				"Requeued=True BackoffFinished +111s\nrequeued 1 times\npast execution 105s\nevicted 1 times for PodsReadyTimeout WaitForStart\n",
		},
		{
			name:    "the delay doubles every time",
			initial: admitted.withChange(requeued(2)), observed: podsReadyObservation(100),
			want:   runningConditions + "Evicted=True PodsReadyTimeout +100s\nholds quota in cq\nrequeued 3 times\nrequeue at +140s\nevicted 1 times for PodsReadyTimeout WaitForStart\n",
			events: []admission.Reason{"EvictedDueToPodsReadyTimeout"},
		},
		{
			name:    "the delay has a maximum, with and without a limit of times",
			initial: admitted.withChange(requeued(900)), observed: podsReadyObservation(100, 901),
			want:   runningConditions + "Evicted=True PodsReadyTimeout +100s\nholds quota in cq\nrequeued 901 times\nrequeue at +160s\nevicted 1 times for PodsReadyTimeout WaitForStart\n",
			events: []admission.Reason{"EvictedDueToPodsReadyTimeout"},
		},
		{
			name:    "after too many times the workload is to be deactivated",
			initial: admitted.withChange(requeued(2)), observed: podsReadyObservation(100, 2),
			want: runningConditions + "DeactivationTarget=True RequeuingLimitExceeded +100s\nholds quota in cq\nrequeued 2 times\n",
		},
		{
			name:    "the deactivation forgets how often pods were late",
			initial: deactivatedState(admitted.withChange(requeued(2)).withCondition(DeactivationTarget, True, DeactivateForRequeuing, "m", at(100))), observed: podsReadyObservation(101),
			want:   runningConditions + "Evicted=True DeactivatedDueToRequeuingLimitExceeded +101s\nholds quota in cq\nevicted 1 times for Deactivated RequeuingLimitExceeded\n",
			events: []admission.Reason{"EvictedDueToDeactivatedDueToRequeuingLimitExceeded"},
		},
		{
			name:    "a limit of none deactivates at the first timeout",
			initial: admitted, observed: podsReadyObservation(100, 0), want: runningConditions + "DeactivationTarget=True RequeuingLimitExceeded +100s\nholds quota in cq\n",
		},
	} {
		s.run(t)
	}
}

func TestBackoffJitterIsDeterministic(t *testing.T) {
	p := &PodsReadyPolicy{BackoffBase: time.Minute, BackoffMax: time.Hour}
	a, b := p.backoff("a", 3), p.backoff("b", 3)
	if a != p.backoff("a", 3) || a == b {
		t.Errorf("%v and %v", a, b)
	}
	for _, d := range []time.Duration{a, b} {
		if d < 4*time.Minute || d > 4*time.Minute+4*time.Minute/jitterSteps {
			t.Errorf("the third delay is %v", d)
		}
	}
}

func TestMaximumExecutionTime(t *testing.T) {
	limited := reservedState(0).withChange(func(s *State) { s.MaxExecution = 100 })
	again := reservedState(50).withChange(func(s *State) { s.MaxExecution, s.PastExecution = 100, new(int32(70)) })
	asked := Step(limited, openObservation(100)).Next
	leaving := Evict(limited, Eviction{Reason: EvictedByClusterQueueStopped}, at(90))
	deactivated := Step(deactivatedState(asked), openObservation(101)).Next
	for _, s := range []scenario{
		{
			name:    "a workload may run for its time and is looked at when that is over",
			initial: limited, observed: openObservation(99), want: stateText(limited), check: expectRecheckAt(100),
		},
		{
			name:    "time spent in earlier admissions counts",
			initial: again, observed: openObservation(60), want: stateText(again), check: expectRecheckAt(80),
		},
		{
			name:    "a workload that has had its time is to be deactivated",
			initial: limited, observed: openObservation(100),
			want:   runningConditions + "DeactivationTarget=True MaximumExecutionTimeExceeded +100s\nholds quota in cq\n",
			events: []admission.Reason{"MaximumExecutionTimeExceeded"},
		},
		{
			name:    "it is evicted for the cause",
			initial: deactivatedState(asked), observed: openObservation(101), want: stateText(deactivated),
			events: []admission.Reason{"EvictedDueToDeactivatedDueToMaximumExecutionTimeExceeded"},
		},
		{
			name:    "when its job has stopped the time begins anew",
			initial: Release(deactivated, at(105)), observed: openObservation(106),
			want: "QuotaReserved=False Deactivated +105s\nAdmitted=False NoReservation +105s\nEvicted=True DeactivatedDueToMaximumExecutionTimeExceeded +101s\n" +
				"Requeued=False DeactivatedDueToMaximumExecutionTimeExceeded +105s\nevicted 1 times for Deactivated MaximumExecutionTimeExceeded\n",
		},
		{
			name:    "a workload that is being evicted has no time to lose",
			initial: leaving, observed: openObservation(200), want: stateText(leaving), check: expectRecheckAt(0),
		},
		{
			name:    "a workload that waits for its checks does not run",
			initial: reservedState(0, "a").withChange(func(s *State) { s.MaxExecution = 10 }), observed: openObservation(50).withChange(func(o *Observation) { o.Checks = []string{"a"} }),
			want: stateText(reservedState(0, "a")), check: expectRecheckAt(0),
		},
	} {
		s.run(t)
	}
}

func TestRetention(t *testing.T) {
	minute := time.Minute
	keeps := func(seconds int) Observation {
		return openObservation(seconds).withChange(func(o *Observation) { o.Policy.FinishedRetention, o.Policy.DeactivatedRetention = &minute, &minute })
	}
	unowned := func(o Observation) Observation { o.Owned = false; return o }
	over := Finish(reservedState(0), "Succeeded", "", at(10))
	out := Step(deactivatedState(reservedState(0).withCondition(DeactivationTarget, True, "AdmissionCheck", "m", at(5))), unowned(keeps(10))).Next
	off := Step(deactivatedState(queuedState()), unowned(keeps(10))).Next
	for _, c := range []struct {
		name   string
		from   State
		sees   Observation
		delete bool
		wakeAt int
	}{
		{"a finished workload is kept for its time", over, keeps(69), false, 70},
		{"and then deleted", over, keeps(70), true, 0},
		{"also when nobody looked for long", over, keeps(7000), true, 0},
		{"without the policy it stays for ever", over, openObservation(7000), false, 0},
		{"what is being deleted is not deleted again", over, keeps(70).withChange(func(o *Observation) { o.Deleting = true }), false, 0},
		{"a workload without owner that the system deactivated is kept for its time", out, unowned(keeps(69)), false, 70},
		{"and then deleted too", out, unowned(keeps(70)), true, 0},
		{"one with an owner goes with its owner", out, keeps(70), false, 0},
		{"one that a person deactivated stays", off, unowned(keeps(700)), false, 0},
		{"one that was reactivated stays", out.withChange(func(s *State) { s.Active = true }), unowned(keeps(700)), false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := Step(c.from, c.sees)
			if plan.Delete != c.delete {
				t.Errorf("Delete is %v", plan.Delete)
			}
			if told := len(plan.Events) > 0 && plan.Events[len(plan.Events)-1].Reason == EventDeleted; told != c.delete {
				t.Errorf("told %q", eventReasons(plan.Events))
			}
			expectRecheckAt(c.wakeAt)(t, plan)
		})
	}
}

func TestOrphans(t *testing.T) {
	gone := openObservation(5).withChange(func(o *Observation) { o.OwnerGone, o.Policy.FinishOrphans = true, true })
	for _, s := range []scenario{
		{
			name:    "a workload whose owner is gone has finished",
			initial: reservedState(0), observed: gone,
			want: runningConditions + "Finished=True OwnerNotFound +5s\nholds quota in cq\n",
		},
		{
			name:    "with the gate off it goes on",
			initial: reservedState(0), observed: gone.withChange(func(o *Observation) { o.Policy.FinishOrphans = false }), want: runningConditions + "holds quota in cq\n",
		},
		{
			name:    "an outcome that is known stays",
			initial: Finish(reservedState(0), "Succeeded", "", at(1)), observed: gone, want: runningConditions + "Finished=True Succeeded +1s\nholds quota in cq\n",
		},
		{
			name:    "one that is being deleted needs no outcome",
			initial: reservedState(0), observed: gone.withChange(func(o *Observation) { o.Deleting = true }), want: runningConditions + "holds quota in cq\n",
		},
	} {
		s.run(t)
	}
}

func TestPriorityClasses(t *testing.T) {
	five := int32(5)
	class := openObservation(9).withChange(func(o *Observation) { o.ClassPriority = &five })
	for _, c := range []struct {
		name string
		from State
		sees Observation
		want *int32
	}{
		{"a waiting workload follows the value of its class", queuedState(), class, &five},
		{"so does a running one", reservedState(0), class, &five},
		{"one that has the value needs nothing", queuedState().withChange(func(s *State) { s.Priority = 5 }), class, nil},
		{"one without class keeps its own", queuedState(), openObservation(9), nil},
		{"one that has finished keeps what it had", Finish(reservedState(0), "Succeeded", "", at(1)), class, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Step(c.from, c.sees).Priority
			if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
				t.Errorf("Priority is %v", got)
			}
		})
	}
}

func TestPreemptionGates(t *testing.T) {
	gated := queuedState().withChange(func(s *State) { s.PreemptionGates = []PreemptionGate{{Name: "g", Open: true, Since: at(-5)}} })
	blocked := SetBlockedOnPreemptionGates(gated, "closed", at(1))
	if c, _ := blocked.Condition(BlockedOnPreemptionGates); c.Status != True || c.Reason != PreemptionGated {
		t.Fatalf("blocked is %+v", c)
	}
	t.Run("a reservation takes the complaint back", func(t *testing.T) {
		c, _ := Reserve(blocked, Reservation{ClusterQueue: "cq"}, nil, "", at(2)).Condition(BlockedOnPreemptionGates)
		if c.Status != False || c.Reason != admission.QuotaReserved {
			t.Errorf("%+v", c)
		}
	})
	t.Run("so does an eviction", func(t *testing.T) {
		c, _ := Evict(blocked, Eviction{Reason: EvictedByDeactivation}, at(2)).Condition(BlockedOnPreemptionGates)
		if c.Status != False || c.Reason != "Evicted" {
			t.Errorf("%+v", c)
		}
	})
	t.Run("a workload that holds quota is not blocked", func(t *testing.T) {
		if SetBlockedOnPreemptionGates(reservedState(0), "closed", at(1)).IsTrue(BlockedOnPreemptionGates) {
			t.Error("blocked")
		}
	})
	holding := Reserve(gated, Reservation{ClusterQueue: "cq"}, nil, "", at(2))
	evicted := Evict(holding, Eviction{Reason: EvictedByPreemption, PreemptionReason: "InClusterQueue"}, at(3))
	t.Run("gates stay open until the quota is released", func(t *testing.T) {
		if !evicted.PreemptionGates[0].Open {
			t.Error("closed")
		}
	})
	t.Run("and are closed with it", func(t *testing.T) {
		if g := Release(evicted, at(7)).PreemptionGates[0]; g.Open || !g.Since.Equal(at(7)) {
			t.Errorf("%+v", g)
		}
	})
}
