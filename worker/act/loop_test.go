package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
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
	s := newStage(t)
	s.submit("w", 3)
	s.cycle()
	if got := s.writes.Load(); got != 1 {
		t.Errorf("%d writes, want 1", got)
	}
	if got := s.condition("w", kueue.WorkloadQuotaReserved); got != "True QuotaReserved" {
		t.Errorf("QuotaReserved is %q", got)
	}
	if got := s.condition("w", kueue.WorkloadAdmitted); got != "True Admitted" {
		t.Errorf("Admitted is %q", got)
	}
	psa := s.stored("w").Status.Admission.PodSetAssignments[0]
	if usage := psa.ResourceUsage["gpu"]; psa.Flavors["gpu"] != "red" || *psa.Count != 3 || usage.String() != "3" {
		t.Errorf("assignment is %+v", psa)
	}
	said := s.said()
	if len(said) != 2 || !strings.HasPrefix(said[0], "Normal QuotaReserved") || !strings.HasPrefix(said[1], "Normal Admitted") {
		t.Errorf("events are %q", said)
	}
	if !strings.Contains(said[0], "ClusterQueue cq, wait time since queued was 60s") {
		t.Errorf("the reservation's event is %q", said[0])
	}
	if batch := s.cycle(); len(batch.Admit)+len(batch.Wait) != 0 {
		t.Errorf("nothing is left to do, got %+v", batch)
	}
}

func TestAWorkloadWithChecksWaitsForThem(t *testing.T) {
	s := newStage(t)
	s.deliver(activeCheck("b"), activeCheck("a"), clusterQueue("b", "a"))
	s.submit("w", 3)
	s.cycle()
	if got := s.condition("w", kueue.WorkloadAdmitted); got == "True Admitted" {
		t.Error("it is admitted without its checks")
	}
	var checks []string
	for _, c := range s.stored("w").Status.AdmissionChecks {
		checks = append(checks, string(c.Name)+" "+string(c.State))
	}
	slices.Sort(checks)
	if diff := cmp.Diff([]string{"a Pending", "b Pending"}, checks); diff != "" {
		t.Error(diff)
	}
	if said := s.said(); len(said) != 1 {
		t.Errorf("events are %q, want that of the reservation alone", said)
	}
}

func TestAStaleDecisionIsForgottenWithoutNoise(t *testing.T) {
	s := newStage(t)
	s.submit("w", 3)
	changed := s.stored("w")
	changed.Labels = map[string]string{"new": "label"}
	if err := s.client.Update(s.Context(), changed); err != nil {
		t.Fatal(err)
	}
	s.cycle()
	if got := s.condition("w", kueue.WorkloadQuotaReserved); got != "" || s.writes.Load() != 1 {
		t.Errorf("QuotaReserved is %q after %d writes, want none after 1", got, s.writes.Load())
	}
	if batch := s.cycle(); len(batch.Admit) != 0 {
		t.Error("it must not be tried again before the change has been seen")
	}
	s.deliver(s.stored("w"))
	s.cycle()
	if got := s.condition("w", kueue.WorkloadQuotaReserved); got != "True QuotaReserved" {
		t.Errorf("QuotaReserved is %q once the change has been seen", got)
	}
}

func TestARefusedAdmissionGivesItsQuotaToOthers(t *testing.T) {
	s := newStage(t)
	s.submit("w", 3)
	s.refuse = []error{apierrors.NewForbidden(kueue.Resource("workloads"), "w", errors.New("no right"))}
	if batch := s.cycle(); len(batch.Admit) != 1 {
		t.Fatalf("the cycle should have admitted w: %+v", batch)
	}
	s.submit("x", 3)
	s.cycle()
	if got := s.condition("x", kueue.WorkloadQuotaReserved); got != "True QuotaReserved" {
		t.Errorf("x: QuotaReserved is %q", got)
	}
	if got := s.condition("w", kueue.WorkloadQuotaReserved); got != "" {
		t.Errorf("w: QuotaReserved is %q", got)
	}
}

