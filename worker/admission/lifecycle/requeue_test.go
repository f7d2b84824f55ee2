package lifecycle

import (
	"testing"
	"time"

	"switchyard.dev/worker/admission"
)

// What Requeued and QuotaReserved say right after the release of a job's quota, by the reason of the eviction (contract:
// kueue-api.md 1.13 rows Requeued, 4.11 step 3).
func TestRequeueTriggers(t *testing.T) {
	for _, c := range []struct {
		name     string
		evicted  admission.Reason
		requeued Status
		because  admission.Reason
		pending  admission.Reason
	}{
		{"victims of a preemption queue again at once", EvictedByPreemption, True, EvictedByPreemption, admission.PendingEvaluation},
		{"so do those whose nodes failed", EvictedByNodeFailures, True, EvictedByNodeFailures, admission.PendingEvaluation},
		{"late pods wait for their backoff", EvictedByPodsReadyTimeout, False, EvictedByPodsReadyTimeout, admission.PendingEvaluation},
		{"checks that retry too", EvictedByAdmissionCheck, False, EvictedByAdmissionCheck, admission.PendingEvaluation},
		{"a stopped ClusterQueue has to be started", EvictedByClusterQueueStopped, False, EvictedByClusterQueueStopped, admission.PendingEvaluation},
		{"so has a LocalQueue", EvictedByLocalQueueStopped, False, EvictedByLocalQueueStopped, admission.PendingEvaluation},
		{"the deactivated have to be reactivated", EvictedByDeactivation, False, EvictedByDeactivation, admission.Deactivated},
		{"whoever deactivated them", "DeactivatedDueToAdmissionCheck", False, "DeactivatedDueToAdmissionCheck", admission.Deactivated},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := reservedState(0)
			s.Active = !isDeactivation(c.evicted)
			s = Release(Evict(s, Eviction{Reason: c.evicted, Message: "m", RequeueAt: at(90)}, at(10)), at(20))
			requeued, _ := s.Condition(Requeued)
			if requeued.Status != c.requeued || requeued.Reason != c.because {
				t.Errorf("Requeued is %s %s", requeued.Status, requeued.Reason)
			}
			if pending, _ := s.Condition(QuotaReserved); pending.Status != False || pending.Reason != c.pending {
				t.Errorf("QuotaReserved is %s %s", pending.Status, pending.Reason)
			}
			if admitted, _ := s.Condition(Admitted); admitted.Status != False || admitted.Reason != admission.NoReservation {
				t.Errorf("Admitted is %s %s", admitted.Status, admitted.Reason)
			}
			if s.pastExecution() != 20 {
				t.Errorf("past execution %d s", s.pastExecution())
			}
		})
	}
}

func TestReactivationAndDeactivationResetRequeueCount(t *testing.T) {
	late := reservedState(0).withChange(func(s *State) { s.RequeueCount = 4 })
	off := Evict(deactivatedState(late), Eviction{Reason: EvictedByDeactivation}, at(5))
	if off.RequeueCount != 0 || !off.RequeueAt.IsZero() {
		t.Errorf("deactivated: %d times, at %v", off.RequeueCount, off.RequeueAt)
	}
	waiting := Release(off, at(9)).withChange(func(s *State) { s.RequeueCount, s.Active = 4, true })
	if on := Step(waiting, openObservation(10)).Next; on.RequeueCount != 0 {
		t.Errorf("reactivated: %d times", on.RequeueCount)
	}
	moved := Evict(late, Eviction{Reason: EvictedByPreemption}, at(5))
	if moved.RequeueCount != 4 {
		t.Errorf("preempted: %d times", moved.RequeueCount)
	}
}

