package guard

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/batchjob"
)

// yard is a cluster with jobs and a lookout.
type yard struct {
	client.Client

	lookout *guaranteeTracker
	events  *events.FakeRecorder
	clock   *testclock.FakeClock
	// failing makes reads of jobs fail.
	failing error
}

// indexes remembers the functions of indexes.
type indexes map[string]client.IndexerFunc

func (i indexes) IndexField(_ context.Context, _ client.Object, field string, values client.IndexerFunc) error {
	i[field] = values
	return nil
}

func newYard(t *testing.T, objects ...client.Object) *yard {
	t.Helper()
	metrics, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	kinds, found := &FollowedKinds{}, indexes{}
	if err := kinds.Follow(found, job.NewIntegration(batchjob.Kind())); err != nil {
		t.Fatal(err)
	}
	y := &yard{events: events.NewFakeRecorder(10), clock: testclock.NewFakeClock(noon)}
	y.Client = fake.NewClientBuilder().WithScheme(known(t)).WithObjects(objects...).WithStatusSubresource(&kueue.Workload{}, &batchv1.Job{}).
		WithIndex(&kueue.Workload{}, leaseIndex, leaseIndexValues).WithIndex(&kueue.Workload{}, releaseIndex, releaseIndexValues).
		WithIndex(&batchv1.Job{}, waitIndex, found[waitIndex]).
		WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if _, jobs := list.(*batchv1.JobList); jobs && y.failing != nil {
					return y.failing
				}
				return c.List(ctx, list, opts...)
			},
		}).Build()
	y.lookout = &guaranteeTracker{
		stopEstimate: stopEstimate{Options: Options{Namespace: namespace}, reader: y.Client}, kinds: kinds, clock: y.clock, recorder: y.events, metrics: metrics,
	}
	return y
}

// after looks when so much time has passed.
func (y *yard) after(t *testing.T, d time.Duration) string {
	t.Helper()
	y.clock.Step(d)
	word, err := y.lookout.observe(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if (word.Message != "") != (word.Within == noGuarantee) {
		t.Errorf("says %v, and %q", word.Within, word.Message)
	}
	return word.Message
}

// status changes the job's status.
func (y *yard) status(t *testing.T, name string, change func(*batchv1.Job)) {
	t.Helper()
	j := &batchv1.Job{}
	if err := y.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, j); err != nil {
		t.Fatal(err)
	}
	change(j)
	if err := y.Status().Update(t.Context(), j); err != nil {
		t.Fatal(err)
	}
}

// running is a job with a pod, suspended as told, whose controller was there an hour ago.
func running(name string, suspended bool) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)},
		Spec:       batchv1.JobSpec{Suspend: &suspended},
		Status:     batchv1.JobStatus{Active: 1, StartTime: ptr.To(metav1.NewTime(noon.Add(-time.Hour)))},
	}
}

// stopped is what its controller makes of the status of a suspended job.
func stopped(at time.Time) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		j.Status.Active = 0
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at)}}
	}
}

func TestAFenceWhoseSuspendedJobsKeepTheirPodsPromisesNothing(t *testing.T) {
	y := newYard(t, running("preempted", true), running("fine", false))
	for _, wait := range []time.Duration{0, 30 * time.Second} {
		if got := y.after(t, wait); got != "" {
			t.Errorf("after %v: %q", wait, got)
		}
	}
	got := y.after(t, time.Second)
	if !strings.Contains(got, "Job.batch ns/preempted is suspended and keeps active pods") {
		t.Errorf("says %q", got)
	}
	late := y.lookout.metrics.overdue.WithLabelValues("Job.batch", "Told")
	if cannot, late := testutil.ToFloat64(y.lookout.metrics.withoutGuarantee), testutil.ToFloat64(late); cannot != 1 || late != 1 {
		t.Errorf("shows %v, %v overdue", cannot, late)
	}
	y.after(t, 10*time.Second)
	if told := <-y.events.Events; !strings.HasPrefix(told, "Warning CannotStop Hubs cannot rely on this fence: Job.batch ns/preempted") || len(y.events.Events) > 0 {
		t.Errorf("told %q, and %d more", told, len(y.events.Events))
	}

	y.status(t, "preempted", stopped(y.clock.Now()))
	if got := y.after(t, time.Second); got != "" {
		t.Errorf("when the pods are gone: %q", got)
	}
	if cannot, late := testutil.ToFloat64(y.lookout.metrics.withoutGuarantee), testutil.CollectAndCount(y.lookout.metrics.overdue); cannot != 0 || late != 0 {
		t.Errorf("shows %v, %v overdue", cannot, late)
	}
	if told := <-y.events.Events; !strings.HasPrefix(told, "Normal CanStop") {
		t.Errorf("told %q", told)
	}
}

