package legacy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

// short is a text of WaitingForQuota.
const short = "couldn't assign flavors to pod set main: insufficient unused quota for gpu in flavor red, 3 more needed"

var noon = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

// said is one text, and the reason that goes with it in detail and coarsely.
type said struct {
	detailed, coarse kueue.Reason
	text             string
}

// everything is what our programs say of Workloads that wait.
func everything() []said {
	const flavors = "couldn't assign flavors to pod set main: "
	return []said{
		{kueue.ReasonPendingEvaluation, kueue.ReasonPending, "Workload is pending evaluation in the scheduling queue"},
		{kueue.ReasonPendingEvaluation, kueue.ReasonPending, "AdmissionGatedBy cleared, waiting for quota reservation"},
		{kueue.ReasonPendingEvaluation, kueue.ReasonPending, "The workload has failed admission checks"},
		{kueue.ReasonPendingEvaluation, kueue.ReasonPending, "Preempted to accommodate a workload (UID: u, JobUID: j) due to reclamation"},
		{kueue.ReasonPendingEvaluation, kueue.ReasonPending, "Exceeded the PodsReady timeout ns/wl"},
		{kueue.ReasonPendingEvaluation, kueue.ReasonPending, "Evicted due to AdmissionCheck in Retry state: \"b\" (later)"},
		{kueue.ReasonPendingEvaluation, kueue.ReasonPending, "The ClusterQueue is stopped"},
		{kueue.ReasonDeactivated, kueue.ReasonPending, "The workload is deactivated"},
		{kueue.ReasonNoMatchingFlavor, kueue.ReasonPending, flavors + "resource gpu unavailable in ClusterQueue"},
		{kueue.ReasonNoMatchingFlavor, kueue.ReasonPending, flavors + "flavor red doesn't match node affinity, untolerated taint {k v NoSchedule <nil>} in flavor blue"},
		{kueue.ReasonExceedsMaxQuota, kueue.ReasonPending, flavors + "insufficient quota for gpu in flavor red, previously considered podsets requests (0) + current podset request (9) > maximum capacity (8)"},
		{kueue.ReasonWaitingForQuota, kueue.ReasonPending, flavors + "insufficient unused quota for gpu in flavor red, 3 more needed"},
		{kueue.ReasonWaitingForQuota, kueue.ReasonPending, "Workload no longer fits after processing another workload"},
		{kueue.ReasonWaitingForPreemptedWorkloads, kueue.ReasonPending, flavors + "insufficient unused quota for gpu in flavor red, 3 more needed. Pending the preemption of 1 workload(s)"},
		{kueue.ReasonMisconfigured, kueue.ReasonPending, "workload namespace doesn't match ClusterQueue selector"},
		{kueue.ReasonMisconfigured, kueue.ReasonPending, "resources validation failed: [e1, e2]"},
		{kueue.ReasonMisconfigured, kueue.ReasonInadmissible, "LocalQueue  doesn't exist"},
		{kueue.ReasonMisconfigured, kueue.ReasonInadmissible, "ClusterQueue cq is terminating or missing"},
		{kueue.ReasonSuspended, kueue.ReasonInadmissible, "LocalQueue lq is inactive"},
		{kueue.ReasonSuspended, kueue.ReasonInadmissible, "ClusterQueue cq is stopped"},
		{kueue.ReasonWaitingForPodsReady, kueue.ReasonWaiting, "waiting for all admitted workloads to be in PodsReady condition"},
		{kueue.ReasonAdmissionGated, kueue.ReasonAdmissionGated, "Admission is gated by: a.io/x"},
		{kueue.ReasonAdmissionGated, kueue.ReasonPending, "Workload requires preemption, but it's gated"},
		{kueue.ReasonOnHold, kueue.ReasonOnHold, "Job is on hold"},
	}
}

// site is an API server in memory with one Workload, as others see it and as a program that speaks coarsely does.
func site(t *testing.T) (plain, coarse client.Client, wl *kueue.Workload) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := kueue.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	wl = &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "wl", UID: "uid"}}
	plain = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(wl).WithObjects(wl).Build()
	wl = read(t, plain)
	return plain, Client(plain), wl
}

func read(t *testing.T, c client.Client) *kueue.Workload {
	t.Helper()
	wl := &kueue.Workload{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "wl"}, wl); err != nil {
		t.Fatal(err)
	}
	return wl
}

func condition(wl *kueue.Workload, of string) string {
	c := meta.FindStatusCondition(wl.Status.Conditions, of)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason + " " + c.Message
}

