package lifecycle

import (
	"testing"
	"time"

	"switchyard.dev/worker/admission"
)

func (s State) change(change func(*State)) State {
	change(&s)
	return s
}

// ready is what the job's reconciler says about the pods.
func (s State) ready(status Status, reason admission.Reason, seconds int) State {
	return s.with(PodsReady, status, reason, "", at(seconds))
}

// watching is a world in which pods must be ready in 100 s, or again in 50 s, with delays of 10 s to 60 s.
func watching(seconds int, limit ...int32) Observation {
	policy := &PodsReadyPolicy{Timeout: 100 * time.Second, RecoveryTimeout: 50 * time.Second, BackoffBase: 10 * time.Second, BackoffMax: 60 * time.Second}
	if len(limit) > 0 {
		policy.Limit = &limit[0]
	}
	return open(seconds).with(func(o *Observation) { o.Policy.PodsReady = policy })
}

func wakes(seconds int) func(*testing.T, Plan) {
	return func(t *testing.T, p Plan) {
		t.Helper()
		want := time.Time{}
		if seconds != 0 {
			want = at(seconds)
		}
		if !p.WakeAt.Truncate(time.Second).Equal(want) { // the API knows whole seconds
			t.Errorf("wakes at %v, want %v", p.WakeAt, want)
		}
	}
}

const runs = "QuotaReserved=True QuotaReserved +0s\nAdmitted=True Admitted +0s\n"

func TestWaitForPodsReady(t *testing.T) {
	admitted := reserved(0)
	late := Step(admitted, watching(100)).Next
	requeued := func(n int32) func(*State) { return func(s *State) { s.RequeueCount = n } }
	for _, s := range []story{
		{
			name: "the time to start runs from the admission, also while nothing is said of the pods",
			from: admitted, sees: watching(99), want: runs + "holds quota in cq\n", check: wakes(100),
		},
		{
			name: "pods that wait for their start have the time from the admission, however late that was said",
			from: admitted.ready(False, "WaitForStart", 90), sees: watching(99),
			want: runs + "PodsReady=False WaitForStart +90s\nholds quota in cq\n", check: wakes(100),
		},
		{
			name: "pods that are late cost their workload the quota, with a delay",
			from: admitted, sees: watching(100),
			want:  runs + "Evicted=True PodsReadyTimeout +100s\nholds quota in cq\nrequeued 1 times\nrequeue at +110s\nevicted 1 times for PodsReadyTimeout WaitForStart\n",
			tells: []admission.Reason{"EvictedDueToPodsReadyTimeout"}, check: wakes(0),
		},
		{
			name: "pods that are ready have all the time of the world",
			from: admitted.ready(True, "Started", 40), sees: watching(5000),
			want: runs + "PodsReady=True Started +40s\nholds quota in cq\n", check: wakes(0),
		},
		{
			name: "a lost pod has the time to recover from its loss",
			from: admitted.ready(True, "Started", 40).ready(False, WaitForRecovery, 400), sees: watching(449),
			want: runs + "PodsReady=False WaitForRecovery +400s\nholds quota in cq\n", check: wakes(450),
		},
		{
			name: "a pod that does not recover in time costs its workload the quota",
			from: admitted.ready(False, WaitForRecovery, 400), sees: watching(450),
			want: runs + "PodsReady=False WaitForRecovery +400s\nEvicted=True PodsReadyTimeout +450s\nholds quota in cq\n" +
				"requeued 1 times\nrequeue at +460s\nevicted 1 times for PodsReadyTimeout WaitForRecovery\n",
			tells: []admission.Reason{"EvictedDueToPodsReadyTimeout"},
		},
		{
			name: "what was said in an earlier admission does not count",
			from: reserved(30).ready(True, "Started", 10), sees: watching(129),
			want: "QuotaReserved=True QuotaReserved +30s\nAdmitted=True Admitted +30s\nPodsReady=True Started +10s\nholds quota in cq\n", check: wakes(130),
		},
		{
			name: "a workload whose checks are not ready starts no pods and waits for none",
			from: reserved(0, "a"), sees: watching(500).with(func(o *Observation) { o.Checks = []string{"a"} }),
			want: tell(reserved(0, "a")), check: wakes(0),
		},
		{
			name: "without the policy nobody waits for pods",
			from: admitted, sees: open(5000), want: runs + "holds quota in cq\n", check: wakes(0),
		},
		{
			name: "released, the workload waits for the end of its delay",
			from: Release(late, at(105)), sees: watching(106),
			want: "QuotaReserved=False PendingEvaluation +105s\nAdmitted=False NoReservation +105s\nEvicted=True PodsReadyTimeout +100s\n" +
				"Requeued=False PodsReadyTimeout +105s\nrequeued 1 times\nrequeue at +110s\npast execution 105s\nevicted 1 times for PodsReadyTimeout WaitForStart\n",
			check: wakes(110),
		},
		{
			name: "when the delay is over it queues again, and the count stays",
			from: Release(late, at(105)), sees: watching(111),
			want: "QuotaReserved=False PendingEvaluation +105s\nAdmitted=False NoReservation +105s\nEvicted=True PodsReadyTimeout +100s\n" +
				"Requeued=True BackoffFinished +111s\nrequeued 1 times\npast execution 105s\nevicted 1 times for PodsReadyTimeout WaitForStart\n",
		},
		{
			name: "the delay doubles every time",
			from: admitted.change(requeued(2)), sees: watching(100),
			want:  runs + "Evicted=True PodsReadyTimeout +100s\nholds quota in cq\nrequeued 3 times\nrequeue at +140s\nevicted 1 times for PodsReadyTimeout WaitForStart\n",
			tells: []admission.Reason{"EvictedDueToPodsReadyTimeout"},
		},
		{
			name: "the delay has a maximum, with and without a limit of times",
			from: admitted.change(requeued(900)), sees: watching(100, 901),
			want:  runs + "Evicted=True PodsReadyTimeout +100s\nholds quota in cq\nrequeued 901 times\nrequeue at +160s\nevicted 1 times for PodsReadyTimeout WaitForStart\n",
			tells: []admission.Reason{"EvictedDueToPodsReadyTimeout"},
		},
		{
			name: "after too many times the workload is to be deactivated",
			from: admitted.change(requeued(2)), sees: watching(100, 2),
			want: runs + "DeactivationTarget=True RequeuingLimitExceeded +100s\nholds quota in cq\nrequeued 2 times\n",
		},
		{
			name: "the deactivation forgets how often pods were late",
			from: inactive(admitted.change(requeued(2)).with(DeactivationTarget, True, DeactivateForRequeuing, "m", at(100))), sees: watching(101),
			want:  runs + "Evicted=True DeactivatedDueToRequeuingLimitExceeded +101s\nholds quota in cq\nevicted 1 times for Deactivated RequeuingLimitExceeded\n",
			tells: []admission.Reason{"EvictedDueToDeactivatedDueToRequeuingLimitExceeded"},
		},
		{
			name: "a limit of none deactivates at the first timeout",
			from: admitted, sees: watching(100, 0), want: runs + "DeactivationTarget=True RequeuingLimitExceeded +100s\nholds quota in cq\n",
		},
	} {
		s.run(t)
	}
}

