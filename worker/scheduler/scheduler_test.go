package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"switchyard.dev/apis/kueue/contracttest"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/view"
	"switchyard.dev/worker/workload"
)

func TestAnAdmissionIsOneWriteAndTwoEvents(t *testing.T) {
	s := newTestEnv(t)
	s.submitWorkload("w", 3)
	s.runCycle()
	if got := s.writes.Load(); got != 1 {
		t.Errorf("%d writes, want 1", got)
	}
	if got := s.conditionOf("w", kueue.WorkloadQuotaReserved); got != "True QuotaReserved" {
		t.Errorf("QuotaReserved is %q", got)
	}
	if got := s.conditionOf("w", kueue.WorkloadAdmitted); got != "True Admitted" {
		t.Errorf("Admitted is %q", got)
	}
	psa := s.getWorkload("w").Status.Admission.PodSetAssignments[0]
	if usage := psa.ResourceUsage["gpu"]; psa.Flavors["gpu"] != "red" || *psa.Count != 3 || usage.String() != "3" {
		t.Errorf("assignment is %+v", psa)
	}
	said := s.recordedEvents()
	if len(said) != 2 || !strings.HasPrefix(said[0], "Normal QuotaReserved") || !strings.HasPrefix(said[1], "Normal Admitted") {
		t.Errorf("events are %q", said)
	}
	if !strings.Contains(said[0], "ClusterQueue cq, wait time since queued was 60s") {
		t.Errorf("the reservation's event is %q", said[0])
	}
	if batch := s.runCycle(); len(batch.Admit)+len(batch.Wait) != 0 {
		t.Errorf("nothing is left to do, got %+v", batch)
	}
}

func TestAWorkloadWithChecksWaitsForThem(t *testing.T) {
	s := newTestEnv(t)
	s.deliver(activeCheck("b"), activeCheck("a"), testClusterQueue("b", "a"))
	s.submitWorkload("w", 3)
	s.runCycle()
	if got := s.conditionOf("w", kueue.WorkloadAdmitted); got == "True Admitted" {
		t.Error("it is admitted without its checks")
	}
	var checks []string
	for _, c := range s.getWorkload("w").Status.AdmissionChecks {
		checks = append(checks, string(c.Name)+" "+string(c.State))
	}
	slices.Sort(checks)
	if diff := cmp.Diff([]string{"a Pending", "b Pending"}, checks); diff != "" {
		t.Error(diff)
	}
	if said := s.recordedEvents(); len(said) != 1 {
		t.Errorf("events are %q, want that of the reservation alone", said)
	}
}

func TestAStaleDecisionIsForgottenSilently(t *testing.T) {
	s := newTestEnv(t)
	s.submitWorkload("w", 3)
	changed := s.getWorkload("w")
	changed.Labels = map[string]string{"new": "label"}
	if err := s.client.Update(s.Context(), changed); err != nil {
		t.Fatal(err)
	}
	s.runCycle()
	if got := s.conditionOf("w", kueue.WorkloadQuotaReserved); got != "" || s.writes.Load() != 1 {
		t.Errorf("QuotaReserved is %q after %d writes, want none after 1", got, s.writes.Load())
	}
	if batch := s.runCycle(); len(batch.Admit) != 0 {
		t.Error("it must not be tried again before the change has been seen")
	}
	s.deliver(s.getWorkload("w"))
	s.runCycle()
	if got := s.conditionOf("w", kueue.WorkloadQuotaReserved); got != "True QuotaReserved" {
		t.Errorf("QuotaReserved is %q once the change has been seen", got)
	}
}

