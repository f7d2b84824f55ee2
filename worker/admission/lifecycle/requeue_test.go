package lifecycle

import (
	"testing"

	"switchyard.dev/worker/admission"
)

// What Requeued and QuotaReserved say right after the release of a job's quota, by the reason of the eviction (contract:
// kueue-api.md 1.13 rows Requeued, 4.11 step 3).
func TestWhoQueuesAgainAtOnceAndWhoWaitsForATrigger(t *testing.T) {
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
			s := reserved(0)
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

func TestReactivationAndDeactivationForgetHowOftenPodsWereLate(t *testing.T) {
	late := reserved(0).change(func(s *State) { s.RequeueCount = 4 })
	off := Evict(inactive(late), Eviction{Reason: EvictedByDeactivation}, at(5))
	if off.RequeueCount != 0 || !off.RequeueAt.IsZero() {
		t.Errorf("deactivated: %d times, at %v", off.RequeueCount, off.RequeueAt)
	}
	waiting := Release(off, at(9)).change(func(s *State) { s.RequeueCount, s.Active = 4, true })
	if on := Step(waiting, open(10)).Next; on.RequeueCount != 0 {
		t.Errorf("reactivated: %d times", on.RequeueCount)
	}
	moved := Evict(late, Eviction{Reason: EvictedByPreemption}, at(5))
	if moved.RequeueCount != 4 {
		t.Errorf("preempted: %d times", moved.RequeueCount)
	}
}