func TestBackoffsOfTwoWorkloadsDifferALittleAndAreTheSameEveryTime(t *testing.T) {
	p := &PodsReadyPolicy{BackoffBase: time.Minute, BackoffMax: time.Hour}
	a, b := p.backoff("a", 3), p.backoff("b", 3)
	if a != p.backoff("a", 3) || a == b {
		t.Errorf("%v and %v", a, b)
	}
	for _, d := range []time.Duration{a, b} {
		if d < 4*time.Minute || d > 4*time.Minute+4*time.Minute/spread {
			t.Errorf("the third delay is %v", d)
		}
	}
}

func TestMaximumExecutionTime(t *testing.T) {
	limited := reserved(0).change(func(s *State) { s.MaxExecution = 100 })
	again := reserved(50).change(func(s *State) { s.MaxExecution, s.PastExecution = 100, new(int32(70)) })
	asked := Step(limited, open(100)).Next
	leaving := Evict(limited, Eviction{Reason: EvictedByClusterQueueStopped}, at(90))
	deactivated := Step(inactive(asked), open(101)).Next
	for _, s := range []story{
		{
			name: "a workload may run for its time and is looked at when that is over",
			from: limited, sees: open(99), want: tell(limited), check: wakes(100),
		},
		{
			name: "time spent in earlier admissions counts",
			from: again, sees: open(60), want: tell(again), check: wakes(80),
		},
		{
			name: "a workload that has had its time is to be deactivated",
			from: limited, sees: open(100),
			want:  runs + "DeactivationTarget=True MaximumExecutionTimeExceeded +100s\nholds quota in cq\n",
			tells: []admission.Reason{"MaximumExecutionTimeExceeded"},
		},
		{
			name: "it is evicted for the cause",
			from: inactive(asked), sees: open(101), want: tell(deactivated),
			tells: []admission.Reason{"EvictedDueToDeactivatedDueToMaximumExecutionTimeExceeded"},
		},
		{
			name: "when its job has stopped the time begins anew",
			from: Release(deactivated, at(105)), sees: open(106),
			want: "QuotaReserved=False Deactivated +105s\nAdmitted=False NoReservation +105s\nEvicted=True DeactivatedDueToMaximumExecutionTimeExceeded +101s\n" +
				"Requeued=False DeactivatedDueToMaximumExecutionTimeExceeded +105s\nevicted 1 times for Deactivated MaximumExecutionTimeExceeded\n",
		},
		{
			name: "a workload that is being evicted has no time to lose",
			from: leaving, sees: open(200), want: tell(leaving), check: wakes(0),
		},
		{
			name: "a workload that waits for its checks does not run",
			from: reserved(0, "a").change(func(s *State) { s.MaxExecution = 10 }), sees: open(50).with(func(o *Observation) { o.Checks = []string{"a"} }),
			want: tell(reserved(0, "a")), check: wakes(0),
		},
	} {
		s.run(t)
	}
}