func TestARefusedAdmissionGivesItsQuotaToOthers(t *testing.T) {
	s := newTestEnv(t)
	s.submitWorkload("w", 3)
	s.writeErrors = []error{apierrors.NewForbidden(kueue.Resource("workloads"), "w", errors.New("no right"))}
	if batch := s.runCycle(); len(batch.Admit) != 1 {
		t.Fatalf("the cycle should have admitted w: %+v", batch)
	}
	s.submitWorkload("x", 3)
	s.runCycle()
	if got := s.conditionOf("x", kueue.WorkloadQuotaReserved); got != "True QuotaReserved" {
		t.Errorf("x: QuotaReserved is %q", got)
	}
	if got := s.conditionOf("w", kueue.WorkloadQuotaReserved); got != "" {
		t.Errorf("w: QuotaReserved is %q", got)
	}
}

func TestWhatIsPreparedIsWrittenWithTheReservation(t *testing.T) {
	s := newTestEnv(t)
	s.scheduler.config.PrepareAdmission = func(wl *kueue.Workload, now time.Time) {
		if wl.Status.Admission == nil || !now.Equal(baseTime) {
			t.Errorf("at %s the admission is %v", now, wl.Status.Admission)
		}
		wl.Status.NominatedClusterNames = []string{"w1"}
	}
	s.submitWorkload("w", 3)
	s.runCycle()
	if got := s.getWorkload("w").Status.NominatedClusterNames; !slices.Equal(got, []string{"w1"}) || s.writes.Load() != 1 {
		t.Errorf("nominated are %q after %d writes", got, s.writes.Load())
	}
}

func TestAnUncertainAdmissionIsTriedUntilItIsCertain(t *testing.T) {
	for name, uncertain := range map[string]error{
		"timeout":         apierrors.NewTimeoutError("slow", 1),
		"server error":    apierrors.NewInternalError(errors.New("failed calling webhook")),
		"lost connection": errors.New("connection reset by peer"),
		"too many":        apierrors.NewTooManyRequests("busy", 1),
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestEnv(t)
			s.submitWorkload("w", 3)
			refusal := apierrors.NewForbidden(kueue.Resource("workloads"), "w", errors.New("for a while"))
			s.writeErrors = []error{uncertain, refusal, nil} // A refusal does not tell what became of the first try.
			s.scheduler.runCycle(s.Context())
			waitFor(t, func() bool {
				s.clock.Step(time.Second)
				return s.writes.Load() == 3
			})
			s.scheduler.writePool.wait()
			if got := s.conditionOf("w", kueue.WorkloadQuotaReserved); got != "True QuotaReserved" || s.writes.Load() != 3 {
				t.Errorf("QuotaReserved is %q after %d writes", got, s.writes.Load())
			}
		})
	}
}

func TestAReasonIsWrittenOnceAndOnlyIfTheWorkloadStillWaits(t *testing.T) {
	s := newTestEnv(t)
	s.submitWorkload("w", 3)
	s.submitWorkload("x", 3)
	batch := s.runCycle()
	if len(batch.Wait) != 1 {
		t.Fatalf("one should wait: %+v", batch)
	}
	waiting := batch.Wait[0]
	s.recordedEvents()
	s.scheduler.reasonWriter.writeReason(s.Context(), waiting)
	if got := s.conditionOf(waiting.Workload.Name, kueue.WorkloadQuotaReserved); got != "False WaitingForQuota" {
		t.Errorf("QuotaReserved is %q", got)
	}
	if said := s.recordedEvents(); len(said) != 1 || !strings.HasPrefix(said[0], "Warning WaitingForQuota") {
		t.Errorf("events are %q", said)
	}
	if asked := s.getWorkload(waiting.Workload.Name).Status.ResourceRequests; len(asked) != 1 || asked[0].Resources["gpu"] != resource.MustParse("3") {
		t.Errorf("it is told that it asks for %v", asked)
	}
	writes := s.writes.Load()
	s.scheduler.reasonWriter.writeReason(s.Context(), waiting)
	if s.writes.Load() != writes || len(s.recordedEvents()) != 0 {
		t.Error("it was told the same again")
	}
	s.scheduler.reasonWriter.writeReason(s.Context(), view.WorkloadDecision{Decision: admission.Decision{
		Workload: batch.Admit[0].Workload, Outcome: admission.Wait, Reason: admission.WaitingForQuota,
	}, Object: batch.Admit[0].Object})
	if s.writes.Load() != writes {
		t.Error("a workload that holds quota was told that it waits")
	}
}

