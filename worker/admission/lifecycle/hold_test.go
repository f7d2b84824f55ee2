package lifecycle

import (
	"testing"

	"switchyard.dev/worker/admission"
)

const holdMessage = "scaled to zero"

func TestHold(t *testing.T) {
	held := Hold(queuedState(), holdMessage, at(3))
	stoppedQueue := openObservation(9).withChange(func(o *Observation) { o.LocalQueue.State = QueueHeld })
	missingQueue := openObservation(9).withChange(func(o *Observation) { o.LocalQueue.State = QueueMissing })
	gated := openObservation(9).withChange(func(o *Observation) { o.AdmissionGates, o.AdmissionGateAnnotation = []string{"g"}, "g" })
	explicit := openObservation(9).withChange(func(o *Observation) { o.Policy.ExplicitStatus = true })
	const waits = "QuotaReserved=False OnHold +3s\nAdmitted=False NoReservation +3s\n"
	for _, s := range []scenario{
		{name: "a workload on hold is left alone", initial: held, observed: openObservation(9), want: waits},
		{name: "a queue that is stopped says nothing to it", initial: held, observed: stoppedQueue, want: waits},
		{name: "nor does one that is missing", initial: held, observed: missingQueue, want: waits},
		{name: "nor does a gate", initial: held, observed: gated, want: waits},
		{name: "nor is it said to wait for its evaluation", initial: held, observed: explicit, want: waits},
		{
			name: "that it is not active goes first", initial: deactivatedState(held), observed: openObservation(9),
			want: "QuotaReserved=False Deactivated +3s\nAdmitted=False NoReservation +3s\nEvicted=True Deactivated +9s\nevicted 1 times for Deactivated \n",
		},
		{
			name: "once it may queue again the queue decides", initial: Resume(held, at(5)), observed: stoppedQueue,
			want: "QuotaReserved=False Suspended +3s\nAdmitted=False NoReservation +3s\n",
		},
	} {
		s.run(t)
	}
}

func TestHoldTakesWhatTheWorkloadHas(t *testing.T) {
	s := reservedState(0, "a").withCheckState("a", CheckReady, "", 1)
	s.Cluster, s.Nominated, s.UnhealthyNodes = "w1", []string{"w1"}, []string{"n1"}
	s.PreemptionGates = []PreemptionGate{{Name: "g", Open: true, Since: at(0)}}
	s = DeriveConditions(s, at(2))
	if !s.IsTrue(Admitted) {
		t.Fatal("the workload is not admitted to begin with")
	}
	held := Hold(s, holdMessage, at(12))
	want := "QuotaReserved=False OnHold +12s\nAdmitted=False NoReservation +12s\ncheck a Pending retries=0 \"Reset to Pending after eviction. Previously: Ready\"\npast execution 10s\n"
	if got := stateText(held); got != want {
		t.Errorf("state:\n%swant:\n%s", got, want)
	}
	if len(held.UnhealthyNodes) > 0 || held.PreemptionGates[0].Open {
		t.Errorf("nodes %q and gates %v are left", held.UnhealthyNodes, held.PreemptionGates)
	}
	if again := Hold(held, holdMessage, at(20)); !again.Equal(held) {
		t.Errorf("holding it once more makes it:\n%s", stateText(again))
	}
}

func TestWhatIsNotHeld(t *testing.T) {
	for name, s := range map[string]State{
		"what has ended":     Finish(reservedState(0), "Succeeded", "", at(1)),
		"what is not active": deactivatedState(SetPendingReason(queuedState(), admission.Deactivated, deactivatedMessage, at(1))),
	} {
		if held := Hold(s, holdMessage, at(9)); !held.Equal(s) {
			t.Errorf("%s: it becomes:\n%s", name, stateText(held))
		}
	}
	if held := Hold(deactivatedState(reservedState(0)), holdMessage, at(9)); held.Reservation != nil {
		t.Error("what is not active keeps its quota")
	}
}

func TestResume(t *testing.T) {
	got, _ := Resume(Hold(reservedState(0), holdMessage, at(1)), at(5)).Condition(QuotaReserved)
	want := Condition{
		Type: QuotaReserved, Status: False, Reason: admission.PendingEvaluation, Since: at(1), Generation: 1,
		Message: "Workload no longer on hold; waiting for quota reservation",
	}
	if got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	for name, s := range map[string]State{
		"what is new":         queuedState(),
		"what has quota":      reservedState(0),
		"what waits for more": SetPendingReason(queuedState(), admission.WaitingForQuota, "full", at(1)),
	} {
		if resumed := Resume(s, at(9)); !resumed.Equal(s) {
			t.Errorf("%s: it becomes:\n%s", name, stateText(resumed))
		}
	}
}