func TestWhatTheAPISaysIsCoarseAndWhatWeHearIsDetailed(t *testing.T) {
	for _, c := range everything() {
		t.Run(c.text, func(t *testing.T) {
			plain, coarse, wl := site(t)
			workload.SetPending(wl, admission.Reason(c.detailed), c.text, noon)
			meant := wl.DeepCopy()
			if err := kube.ApplyAdmission(t.Context(), coarse, wl); err != nil {
				t.Fatal(err)
			}
			stored := read(t, plain)
			if got := condition(stored, kueue.WorkloadQuotaReserved); got != "False "+string(c.coarse)+" "+c.text {
				t.Errorf("the API says %q", got)
			}
			if _, err := Transform(nil)(stored); err != nil {
				t.Fatal(err)
			}
			for who, got := range map[string]*kueue.Workload{"the answer": wl, "the informer": stored} {
				if diff := cmp.Diff(workload.State(meant), workload.State(got)); diff != "" {
					t.Errorf("%s is not what was meant: -meant +got:\n%s", who, diff)
				}
			}
		})
	}
}

func TestEveryKindOfStatusWriteIsTranslated(t *testing.T) {
	write := map[string]func(c client.Client, before, after *kueue.Workload) error{
		"an apply": func(c client.Client, _, after *kueue.Workload) error {
			return kube.ApplyAdmission(t.Context(), c, after)
		},
		"a merge patch": func(c client.Client, before, after *kueue.Workload) error {
			_, err := kube.PatchStatus(t.Context(), c, before, after)
			return err
		},
		"an update": func(c client.Client, _, after *kueue.Workload) error { return c.Status().Update(t.Context(), after) },
	}
	for name, by := range write {
		t.Run(name, func(t *testing.T) {
			plain, coarse, before := site(t)
			after := before.DeepCopy()
			workload.SetPending(after, admission.WaitingForQuota, short, noon)
			if err := by(coarse, before, after); err != nil {
				t.Fatal(err)
			}
			if got := condition(read(t, plain), kueue.WorkloadQuotaReserved); got != "False Pending "+short {
				t.Errorf("the API says %q", got)
			}
			if got := condition(after, kueue.WorkloadQuotaReserved); got != "False WaitingForQuota "+short {
				t.Errorf("we hear %q", got)
			}
		})
	}
}

func TestAnAnswerToAWriteOfMetadataIsDetailed(t *testing.T) {
	_, coarse, wl := site(t)
	workload.SetPending(wl, admission.WaitingForQuota, short, noon)
	if err := kube.ApplyAdmission(t.Context(), coarse, wl); err != nil {
		t.Fatal(err)
	}
	labelled := wl.DeepCopy()
	labelled.Labels = map[string]string{"a": "b"}
	if err := coarse.Patch(t.Context(), labelled, client.MergeFrom(wl)); err != nil {
		t.Fatal(err)
	}
	if got := condition(labelled, kueue.WorkloadQuotaReserved); got != "False WaitingForQuota "+short {
		t.Errorf("a patch answers %q", got)
	}
	labelled.Labels["a"] = "c"
	if err := coarse.Update(t.Context(), labelled); err != nil {
		t.Fatal(err)
	}
	if got := condition(labelled, kueue.WorkloadQuotaReserved); got != "False WaitingForQuota "+short {
		t.Errorf("an update answers %q", got)
	}
}

func TestWhyAWorkloadIsNotAdmittedIsSaidInTheOldWordsToo(t *testing.T) {
	for _, c := range []struct {
		name  string
		state kueue.CheckState
		lost  bool
		want  string
	}{
		{"checks that are not ready", kueue.CheckStatePending, false, "False UnsatisfiedChecks The workload has not all checks ready"},
		{
			"no reservation, and checks that are not ready", kueue.CheckStatePending, true,
			"False NoReservationUnsatisfiedChecks The workload has no reservation and not all checks ready",
		},
		{"no reservation alone", kueue.CheckStateReady, true, "False NoReservation The workload has no reservation"},
	} {
		t.Run(c.name, func(t *testing.T) {
			plain, coarse, wl := site(t)
			workload.ReserveQuota(wl, &kueue.Admission{ClusterQueue: "cq"}, []string{"check"}, "reserved", noon)
			if c.lost {
				workload.Evict(wl, lifecycle.Eviction{Reason: lifecycle.EvictedByPreemption, Message: "Preempted to accommodate a workload (UID: u, JobUID: j)"}, noon)
				workload.ReleaseQuota(wl, noon)
			}
			workload.SetAdmissionCheck(wl, "check", c.state, "", noon)
			meant := wl.DeepCopy()
			if err := kube.ApplyAdmission(t.Context(), coarse, wl); err != nil {
				t.Fatal(err)
			}
			if got := condition(read(t, plain), kueue.WorkloadAdmitted); got != c.want {
				t.Errorf("the API says %q, want %q", got, c.want)
			}
			if diff := cmp.Diff(workload.State(meant), workload.State(wl)); diff != "" {
				t.Errorf("-meant +heard:\n%s", diff)
			}
		})
	}
}