func TestReasonsAreMergedAndLimitedByTheServersLatency(t *testing.T) {
	s := newTestEnv(t)
	const many, latency = 50, 100 * time.Millisecond
	for i := range many {
		s.submitWorkload(fmt.Sprintf("big%d", i), 9)
	}
	s.scheduler.latency.observe(latency)
	done := make(chan struct{})
	go func() { s.scheduler.reasonWriter.run(s.Context()); close(done) }()
	batch := s.runCycle()
	if len(batch.Wait) != many {
		t.Fatalf("%d wait, want %d", len(batch.Wait), many)
	}
	for _, d := range batch.Wait { // Another cycle says the same before anything was written.
		s.scheduler.reasonWriter.enqueue(d)
	}
	s.onPatch = func() { s.clock.Step(latency) }
	waitFor(t, func() bool {
		s.clock.Step(20 * time.Millisecond)
		return s.writes.Load() == many
	})
	took := s.clock.Since(baseTime)
	if floor := (many - 1) * reasonPauseFactor * latency; took < floor {
		t.Errorf("%d reasons were written in %s, faster than %s", many, took, floor)
	}
}

// waitDecision is a decision that the workload waits for quota.
func (s *testEnv) waitDecision(name, message string) view.WorkloadDecision {
	return view.WorkloadDecision{Object: s.getWorkload(name), Decision: admission.Decision{
		Workload: admission.Key{Namespace: "ns", Name: name}, Outcome: admission.Wait, Reason: admission.WaitingForQuota, Message: message,
	}}
}

func TestANewMessageAloneIsRarelyWritten(t *testing.T) {
	s := newTestEnv(t)
	for _, name := range []string{"a", "b", "c"} {
		s.submitWorkload(name, 9)
		s.scheduler.reasonWriter.writeReason(s.Context(), s.waitDecision(name, "3 are in use"))
	}
	s.recordedEvents()
	for _, name := range []string{"a", "b", "c"} {
		s.scheduler.reasonWriter.writeReason(s.Context(), s.waitDecision(name, "4 are in use"))
	}
	if got := s.writes.Load(); got != 4 {
		t.Errorf("%d writes, want one for each reason and one for a message", got)
	}
	if said := s.recordedEvents(); len(said) != 1 || said[0] != "Warning WaitingForQuota 4 are in use" {
		t.Errorf("told in events: %q", said)
	}
}

func TestANewMessageWaitsLongOnlyWhenAnotherOneWasJustWritten(t *testing.T) {
	s := newTestEnv(t)
	for _, name := range []string{"a", "b"} {
		s.submitWorkload(name, 9)
		s.scheduler.reasonWriter.writeReason(s.Context(), s.waitDecision(name, "3 are in use"))
	}
	go s.scheduler.reasonWriter.run(s.Context())
	tell := func(name string) { s.scheduler.reasonWriter.enqueue(s.waitDecision(name, "4 are in use")) }
	writes := s.writes.Load()
	tell("a")
	began := s.clock.Now()
	waitFor(t, func() bool { s.clock.Step(100 * time.Millisecond); return s.writes.Load() > writes })
	if took := s.clock.Since(began); took < newMessageDelay || took >= repeatMessageDelay {
		t.Errorf("it took %s", took)
	}
	s.scheduler.reasonWriter.messageLimiter.AllowN(s.clock.Now(), 1)
	if got := s.scheduler.reasonWriter.messageDelay(); got != repeatMessageDelay {
		t.Errorf("the next one waits %s", got)
	}
}