func TestWhatIsPreparedIsWrittenWithTheReservation(t *testing.T) {
	s := newStage(t)
	s.loop.parts.Prepare = func(wl *kueue.Workload, now time.Time) {
		if wl.Status.Admission == nil || !now.Equal(epoch) {
			t.Errorf("at %s the admission is %v", now, wl.Status.Admission)
		}
		wl.Status.NominatedClusterNames = []string{"w1"}
	}
	s.submit("w", 3)
	s.cycle()
	if got := s.stored("w").Status.NominatedClusterNames; !slices.Equal(got, []string{"w1"}) || s.writes.Load() != 1 {
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
			s := newStage(t)
			s.submit("w", 3)
			refusal := apierrors.NewForbidden(kueue.Resource("workloads"), "w", errors.New("for a while"))
			s.refuse = []error{uncertain, refusal, nil} // A refusal does not tell what became of the first try.
			s.loop.once(s.Context())
			waitFor(t, func() bool {
				s.clock.Step(time.Second)
				return s.writes.Load() == 3
			})
			s.loop.desk.wait()
			if got := s.condition("w", kueue.WorkloadQuotaReserved); got != "True QuotaReserved" || s.writes.Load() != 3 {
				t.Errorf("QuotaReserved is %q after %d writes", got, s.writes.Load())
			}
		})
	}
}

func TestAWaitingWorkloadIsToldOnceAndOnlyIfItStillWaits(t *testing.T) {
	s := newStage(t)
	s.submit("w", 3)
	s.submit("x", 3)
	batch := s.cycle()
	if len(batch.Wait) != 1 {
		t.Fatalf("one should wait: %+v", batch)
	}
	waiting := batch.Wait[0]
	s.said()
	s.loop.reasons.write(s.Context(), waiting)
	if got := s.condition(waiting.Workload.Name, kueue.WorkloadQuotaReserved); got != "False WaitingForQuota" {
		t.Errorf("QuotaReserved is %q", got)
	}
	if said := s.said(); len(said) != 1 || !strings.HasPrefix(said[0], "Warning WaitingForQuota") {
		t.Errorf("events are %q", said)
	}
	if asked := s.stored(waiting.Workload.Name).Status.ResourceRequests; len(asked) != 1 || asked[0].Resources["gpu"] != resource.MustParse("3") {
		t.Errorf("it is told that it asks for %v", asked)
	}
	writes := s.writes.Load()
	s.loop.reasons.write(s.Context(), waiting)
	if s.writes.Load() != writes || len(s.said()) != 0 {
		t.Error("it was told the same again")
	}
	s.loop.reasons.write(s.Context(), view.Decided{Decision: admission.Decision{
		Workload: batch.Admit[0].Workload, Verdict: admission.Wait, Because: admission.WaitingForQuota,
	}, Seen: batch.Admit[0].Seen})
	if s.writes.Load() != writes {
		t.Error("a workload that holds quota was told that it waits")
	}
}

func TestReasonsAreGatheredAndPacedByTheServer(t *testing.T) {
	s := newStage(t)
	const many, latency = 50, 100 * time.Millisecond
	for i := range many {
		s.submit(fmt.Sprintf("big%d", i), 9)
	}
	s.loop.pace.took(latency)
	done := make(chan struct{})
	go func() { s.loop.reasons.run(s.Context()); close(done) }()
	batch := s.cycle()
	if len(batch.Wait) != many {
		t.Fatalf("%d wait, want %d", len(batch.Wait), many)
	}
	for _, d := range batch.Wait { // Another cycle says the same before anything was written.
		s.loop.reasons.tell(d)
	}
	s.patched = func() { s.clock.Step(latency) }
	waitFor(t, func() bool {
		s.clock.Step(20 * time.Millisecond)
		return s.writes.Load() == many
	})
	took := s.clock.Since(epoch)
	if floor := (many - 1) * reasonRests * latency; took < floor {
		t.Errorf("%d reasons were written in %s, faster than %s", many, took, floor)
	}
}

// decides is a decision that the workload waits for quota.
func (s *stage) decides(name, message string) view.Decided {
	return view.Decided{Seen: s.stored(name), Decision: admission.Decision{
		Workload: admission.Key{Namespace: "ns", Name: name}, Verdict: admission.Wait, Because: admission.WaitingForQuota, Message: message,
	}}
}

