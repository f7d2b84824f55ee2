package scheduler

import (
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/view"
)

// runPreemption has w hold the quota that x wants, and evicts it.
func (s *testEnv) runPreemption() {
	s.Helper()
	s.submitWorkload("w", 3)
	s.runCycle()
	s.recordedEvents()
	s.submitWorkload("x", 3)
	s.writes.Store(0)
	s.scheduler.enqueueDecisions(s.Context(), s.decidePreemption())
	s.scheduler.writePool.wait()
}

// decidePreemption runs a cycle that decides to evict w for x.
func (s *testEnv) decidePreemption() view.CycleResult {
	s.Helper()
	return s.view.RunCycle(baseTime.Add(time.Minute), func(*admission.Snapshot) admission.Plan {
		return admission.Plan{Decisions: []admission.Decision{{
			Workload: admission.Key{Namespace: "ns", Name: "x"}, LocalQueue: "lq", Queue: "cq", Outcome: admission.Preempt,
			Reason: admission.WaitingForPreemptedWorkloads, Message: "waiting for 1 workload to leave",
			Victims: []admission.Victim{{
				Workload: admission.Key{Namespace: "ns", Name: "w"}, UID: "uid-w", Queue: "cq", Reason: admission.InClusterQueue,
			}},
		}}}
	})
}

func TestAVictimWithoutOwnerIsEvictedInOneWriteAndKeepsItsQuotaForNow(t *testing.T) {
	s := newTestEnv(t)
	s.runPreemption()
	if got := s.writes.Load(); got != 1 {
		t.Errorf("%d writes, want 1", got)
	}
	for condition, want := range map[string]string{
		kueue.WorkloadEvicted: "True Preempted", kueue.WorkloadPreempted: "True InClusterQueue", kueue.WorkloadQuotaReserved: "True QuotaReserved",
		kueue.WorkloadAdmitted: "True Admitted", kueue.WorkloadRequeued: "",
	} {
		if got := s.conditionOf("w", condition); got != want {
			t.Errorf("%s is %q, want %q", condition, got, want)
		}
	}
	if stats := s.getWorkload("w").Status.SchedulingStats; stats == nil || len(stats.Evictions) != 1 || stats.Evictions[0].Count != 1 {
		t.Errorf("statistics are %+v", stats)
	}
	var reasons []string
	for _, e := range s.recordedEvents() {
		reasons = append(reasons, strings.Fields(e)[1])
	}
	slices.Sort(reasons)
	if want := []string{"EvictedDueToPreempted", "Preempted", "PreemptedWorkload"}; !slices.Equal(reasons, want) {
		t.Errorf("events are %q, want %q", reasons, want)
	}
	if got := s.view.LookupPending(admission.Key{Namespace: "ns", Name: "w"}); got != nil {
		t.Error("the victim waits again although nobody has given its quota back")
	}
}

func TestTheViewRecordsARefusedEviction(t *testing.T) {
	s := newTestEnv(t)
	s.submitWorkload("v", 1)
	s.writeErrors = []error{nil, nil, apierrors.NewForbidden(kueue.Resource("workloads"), "w", nil)}
	s.runPreemption()
	if got := s.conditionOf("w", kueue.WorkloadEvicted); got != "" || len(s.recordedEvents()) != 0 {
		t.Errorf("Evicted is %q", got)
	}
	if batch := s.decidePreemption(); len(batch.Preempt) != 1 || len(batch.Preempt[0].Evictions) != 1 {
		t.Errorf("the victim cannot be chosen again: %+v", batch.Preempt)
	}
}
