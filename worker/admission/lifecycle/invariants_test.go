package lifecycle

import (
	"math/rand/v2"
	"testing"
	"time"

	"switchyard.dev/worker/admission"
)

// FuzzStep throws arbitrary states and observations at Step and checks the laws that hold for all of them.
func FuzzStep(f *testing.F) {
	for seed := range uint64(64) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		dice := rand.New(rand.NewPCG(seed, 1))
		s, o := randomState(dice), randomObservation(dice)
		before := stateText(s)
		plan := Step(s, o)
		if stateText(s) != before {
			t.Fatalf("Step changed its argument from:\n%sto:\n%s", before, stateText(s))
		}
		if !Step(s, o).Next.Equal(plan.Next) {
			t.Error("not deterministic")
		}
		if again := Step(plan.Next, o); !again.Next.Equal(plan.Next) {
			t.Errorf("not idempotent: from:\n%sto:\n%sto:\n%s", before, stateText(plan.Next), stateText(again.Next))
		} else if len(again.Events) > 0 && !again.Delete {
			t.Errorf("tells %q again", eventReasons(again.Events))
		}
		checkInvariants(t, s, o, plan)
	})
}

func checkInvariants(t *testing.T, s State, o Observation, p Plan) {
	t.Helper()
	next := p.Next
	if s.IsTrue(Finished) && !next.Equal(s) {
		t.Errorf("a finished workload changed to:\n%s", stateText(next))
	}
	if (p.Deactivate || p.RemoveFinalizer) && !next.Equal(s) {
		t.Error("acts and changes the state at once")
	}
	if p.Deactivate && (p.Delete || p.Priority != nil) {
		t.Error("acts in two ways at once")
	}
	if p.Delete && !s.IsTrue(Finished) && (s.Active || next.Reservation != nil) {
		t.Error("deletes a workload that may still be wanted")
	}
	if next.Reservation != nil && s.Reservation == nil {
		t.Error("made up a reservation")
	}
	if len(next.Conditions) < len(s.Conditions)-1 {
		t.Error("dropped conditions")
	}
	if c, ok := next.Condition("example.com/Unknown"); ok != hasUnknownCondition(s) || c.Message != "kept" && ok {
		t.Error("did not keep a condition that it does not know")
	}
	if BecameAdmitted(s, next) && (MergeChecks(next) != Admit || next.IsTrue(Evicted)) {
		t.Errorf("admitted against its gates:\n%s", stateText(next))
	}
	if !next.IsTrue(Finished) && !p.Deactivate && !p.RemoveFinalizer && next.IsTrue(Admitted) && MergeChecks(next) != Admit {
		t.Errorf("stays admitted against its gates:\n%s", stateText(next))
	}
	if evicted, _ := next.Condition(Evicted); (next.pastExecution() < s.pastExecution() || next.PastExecution == nil && s.PastExecution != nil) && evicted.Reason != "DeactivatedDueToMaximumExecutionTimeExceeded" {
		t.Error("forgot past execution time")
	}
	if next.RequeueCount < s.RequeueCount && !isCountReset(s, next) {
		t.Error("forgot how often pods were late")
	}
	if target, _ := next.Condition(DeactivationTarget); target.Status == True && !s.IsTrue(DeactivationTarget) && s.isEvicting() && target.Reason != DeactivateForAdmissionCheck {
		t.Error("asks to deactivate what is leaving already")
	}
	for _, gate := range next.PreemptionGates {
		if s.Reservation != nil && next.Reservation == nil && gate.Open {
			t.Error("left a preemption gate open behind an admission")
		}
	}
	if p.RecheckAt.IsZero() && next.isRunning() && next.MaxExecution > 0 && !o.Deleting {
		t.Error("sleeps through the end of the time to run")
	}
	if countEvictions(next) < countEvictions(s) {
		t.Error("forgot evictions")
	}
}

// isCountReset tells whether the workload was deactivated or reactivated, which starts the count again.
func isCountReset(was, is State) bool {
	evicted, _ := is.Condition(Evicted)
	requeued, _ := is.Condition(Requeued)
	before, _ := was.Condition(Requeued)
	return isDeactivation(evicted.Reason) || requeued.Reason == RequeuedReactivated && before.Reason != RequeuedReactivated
}

func hasUnknownCondition(s State) bool {
	_, ok := s.Condition("example.com/Unknown")
	return ok
}

func countEvictions(s State) (n int32) {
	for _, e := range s.Evictions {
		n += e.Count
	}
	return n
}