func TestANewMessageAloneIsRarelyWritten(t *testing.T) {
	s := newStage(t)
	for _, name := range []string{"a", "b", "c"} {
		s.submit(name, 9)
		s.loop.reasons.write(s.Context(), s.decides(name, "3 are in use"))
	}
	s.said()
	for _, name := range []string{"a", "b", "c"} {
		s.loop.reasons.write(s.Context(), s.decides(name, "4 are in use"))
	}
	if got := s.writes.Load(); got != 4 {
		t.Errorf("%d writes, want one for each reason and one for a message", got)
	}
	if said := s.said(); len(said) != 1 || said[0] != "Warning WaitingForQuota 4 are in use" {
		t.Errorf("told in events: %q", said)
	}
}

func TestANewMessageWaitsLongOnlyWhenAnotherOneWasJustWritten(t *testing.T) {
	s := newStage(t)
	for _, name := range []string{"a", "b"} {
		s.submit(name, 9)
		s.loop.reasons.write(s.Context(), s.decides(name, "3 are in use"))
	}
	go s.loop.reasons.run(s.Context())
	tell := func(name string) { s.loop.reasons.tell(s.decides(name, "4 are in use")) }
	writes := s.writes.Load()
	tell("a")
	began := s.clock.Now()
	waitFor(t, func() bool { s.clock.Step(100 * time.Millisecond); return s.writes.Load() > writes })
	if took := s.clock.Since(began); took < settleMessage || took >= messageAgain {
		t.Errorf("it took %s", took)
	}
	s.loop.reasons.refresh.AllowN(s.clock.Now(), 1)
	if got := s.loop.reasons.messageDelay(); got != messageAgain {
		t.Errorf("the next one waits %s", got)
	}
}

func TestClosedGatesAreToldOnceWithTheReason(t *testing.T) {
	s := newStage(t)
	s.submit("w", 3)
	d := view.Decided{Seen: s.stored("w"), Decision: admission.Decision{
		Workload: admission.Key{Namespace: "ns", Name: "w"}, Verdict: admission.Wait, Because: admission.WaitingForQuota,
		Message: "no room", ClosedGates: []string{"g"},
	}}
	for range 2 {
		s.loop.reasons.write(s.Context(), d)
	}
	if got := s.condition("w", kueue.WorkloadBlockedOnPreemptionGates); got != "True PreemptionGated" || s.writes.Load() != 1 {
		t.Errorf("BlockedOnPreemptionGates is %q after %d writes", got, s.writes.Load())
	}
	waits := meta.FindStatusCondition(s.stored("w").Status.Conditions, kueue.WorkloadQuotaReserved)
	contracttest.Compare(t, "verdicts", map[string]contracttest.Said{
		"gated": {Kind: waits.Type + " " + string(waits.Status) + " " + waits.Reason, Text: waits.Message},
	})
}

func TestAWorkloadWhoseChecksHaveFailedIsToldSo(t *testing.T) {
	s := newStage(t)
	s.submit("w", 1)
	d := s.decides("w", view.FailedChecks)
	d.Because = admission.PendingEvaluation
	s.loop.reasons.tell(d)
	kept, ok := s.loop.reasons.take(d.Workload)
	if !ok {
		t.Fatal("nothing will be told")
	}
	s.loop.reasons.write(s.Context(), kept)
	waits := meta.FindStatusCondition(s.stored("w").Status.Conditions, kueue.WorkloadQuotaReserved)
	contracttest.Compare(t, "failed checks", map[string]contracttest.Said{
		"told": {Kind: waits.Type + " " + string(waits.Status) + " " + waits.Reason, Text: waits.Message},
	})
	d.Message = "another text of the controller"
	s.loop.reasons.tell(d)
	if _, ok := s.loop.reasons.take(d.Workload); ok {
		t.Error("what the controller says is repeated")
	}
}

// With the gate UnadmittedWorkloadsObservability off the reason alone does not tell what was said.
func TestCoarseReasonsAreToldOnceAndNothingOfWhoWasNotEvaluated(t *testing.T) {
	s := newStage(t)
	s.loop.reasons.parts.Coarse = true
	s.submit("w", 9)
	wl := s.stored("w")
	workload.SetPending(wl, "Pending", "3 are in use", s.clock.Now())
	d := s.decides("w", "3 are in use")
	d.Seen = wl
	if news := s.loop.reasons.newsOf(d); news != noNews {
		t.Errorf("the same message is news: %v", news)
	}
	d.Message = "4 are in use"
	if news := s.loop.reasons.newsOf(d); news == noNews {
		t.Error("another message is no news")
	}
	d.Because, d.Stale = admission.PendingEvaluation, true
	s.loop.reasons.tell(d)
	if _, kept := s.loop.reasons.take(d.Workload); kept {
		t.Error("it will be told that it was not evaluated")
	}
}