func TestClosedPreemptionGatesAreReportedOnceWithTheReason(t *testing.T) {
	s := newTestEnv(t)
	s.submitWorkload("w", 3)
	d := view.WorkloadDecision{Object: s.getWorkload("w"), Decision: admission.Decision{
		Workload: admission.Key{Namespace: "ns", Name: "w"}, Outcome: admission.Wait, Reason: admission.WaitingForQuota,
		Message: "no room", ClosedPreemptionGates: []string{"g"},
	}}
	for range 2 {
		s.scheduler.reasonWriter.writeReason(s.Context(), d)
	}
	if got := s.conditionOf("w", kueue.WorkloadBlockedOnPreemptionGates); got != "True PreemptionGated" || s.writes.Load() != 1 {
		t.Errorf("BlockedOnPreemptionGates is %q after %d writes", got, s.writes.Load())
	}
	waits := meta.FindStatusCondition(s.getWorkload("w").Status.Conditions, kueue.WorkloadQuotaReserved)
	contracttest.Compare(t, "verdicts", map[string]contracttest.Said{
		"gated": {Kind: waits.Type + " " + string(waits.Status) + " " + waits.Reason, Text: waits.Message},
	})
}

func TestAWorkloadWithFailedChecksGetsThatReason(t *testing.T) {
	s := newTestEnv(t)
	s.submitWorkload("w", 1)
	d := s.waitDecision("w", view.FailedChecksMessage)
	d.Reason = admission.PendingEvaluation
	s.scheduler.reasonWriter.enqueue(d)
	kept, ok := s.scheduler.reasonWriter.popDecision(d.Workload)
	if !ok {
		t.Fatal("nothing will be told")
	}
	s.scheduler.reasonWriter.writeReason(s.Context(), kept)
	waits := meta.FindStatusCondition(s.getWorkload("w").Status.Conditions, kueue.WorkloadQuotaReserved)
	contracttest.Compare(t, "failed checks", map[string]contracttest.Said{
		"told": {Kind: waits.Type + " " + string(waits.Status) + " " + waits.Reason, Text: waits.Message},
	})
	d.Message = "another text of the controller"
	s.scheduler.reasonWriter.enqueue(d)
	if _, ok := s.scheduler.reasonWriter.popDecision(d.Workload); ok {
		t.Error("what the controller says is repeated")
	}
}

// With the gate UnadmittedWorkloadsObservability off the reason alone does not tell what was said.
func TestCoarseReasonsAreReportedOnceAndNotForUnevaluatedWorkloads(t *testing.T) {
	s := newTestEnv(t)
	s.scheduler.reasonWriter.config.CoarseReasons = true
	s.submitWorkload("w", 9)
	wl := s.getWorkload("w")
	workload.SetPending(wl, "Pending", "3 are in use", s.clock.Now())
	d := s.waitDecision("w", "3 are in use")
	d.Object = wl
	if news := s.scheduler.reasonWriter.compareReported(d); news != unchanged {
		t.Errorf("the same message is news: %v", news)
	}
	d.Message = "4 are in use"
	if news := s.scheduler.reasonWriter.compareReported(d); news == unchanged {
		t.Error("another message is no news")
	}
	d.Reason, d.Stale = admission.PendingEvaluation, true
	s.scheduler.reasonWriter.enqueue(d)
	if _, kept := s.scheduler.reasonWriter.popDecision(d.Workload); kept {
		t.Error("it will be told that it was not evaluated")
	}
}