func TestRetention(t *testing.T) {
	minute := time.Minute
	keeps := func(seconds int) Observation {
		return open(seconds).with(func(o *Observation) { o.Policy.KeepFinished, o.Policy.KeepDeactivated = &minute, &minute })
	}
	unowned := func(o Observation) Observation { o.Owned = false; return o }
	over := Finish(reserved(0), "Succeeded", "", at(10))
	out := Step(inactive(reserved(0).with(DeactivationTarget, True, "AdmissionCheck", "m", at(5))), unowned(keeps(10))).Next
	off := Step(inactive(queued()), unowned(keeps(10))).Next
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
		{"without the policy it stays for ever", over, open(7000), false, 0},
		{"what is being deleted is not deleted again", over, keeps(70).with(func(o *Observation) { o.Deleting = true }), false, 0},
		{"a workload without owner that the system deactivated is kept for its time", out, unowned(keeps(69)), false, 70},
		{"and then deleted too", out, unowned(keeps(70)), true, 0},
		{"one with an owner goes with its owner", out, keeps(70), false, 0},
		{"one that a person deactivated stays", off, unowned(keeps(700)), false, 0},
		{"one that was reactivated stays", out.change(func(s *State) { s.Active = true }), unowned(keeps(700)), false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := Step(c.from, c.sees)
			if plan.Delete != c.delete {
				t.Errorf("Delete is %v", plan.Delete)
			}
			if told := len(plan.Because) > 0 && plan.Because[len(plan.Because)-1].Reason == EventDeleted; told != c.delete {
				t.Errorf("told %q", reasons(plan.Because))
			}
			wakes(c.wakeAt)(t, plan)
		})
	}
}

func TestOrphans(t *testing.T) {
	gone := open(5).with(func(o *Observation) { o.OwnerGone, o.Policy.FinishOrphans = true, true })
	for _, s := range []story{
		{
			name: "a workload whose owner is gone has finished",
			from: reserved(0), sees: gone,
			want: runs + "Finished=True OwnerNotFound +5s\nholds quota in cq\n",
		},
		{
			name: "with the gate off it goes on",
			from: reserved(0), sees: gone.with(func(o *Observation) { o.Policy.FinishOrphans = false }), want: runs + "holds quota in cq\n",
		},
		{
			name: "an outcome that is known stays",
			from: Finish(reserved(0), "Succeeded", "", at(1)), sees: gone, want: runs + "Finished=True Succeeded +1s\nholds quota in cq\n",
		},
		{
			name: "one that is being deleted needs no outcome",
			from: reserved(0), sees: gone.with(func(o *Observation) { o.Deleting = true }), want: runs + "holds quota in cq\n",
		},
	} {
		s.run(t)
	}
}

func TestPriorityClasses(t *testing.T) {
	five := int32(5)
	class := open(9).with(func(o *Observation) { o.ClassPriority = &five })
	for _, c := range []struct {
		name string
		from State
		sees Observation
		want *int32
	}{
		{"a waiting workload follows the value of its class", queued(), class, &five},
		{"so does a running one", reserved(0), class, &five},
		{"one that has the value needs nothing", queued().change(func(s *State) { s.Priority = 5 }), class, nil},
		{"one without class keeps its own", queued(), open(9), nil},
		{"one that has finished keeps what it had", Finish(reserved(0), "Succeeded", "", at(1)), class, nil},
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
	gated := queued().change(func(s *State) { s.Gates = []Gate{{Name: "g", Open: true, Since: at(-5)}} })
	blocked := Block(gated, "closed", at(1))
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
		if Block(reserved(0), "closed", at(1)).Is(BlockedOnPreemptionGates) {
			t.Error("blocked")
		}
	})
	holding := Reserve(gated, Reservation{ClusterQueue: "cq"}, nil, "", at(2))
	evicted := Evict(holding, Eviction{Reason: EvictedByPreemption, PreemptedBecause: "InClusterQueue"}, at(3))
	t.Run("gates stay open until the quota is released", func(t *testing.T) {
		if !evicted.Gates[0].Open {
			t.Error("closed")
		}
	})
	t.Run("and are closed with it", func(t *testing.T) {
		if g := Release(evicted, at(7)).Gates[0]; g.Open || !g.Since.Equal(at(7)) {
			t.Errorf("%+v", g)
		}
	})
}