// randomState lives a short random life, then scribbles over some of it as other writers may.
func randomState(dice *rand.Rand) State {
	s := queuedState()
	s.UID, s.MaxExecution, s.Priority = "uid", int32(dice.IntN(3)*60), int32(dice.IntN(2))
	s.PreemptionGates = []PreemptionGate{{Name: "g", Open: dice.IntN(2) == 0, Since: at(0)}}
	for range dice.IntN(6) {
		now := at(dice.IntN(100))
		switch dice.IntN(13) {
		case 0, 1, 2:
			s = Reserve(s, Reservation{ClusterQueue: "cq", DelayedTopology: dice.IntN(8) == 0}, randomSubset(dice, "a", "b", "c"), "", now)
		case 3:
			s = Evict(s, Eviction{Reason: randomEvictionReason(dice), Message: "x", RequeueAt: timeOrZero(dice, at(dice.IntN(100)))}, now)
		case 4:
			s = Release(s, now)
		case 5:
			s.Active = !s.Active
		case 6:
			s = SetPendingReason(s, admission.WaitingForQuota, "full", now)
		case 7:
			s = DeriveConditions(s, now)
		case 8:
			s = s.withCondition(PodsReady, []Status{True, False}[dice.IntN(2)], []admission.Reason{"Started", WaitForRecovery, "WaitForStart"}[dice.IntN(3)], "", now)
		case 9:
			s.RequeueCount = int32(dice.IntN(3))
		case 10:
			s = SetBlockedOnPreemptionGates(s, "closed", now)
		case 11:
			s = Hold(s, "nothing to run", now)
		case 12:
			s = Resume(s, now)
		}
		if len(s.Checks) > 0 {
			check := s.Checks[dice.IntN(len(s.Checks))].Name
			s = s.withCheckState(check, []CheckState{CheckPending, CheckReady, CheckReady, CheckRetry, CheckRejected, "Odd"}[dice.IntN(6)], "m", dice.IntN(100))
		}
	}
	if dice.IntN(3) == 0 {
		s = s.withCondition("example.com/Unknown", True, "Odd", "kept", at(0))
	}
	if dice.IntN(6) == 0 {
		s = s.withCondition(DeactivationTarget, True, "AdmissionCheck", "m", at(0))
	}
	if dice.IntN(10) == 0 {
		s = Finish(s, "Succeeded", "done", at(0))
	}
	return s
}

func randomEvictionReason(dice *rand.Rand) admission.Reason {
	all := []admission.Reason{
		EvictedByPreemption, EvictedByPodsReadyTimeout, EvictedByAdmissionCheck, EvictedByClusterQueueStopped,
		EvictedByLocalQueueStopped, EvictedByNodeFailures, EvictedByDeactivation, "DeactivatedDueToAdmissionCheck",
	}
	return all[dice.IntN(len(all))]
}

func randomSubset(dice *rand.Rand, names ...string) []string {
	var picked []string
	for _, name := range names {
		if dice.IntN(2) == 0 {
			picked = append(picked, name)
		}
	}
	return picked
}

func timeOrZero(dice *rand.Rand, t time.Time) time.Time {
	if dice.IntN(2) == 0 {
		return time.Time{}
	}
	return t
}

func randomObservation(dice *rand.Rand) Observation {
	queue := func(name string) Queue { return Queue{Name: name, State: QueueState(dice.IntN(6))} }
	return Observation{
		Now: at(100 + dice.IntN(100)), LocalQueue: queue("lq"), ClusterQueue: queue("cq"), Checks: randomSubset(dice, "a", "b", "c"),
		AdmissionGates: randomSubset(dice, "g"), Owned: dice.IntN(2) == 0, Deleting: dice.IntN(12) == 0, OwnerGone: dice.IntN(4) == 0,
		ClassPriority: pointerOrNil(dice, int32(dice.IntN(2))), Policy: randomPolicy(dice),
	}
}

func randomPolicy(dice *rand.Rand) Policy {
	seconds := func() time.Duration { return time.Duration(dice.IntN(200)) * time.Second }
	p := Policy{FinishOrphans: dice.IntN(3) == 0, FinishedRetention: pointerOrNil(dice, seconds()), DeactivatedRetention: pointerOrNil(dice, seconds())}
	if dice.IntN(2) == 0 {
		p.PodsReady = &PodsReadyPolicy{
			Timeout: seconds(), RecoveryTimeout: seconds(), BackoffBase: seconds(), BackoffMax: seconds(), RequeueLimit: pointerOrNil(dice, int32(dice.IntN(3))),
		}
	}
	return p
}

// pointerOrNil returns the value or nothing.
func pointerOrNil[T any](dice *rand.Rand, value T) *T {
	if dice.IntN(2) == 0 {
		return nil
	}
	return &value
}