func TestWhatSomebodyElseSaidStaysAsItIs(t *testing.T) {
	for _, message := range []string{"couldn't assign flavors", "LocalQueue lq is inactive", "note: more", "Waits"} {
		c := metav1.Condition{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionFalse, Reason: "Pending", Message: message}
		was := c
		refineCondition(&c)
		if generalize(&c, true); c != was {
			t.Errorf("got %+v, want %+v", c, was)
		}
	}
	for _, c := range []metav1.Condition{
		{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionTrue, Reason: "QuotaReserved"},
		{Type: kueue.WorkloadEvicted, Status: metav1.ConditionFalse, Reason: "Deactivated"},
		{Type: kueue.WorkloadRequeued, Status: metav1.ConditionFalse, Reason: "Deactivated"},
	} {
		if was := c; generalize(&c, false) || c != was {
			t.Errorf("got %+v, want %+v", c, was)
		}
	}
}

func TestOnlyWorkloadsAreTranslated(t *testing.T) {
	queue := &kueue.ClusterQueue{Status: kueue.ClusterQueueStatus{Conditions: []metav1.Condition{
		{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionFalse, Reason: "Pending", Message: "WaitingForQuota: no"},
	}}}
	was := queue.DeepCopy()
	got, err := Transform(func(object any) (any, error) { return object, nil })(queue)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(any(was), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAWarningHasTheCoarseReasonAndOtherEventsTheirOwn(t *testing.T) {
	inner := events.NewFakeRecorder(2)
	r := Recorder(inner)
	r.Eventf(&kueue.Workload{}, nil, corev1.EventTypeWarning, "WaitingForQuota", "Wait", "%s", short)
	r.Eventf(&kueue.Workload{}, nil, corev1.EventTypeNormal, "AdmissionGated", "Gate", "by %s", "a")
	got := []string{<-inner.Events, <-inner.Events}
	if diff := cmp.Diff([]string{"Warning Pending " + short, "Normal AdmissionGated by a"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// heard is what our programs know of the Workload.
func heard(t *testing.T, c client.Client) *kueue.Workload {
	t.Helper()
	wl := read(t, c)
	if _, err := OwnTransform(nil)(wl); err != nil {
		t.Fatal(err)
	}
	return wl
}

func TestOfAdmittedOnlyItsChangesAreSaid(t *testing.T) {
	reserve := func(checks ...string) func(*kueue.Workload) {
		return func(wl *kueue.Workload) {
			workload.ReserveQuota(wl, &kueue.Admission{ClusterQueue: "cq"}, checks, "reserved", noon)
		}
	}
	wait := func(wl *kueue.Workload) { workload.SetPending(wl, admission.WaitingForQuota, short, noon) }
	evict := func(wl *kueue.Workload) {
		workload.Evict(wl, lifecycle.Eviction{Reason: lifecycle.EvictedByPreemption, Message: "Preempted"}, noon.Add(time.Minute))
	}
	release := func(wl *kueue.Workload) { workload.ReleaseQuota(wl, noon.Add(2*time.Minute)) }
	for name, c := range map[string]struct {
		story []func(*kueue.Workload)
		want  string
	}{
		"nothing has happened":                      {nil, ""},
		"it waits":                                  {[]func(*kueue.Workload){wait}, ""},
		"it holds quota and a check keeps it":       {[]func(*kueue.Workload){reserve("check")}, ""},
		"it waited and now a check keeps it":        {[]func(*kueue.Workload){wait, reserve("check")}, ""},
		"it was evicted before it was admitted":     {[]func(*kueue.Workload){wait, reserve("check"), evict, release}, ""},
		"it is admitted":                            {[]func(*kueue.Workload){wait, reserve()}, "True Admitted The workload is admitted"},
		"it was admitted, and evicted":              {[]func(*kueue.Workload){reserve(), evict, release}, "False NoReservation The workload has no reservation"},
		"it was admitted, evicted, and waits again": {[]func(*kueue.Workload){reserve(), evict, release, wait}, "False NoReservation The workload has no reservation"},
	} {
		t.Run(name, func(t *testing.T) {
			plain, coarse, _ := site(t)
			for _, happens := range c.story {
				wl := heard(t, plain)
				happens(wl)
				if err := kube.ApplyAdmission(t.Context(), coarse, wl); err != nil {
					t.Fatal(err)
				}
				known := workload.State(wl)
				if next := lifecycle.DeriveConditions(known, noon.Add(time.Hour)); !next.Equal(known) {
					t.Errorf("there is one more write to do:\n%s", cmp.Diff(known, next))
				}
			}
			if got := condition(read(t, plain), kueue.WorkloadAdmitted); got != c.want {
				t.Errorf("the API says %q, want %q", got, c.want)
			}
		})
	}
}

func TestAWorkloadThatMayBeAdmittedIsNotHeardAsAdmitted(t *testing.T) {
	plain, _, wl := site(t)
	workload.ReserveQuota(wl, &kueue.Admission{ClusterQueue: "cq"}, nil, "reserved", noon)
	meta.RemoveStatusCondition(&wl.Status.Conditions, kueue.WorkloadAdmitted)
	if err := plain.Status().Update(t.Context(), wl); err != nil {
		t.Fatal(err)
	}
	if got := condition(heard(t, plain), kueue.WorkloadAdmitted); got != "False NoReservation The workload has no reservation" {
		t.Errorf("heard %q", got)
	}
}