func TestTheLoopStartsWhenTheViewIsFullAndEndsWithItsContext(t *testing.T) {
	s := newStage(t)
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan error)
	go func() { ended <- s.loop.Start(ctx) }()
	s.submit("w", 3)
	waitFor(t, func() bool { return s.condition("w", kueue.WorkloadAdmitted) == "True Admitted" })
	s.submit("x", 9)
	waitFor(t, func() bool {
		s.clock.Step(time.Second)
		return s.condition("x", kueue.WorkloadQuotaReserved) == "False ExceedsMaxQuota"
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
		if got := sharedReason(reason); got != want {
			t.Errorf("%s: shared is %v, want %v", reason, got, want)
		}
	}
}

func TestAnAdmissionByACheckCountsOnceThoughNobodyHereWroteIt(t *testing.T) {
	s := newStage(t)
	s.view.OnChange(s.loop.parts.Metrics.Changed)
	s.submit("w", 3)
	s.cycle()
	waits := s.stored("w")
	meta.SetStatusCondition(&waits.Status.Conditions, metav1.Condition{
		Type: kueue.WorkloadAdmitted, Status: metav1.ConditionFalse, Reason: "UnsatisfiedAdmissionChecks", LastTransitionTime: metav1.NewTime(epoch),
	})
	waits.ResourceVersion = "1000"
	s.deliver(waits, waits)
	before := testutil.ToFloat64(s.loop.parts.Metrics.cluster.Admitted.WithLabelValues("cq", ""))
	runs := waits.DeepCopy()
	meta.SetStatusCondition(&runs.Status.Conditions, metav1.Condition{
		Type: kueue.WorkloadAdmitted, Status: metav1.ConditionTrue, Reason: "Admitted", LastTransitionTime: metav1.NewTime(epoch.Add(time.Minute)),
	})
	runs.ResourceVersion = "1001"
	s.deliver(runs, runs)
	s.deliver(runs, runs)
	if got := testutil.ToFloat64(s.loop.parts.Metrics.cluster.Admitted.WithLabelValues("cq", "")) - before; got != 1 {
		t.Errorf("%v admissions counted, want 1", got)
	}
}

func TestAWaitingWorkloadHasTheChecksOfEveryFlavor(t *testing.T) {
	s := newStage(t)
	cq := clusterQueue("b", "a", "elsewhere")
	cq.Spec.AdmissionChecksStrategy.AdmissionChecks[0].OnFlavors = []kueue.ResourceFlavorReference{"red"}
	cq.Spec.AdmissionChecksStrategy.AdmissionChecks[2].OnFlavors = []kueue.ResourceFlavorReference{"blue"}
	s.deliver(activeCheck("b"), activeCheck("a"), activeCheck("elsewhere"), cq)
	s.submit("w", 5)
	batch := s.cycle()
	if len(batch.Wait) != 1 {
		t.Fatalf("it should wait: %+v", batch)
	}
	s.loop.reasons.write(s.Context(), batch.Wait[0])
	var got []string
	for _, c := range s.stored("w").Status.AdmissionChecks {
		got = append(got, string(c.Name)+" "+string(c.State)+c.Message)
	}
	if diff := cmp.Diff([]string{"a Pending", "b Pending"}, got); diff != "" || s.writes.Load() != 1 {
		t.Errorf("after %d writes: %s", s.writes.Load(), diff)
	}
}

func TestTheEventAboutAReservationSaysWhichFlavorsWereConsidered(t *testing.T) {
	s := newStage(t)
	s.submit("w", 1)
	seen := s.stored("w")
	seen.CreationTimestamp = metav1.NewTime(epoch)
	got := map[string]contracttest.Said{}
	for name, text := range map[string]string{"free": "", "borrows": "main: f(Fit;borrow=1)"} {
		d := view.Decided{Seen: seen, Decision: admission.Decision{Queue: "cq", Assignment: &admission.Assignment{Considered: text}}}
		got[name] = contracttest.Said{Text: reservedMessage(d, epoch.Add(3*time.Second))}
	}
	contracttest.Compare(t, "reservations", got)
}