func TestAJobThatIsRemovedTakesNoDoubtWithIt(t *testing.T) {
	y := newYard(t, running("preempted", true), running("other", false))
	y.after(t, 0)
	y.after(t, 31*time.Second)
	if err := y.Delete(t.Context(), running("preempted", true)); err != nil {
		t.Fatal(err)
	}
	again := running("preempted", false)
	again.UID = "another"
	if err := y.Create(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	if got := y.after(t, time.Hour); !strings.Contains(got, "it was removed at") {
		t.Errorf("says %q", got)
	}
	y.status(t, "other", func(j *batchv1.Job) { j.Status.CompletionTime = ptr.To(metav1.NewTime(y.clock.Now().Add(time.Second))) })
	if got := y.after(t, time.Minute); got != "" {
		t.Errorf("when the controller acts again: %q", got)
	}
}

func TestAControllerThatStartsNothingIsNoticedBeforeAnythingHasToStop(t *testing.T) {
	y := newYard(t, running("old", false))
	fresh := running("fresh", false)
	fresh.Status = batchv1.JobStatus{}
	if err := y.Create(t.Context(), fresh); err != nil {
		t.Fatal(err)
	}
	y.after(t, 0)
	if got := y.after(t, 60*time.Second); got != "" {
		t.Errorf("in time: %q", got)
	}
	if got := y.after(t, time.Second); !strings.Contains(got, "the controller of Job.batch ns/fresh does not act") {
		t.Errorf("says %q", got)
	}
	y.status(t, "old", func(j *batchv1.Job) { j.Status.CompletionTime = ptr.To(metav1.NewTime(y.clock.Now())) })
	if got := y.after(t, time.Second); got != "" {
		t.Errorf("though it acts on another: %q", got)
	}
}

// evicted is a Workload that was evicted so long before noon and holds its quota, of the job of that name.
func evicted(name string, before time.Duration) *kueue.Workload {
	w := wl(name, func(w *kueue.Workload) {
		w.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "batch/v1", Kind: "Job", Name: name, UID: types.UID("uid-" + name), Controller: ptr.To(true),
		}}
		w.Spec.PodSets = []kueue.PodSet{{Name: "main", Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{TerminationGracePeriodSeconds: ptr.To[int64](20)}}}}
		meta.SetStatusCondition(&w.Status.Conditions, metav1.Condition{
			Type: kueue.WorkloadEvicted, Status: metav1.ConditionTrue, Reason: "Preempted", LastTransitionTime: metav1.NewTime(noon.Add(-before)),
		})
	})
	return w
}

func TestAWorkloadThatWasEvictedAndHoldsItsQuotaIsNoticed(t *testing.T) {
	owned := func(name string, change func(*batchv1.Job)) *batchv1.Job {
		j := running(name, false) // that it is to be suspended its API refuses
		change(j)
		return j
	}
	for _, c := range []struct {
		name string
		wl   *kueue.Workload
		job  *batchv1.Job
		want bool
	}{
		{"within grace and slack", evicted("a", 80*time.Second), owned("a", func(*batchv1.Job) {}), false},
		{"longer, at once", evicted("a", 81*time.Second), owned("a", func(*batchv1.Job) {}), true},
		{"its job runs elsewhere", evicted("a", time.Hour), owned("a", func(j *batchv1.Job) {
			j.Spec.ManagedBy = ptr.To(kueue.MultiKueueControllerName)
		}), false},
		{"its job is gone", evicted("a", time.Hour), owned("b", func(*batchv1.Job) {}), false},
		{"its job is another", evicted("a", time.Hour), owned("a", func(j *batchv1.Job) { j.UID = "another" }), false},
		{"it has given its quota back", func() *kueue.Workload {
			w := evicted("a", time.Hour)
			meta.RemoveStatusCondition(&w.Status.Conditions, kueue.WorkloadQuotaReserved)
			w.Status.Admission = nil
			return w
		}(), owned("a", func(*batchv1.Job) {}), false},
		{"it is being deleted", func() *kueue.Workload {
			w := evicted("a", time.Hour)
			meta.RemoveStatusCondition(&w.Status.Conditions, kueue.WorkloadEvicted)
			w.DeletionTimestamp, w.Finalizers = ptr.To(metav1.NewTime(noon.Add(-81*time.Second))), []string{kueue.ResourceInUseFinalizer}
			return w
		}(), owned("a", func(*batchv1.Job) {}), true},
		{"it is admitted", wl("a"), owned("a", func(*batchv1.Job) {}), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			y := newYard(t, c.wl, c.job)
			if got := y.after(t, 0); (got != "") != c.want || c.want && !strings.Contains(got, "Job.batch ns/a was evicted and does not stop") {
				t.Errorf("says %q", got)
			}
		})
	}
}

func TestAFenceThatCannotLookDoesNotSayThatAllIsWell(t *testing.T) {
	y := newYard(t, running("preempted", true))
	y.failing = errors.New("out of order")
	p := newPresence(t, "me", nil)
	p.Guarantee = y.lookout.observe
	if err := p.renew(t.Context()); err == nil || len(p.writes) > 0 {
		t.Errorf("%v, %d writes", err, len(p.writes))
	}
}

func TestTheLeaseSaysWhyTheFenceCannotPromise(t *testing.T) {
	first, second := newYard(t, running("preempted", true)), newYard(t)
	p := newPresence(t, "first", nil)
	says := func(y *yard, after time.Duration) map[string]string {
		t.Helper()
		y.clock.Step(after)
		p.Guarantee = y.lookout.observe
		if err := p.renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		lease := &coordinationv1.Lease{}
		if err := p.Live.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: switchyard.FenceLease}, lease); err != nil {
			t.Fatal(err)
		}
		return lease.Annotations
	}
	says(first, 0)
	if got := says(first, 31*time.Second); !strings.Contains(got[switchyard.CannotStopAnnotation], "ns/preempted") || got[switchyard.StopsWithinAnnotation] != "876000h0m0s" {
		t.Errorf("says %v", got)
	}
	p = newPresence(t, "second", p.Client) // another program leads
	if got := says(second, 0); !strings.Contains(got[switchyard.CannotStopAnnotation], "ns/preempted") {
		t.Errorf("one that has just begun says %v", got)
	}
	if got := says(second, 90*time.Second); got[switchyard.CannotStopAnnotation] != "" || got[switchyard.StopsWithinAnnotation] != "10s" {
		t.Errorf("says %v in the end", got)
	}
}