func TestTheSchedulerStartsWhenTheViewIsSyncedAndEndsWithItsContext(t *testing.T) {
	s := newTestEnv(t)
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan error)
	go func() { ended <- s.scheduler.Start(ctx) }()
	s.submitWorkload("w", 3)
	waitFor(t, func() bool { return s.conditionOf("w", kueue.WorkloadAdmitted) == "True Admitted" })
	s.submitWorkload("x", 9)
	waitFor(t, func() bool {
		s.clock.Step(time.Second)
		return s.conditionOf("x", kueue.WorkloadQuotaReserved) == "False ExceedsMaxQuota"
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestReasonsOfTheWorkloadsOwnControllerAreLeftToIt(t *testing.T) {
	for reason, want := range map[admission.Reason]bool{
		admission.Suspended: true, admission.Misconfigured: true, admission.WaitingForQuota: false, admission.NoMatchingFlavor: false,
	} {
		if got := isSharedReason(reason); got != want {
			t.Errorf("%s: shared is %v, want %v", reason, got, want)
		}
	}
}

// countAdmitted adds up the counter of admissions.
func (s *testEnv) countAdmitted() float64 {
	s.Helper()
	families, err := s.registry.Gather()
	if err != nil {
		s.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() == "kueue_admitted_workloads_total" {
			for _, m := range family.GetMetric() {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

func TestAnAdmissionByACheckControllerIsCountedOnce(t *testing.T) {
	s := newTestEnv(t)
	s.view.OnConditionChange(s.scheduler.config.Metrics.ObserveChange)
	s.submitWorkload("w", 3)
	s.runCycle()
	waits := s.getWorkload("w")
	meta.SetStatusCondition(&waits.Status.Conditions, metav1.Condition{
		Type: kueue.WorkloadAdmitted, Status: metav1.ConditionFalse, Reason: "UnsatisfiedAdmissionChecks", LastTransitionTime: metav1.NewTime(baseTime),
	})
	waits.ResourceVersion = "1000"
	s.deliver(waits, waits)
	before := s.countAdmitted()
	runs := waits.DeepCopy()
	meta.SetStatusCondition(&runs.Status.Conditions, metav1.Condition{
		Type: kueue.WorkloadAdmitted, Status: metav1.ConditionTrue, Reason: "Admitted", LastTransitionTime: metav1.NewTime(baseTime.Add(time.Minute)),
	})
	runs.ResourceVersion = "1001"
	s.deliver(runs, runs)
	s.deliver(runs, runs)
	if got := s.countAdmitted() - before; got != 1 {
		t.Errorf("%v admissions counted, want 1", got)
	}
}

func TestAWaitingWorkloadHasTheChecksOfEveryFlavor(t *testing.T) {
	s := newTestEnv(t)
	cq := testClusterQueue("b", "a", "elsewhere")
	cq.Spec.AdmissionChecksStrategy.AdmissionChecks[0].OnFlavors = []kueue.ResourceFlavorReference{"red"}
	cq.Spec.AdmissionChecksStrategy.AdmissionChecks[2].OnFlavors = []kueue.ResourceFlavorReference{"blue"}
	s.deliver(activeCheck("b"), activeCheck("a"), activeCheck("elsewhere"), cq)
	s.submitWorkload("w", 5)
	batch := s.runCycle()
	if len(batch.Wait) != 1 {
		t.Fatalf("it should wait: %+v", batch)
	}
	s.scheduler.reasonWriter.writeReason(s.Context(), batch.Wait[0])
	var got []string
	for _, c := range s.getWorkload("w").Status.AdmissionChecks {
		got = append(got, string(c.Name)+" "+string(c.State)+c.Message)
	}
	if diff := cmp.Diff([]string{"a Pending", "b Pending"}, got); diff != "" || s.writes.Load() != 1 {
		t.Errorf("after %d writes: %s", s.writes.Load(), diff)
	}
}

func TestTheEventAboutAReservationSaysWhichFlavorsWereConsidered(t *testing.T) {
	s := newTestEnv(t)
	s.submitWorkload("w", 1)
	seen := s.getWorkload("w")
	seen.CreationTimestamp = metav1.NewTime(baseTime)
	got := map[string]contracttest.Said{}
	for name, text := range map[string]string{"free": "", "borrows": "main: f(Fit;borrow=1)"} {
		d := view.WorkloadDecision{Object: seen, Decision: admission.Decision{Queue: "cq", Assignment: &admission.Assignment{Considered: text}}}
		got[name] = contracttest.Said{Text: reservedMessage(d, baseTime.Add(3*time.Second))}
	}
	contracttest.Compare(t, "reservations", got)
}