// A time to queue again only moves forward, is taken away when it is over and the workload waits, and stays else (contract:
// messages.md 5.3).
func TestExpiredRequeueAtIsCleared(t *testing.T) {
	backingOff := func(s State, until int) State { return s.withChange(func(s *State) { s.RequeueAt = at(until) }) }
	waiting := SetPendingReason(queuedState(), admission.WaitingForQuota, "m", at(0))
	stopped := Release(Evict(backingOff(reservedState(0), 60), Eviction{Reason: EvictedByClusterQueueStopped, Message: "m"}, at(10)), at(20))
	preempted := Release(Evict(backingOff(reservedState(0), 60), Eviction{Reason: EvictedByPreemption, Message: "m"}, at(10)), at(20))
	retried := Evict(backingOff(reservedState(0), 60), Eviction{Reason: EvictedByAdmissionCheck, RequeueAt: at(40)}, at(10))
	closed := func(o *Observation) { o.ClusterQueue.State = QueueHeld }
	for name, c := range map[string]struct {
		state  State
		sees   Observation
		want   int
		status Status
	}{
		"before it, of one that waits":                       {backingOff(waiting, 60), openObservation(59), 60, ""},
		"over, of one that nobody has evicted":               {backingOff(waiting, 60), openObservation(60), 0, ""},
		"over, of one that holds quota":                      {backingOff(reservedState(0), 60), openObservation(70), 60, ""},
		"before it, of one whose queue was started again":    {stopped, openObservation(59), 60, False},
		"over, of one whose queue was started again":         {stopped, openObservation(60), 0, True},
		"over, of one whose queue is stopped":                {stopped, openObservation(60).withChange(closed), 0, False},
		"before it, of a victim, which queues again at once": {preempted, openObservation(30), 60, True},
		"over, of a victim":                                  {preempted, openObservation(60), 0, True},
		"an earlier one does not bring it forward":           {retried, openObservation(50), 60, ""},
		"of one that somebody deactivates":                   {deactivatedState(backingOff(waiting, 60)), openObservation(30), 0, ""},
		"of one that is deactivated already":                 {backingOff(deactivatedState(Release(Evict(deactivatedState(reservedState(0)), Eviction{Reason: EvictedByDeactivation}, at(5)), at(6))), 60), openObservation(30), 0, False},
	} {
		p := Step(c.state, c.sees)
		want := at(c.want)
		if c.want == 0 {
			want = time.Time{}
		}
		if !p.Next.RequeueAt.Equal(want) {
			t.Errorf("%s: requeue at %v, want %v", name, p.Next.RequeueAt, want)
		}
		if p.Next.Reservation == nil && !p.RecheckAt.Equal(want) {
			t.Errorf("%s: wakes at %v, want %v", name, p.RecheckAt, want)
		}
		if requeued, _ := p.Next.Condition(Requeued); requeued.Status != c.status {
			t.Errorf("%s: Requeued is %q, want %q", name, requeued.Status, c.status)
		}
	}
}

// An eviction for late pods says what they were late with, wherever it comes from.
func TestPodsReadyTimeoutsAreCountedByCause(t *testing.T) {
	for name, c := range map[string]struct {
		state State
		want  string
	}{
		"never said":                       {reservedState(0), "WaitForStart"},
		"said to be waited for":            {reservedState(0).withPodsReady(False, WaitForStart, 1), "WaitForStart"},
		"lost":                             {reservedState(0).withPodsReady(True, "Started", 1).withPodsReady(False, WaitForRecovery, 5), "WaitForRecovery"},
		"lost, in an older version's word": {reservedState(0).withPodsReady(False, legacyRecovery, 5), "WaitForRecovery"},
		"lost in an earlier admission":     {reservedState(9).withPodsReady(False, WaitForRecovery, 5), "WaitForStart"},
	} {
		evicted := Evict(c.state, Eviction{Reason: EvictedByPodsReadyTimeout}, at(100))
		if want := (EvictionCount{Reason: "PodsReadyTimeout", Cause: c.want, Count: 1}); len(evicted.Evictions) != 1 || evicted.Evictions[0] != want {
			t.Errorf("%s: %+v, want %+v", name, evicted.Evictions, want)
		}
	}
}

// A single pod that was stopped never runs again, so its workload never asks for quota again; one that still waits may.
func TestTheWorkloadOfAStoppedPodDoesNotQueueAgain(t *testing.T) {
	alone := reservedState(0).withChange(func(s *State) { s.SinglePod = true })
	for _, reason := range []admission.Reason{EvictedByPreemption, EvictedByNodeFailures} {
		evicted := Evict(alone, Eviction{Reason: reason, Message: "made room"}, at(10))
		stopped := ReleaseForGood(evicted, at(20))
		c, _ := stopped.Condition(Requeued)
		if c.Status != False || c.Reason != reason || c.Message != "made room" || stopped.Reservation != nil {
			t.Errorf("stopped: Requeued is %s %s %q", c.Status, c.Reason, c.Message)
		}
		if c, _ := Step(stopped, openObservation(1000)).Next.Condition(Requeued); c.Status != False {
			t.Errorf("much later: Requeued is %s %s", c.Status, c.Reason)
		}
		if c, _ := Release(evicted, at(20)).Condition(Requeued); c.Status != True || c.Reason != reason {
			t.Errorf("still gated: Requeued is %s %s", c.Status, c.Reason)
		}
		if again := ReleaseForGood(stopped, at(30)); !again.Equal(stopped) {
			t.Error("a second release changes something")
		}
	}
	late := ReleaseForGood(Evict(alone, Eviction{Reason: EvictedByPodsReadyTimeout, RequeueAt: at(90)}, at(10)), at(20))
	if c, _ := late.Condition(Requeued); c.Status != False || c.Reason != EvictedByPodsReadyTimeout {
		t.Errorf("late pods: Requeued is %s %s", c.Status, c.Reason)
	}
}
