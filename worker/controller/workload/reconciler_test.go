package workload

import (
	"context"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/workload"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// testEnv is one Workload in a world with an API server.
type testEnv struct {
	*Reconciler
	events *events.FakeRecorder
	writes int
}

func newTestEnv(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) *testEnv {
	t.Helper()
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, kueue.AddToScheme} {
		if err := add(known); err != nil {
			t.Fatal(err)
		}
	}
	s := &testEnv{events: events.NewFakeRecorder(20)}
	if funcs.SubResourcePatch == nil {
		funcs.SubResourcePatch = func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			s.writes++
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		}
	}
	funcs.Patch = func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
		s.writes++
		return c.Patch(ctx, o, p, opts...)
	}
	c := fake.NewClientBuilder().WithScheme(known).WithObjects(objects...).
		WithStatusSubresource(&kueue.Workload{}).WithInterceptorFuncs(funcs).Build()
	s.Reconciler = &Reconciler{
		Client: c, APIReader: c, Recorder: s.events, Clock: testclock.NewFakePassiveClock(noon),
		Handles: func(*metav1.OwnerReference) bool { return false },
	}
	return s
}

func (s *testEnv) reconcile(t *testing.T) ctrl.Result {
	t.Helper()
	result, err := s.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "wl"}})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func (s *testEnv) getWorkload(t *testing.T) *kueue.Workload {
	t.Helper()
	wl := &kueue.Workload{}
	if err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "wl"}, wl); err != nil {
		t.Fatal(err)
	}
	return wl
}

func (s *testEnv) recordedEvents() []string {
	var told []string
	for len(s.events.Events) > 0 {
		told = append(told, <-s.events.Events)
	}
	return told
}

// newAdmittedWorkload is a Workload that runs, owned by a Job.
func newAdmittedWorkload() *kueue.Workload {
	wl := &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "wl", UID: "u", Finalizers: []string{kueue.ResourceInUseFinalizer},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: "j", Controller: ptr.To(true)}},
		},
		Spec: kueue.WorkloadSpec{QueueName: "lq"},
	}
	workload.ReserveQuota(wl, &kueue.Admission{ClusterQueue: "cq"}, nil, "reserved", noon.Add(-time.Minute))
	return wl
}

func testQueues(change func(*kueue.LocalQueue, *kueue.ClusterQueue)) []client.Object {
	lq := &kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lq"}, Spec: kueue.LocalQueueSpec{ClusterQueue: "cq"}}
	cq := &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: "cq"}}
	change(lq, cq)
	return []client.Object{lq, cq}
}

func openQueues(*kueue.LocalQueue, *kueue.ClusterQueue) {}

func TestAnAdmittedWorkloadCostsNoWrite(t *testing.T) {
	s := newTestEnv(t, interceptor.Funcs{}, append(testQueues(openQueues), newAdmittedWorkload())...)
	s.reconcile(t)
	if told := s.recordedEvents(); s.writes != 0 || len(told) > 0 {
		t.Errorf("%d writes, told %q", s.writes, told)
	}
}

func TestADrainingQueueEvictsInOneWriteAndThenSaysSo(t *testing.T) {
	drain := func(_ *kueue.LocalQueue, cq *kueue.ClusterQueue) { cq.Spec.StopPolicy = kueue.HoldAndDrain }
	s := newTestEnv(t, interceptor.Funcs{}, append(testQueues(drain), newAdmittedWorkload())...)
	s.reconcile(t)
	wl := s.getWorkload(t)
	if !workload.IsEvicted(wl) || !workload.HasQuota(wl) || s.writes != 1 {
		t.Errorf("evicted %v, has quota %v, %d writes", workload.IsEvicted(wl), workload.HasQuota(wl), s.writes)
	}
	if told := s.recordedEvents(); len(told) != 1 || !strings.Contains(told[0], "EvictedDueToClusterQueueStopped") {
		t.Errorf("told %q", told)
	}
}

func TestAWriteOnAnOldStateChangesNothingAndRecordsNoEvent(t *testing.T) {
	drain := func(lq *kueue.LocalQueue, _ *kueue.ClusterQueue) { lq.Spec.StopPolicy = kueue.HoldAndDrain }
	conflict := apierrors.NewConflict(kueue.Resource("workloads"), "wl", nil)
	s := newTestEnv(t, interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return conflict
		},
	}, append(testQueues(drain), newAdmittedWorkload())...)
	if result := s.reconcile(t); !result.IsZero() {
		t.Errorf("asks to look again: %+v", result)
	}
	if told := s.recordedEvents(); len(told) > 0 || workload.IsEvicted(s.getWorkload(t)) {
		t.Errorf("told %q", told)
	}
}

func TestARequestToDeactivateIsCarriedOutInTwoSteps(t *testing.T) {
	wl := newAdmittedWorkload()
	meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{
		Type: kueue.WorkloadDeactivationTarget, Status: metav1.ConditionTrue, Reason: "EvictedOnManagerCluster", Message: "gone",
	})
	s := newTestEnv(t, interceptor.Funcs{}, append(testQueues(openQueues), wl)...)
	s.reconcile(t)
	if got := s.getWorkload(t); workload.IsActive(got) || workload.IsEvicted(got) {
		t.Fatalf("first step: active %v, evicted %v", workload.IsActive(got), workload.IsEvicted(got))
	}
	s.reconcile(t)
	got := s.getWorkload(t)
	evicted := meta.FindStatusCondition(got.Status.Conditions, kueue.WorkloadEvicted)
	if evicted == nil || evicted.Reason != "DeactivatedDueToEvictedOnManagerCluster" || s.writes != 2 {
		t.Errorf("evicted %+v, %d writes", evicted, s.writes)
	}
}

func TestAnEvictedWorkloadIsRequeuedAtTheEndOfItsBackoff(t *testing.T) {
	wl := newAdmittedWorkload()
	wl.OwnerReferences = nil
	workload.Evict(wl, lifecycle.Eviction{Reason: lifecycle.EvictedByAdmissionCheck, RequeueAt: noon.Add(time.Minute)}, noon)
	s := newTestEnv(t, interceptor.Funcs{}, append(testQueues(openQueues), wl)...)
	if result := s.reconcile(t); result.RequeueAfter != time.Minute {
		t.Errorf("looks again after %v", result.RequeueAfter)
	}
	if got := s.getWorkload(t); workload.HasQuota(got) {
		t.Error("a workload without owner keeps its quota")
	}
}

func TestTheFinalizerGoesWithTheOwnerAndNotBefore(t *testing.T) {
	job := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}, ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job"}}
	for _, c := range []struct {
		name string
		job  client.Object
		uid  string
		want bool
	}{
		{"the job is there", job, "j", true},
		{"another job has its name", job, "k", false},
		{"there is none", nil, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			wl := newAdmittedWorkload()
			now := metav1.NewTime(noon)
			wl.DeletionTimestamp = &now
			s := newTestEnv(t, interceptor.Funcs{
				Get: func(ctx context.Context, inner client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					partial, isOwner := o.(*metav1.PartialObjectMetadata)
					switch {
					case !isOwner:
						return inner.Get(ctx, key, o, opts...)
					case c.job == nil:
						return apierrors.NewNotFound(kueue.Resource("jobs"), key.Name)
					}
					partial.Name, partial.UID = key.Name, "j"
					if c.uid != "j" {
						partial.UID = "k"
					}
					return nil
				},
			}, append(testQueues(openQueues), wl)...)
			s.reconcile(t)
			left := &kueue.Workload{}
			err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "wl"}, left)
			if got := err == nil; got != c.want {
				t.Errorf("workload is there: %v, error %v", got, err)
			}
		})
	}
}

// A program that plays the owner of a Workload without one gives its quota back itself, and reserves before there is such a
// queue. Only what is not done for some seconds is done here.
func TestOwnersHaveAGracePeriod(t *testing.T) {
	unowned := func(change func(*kueue.Workload)) *kueue.Workload {
		wl := newAdmittedWorkload()
		wl.OwnerReferences = nil
		change(wl)
		return wl
	}
	byHand := func(wl *kueue.Workload) {
		wl.Status = kueue.WorkloadStatus{}
		workload.ReserveQuota(wl, &kueue.Admission{ClusterQueue: "cq"}, []string{"check"}, "reserved by hand", noon)
	}
	evict := func(wl *kueue.Workload) { workload.Evict(wl, lifecycle.Eviction{Reason: "Preempted"}, noon) }
	for name, row := range map[string]struct {
		wl     *kueue.Workload
		queues []client.Object
		leaves bool
		atOnce bool
	}{
		"evicted without owner":                 {wl: unowned(evict), queues: testQueues(openQueues), leaves: true},
		"evicted with an owner":                 {wl: func() *kueue.Workload { wl := newAdmittedWorkload(); evict(wl); return wl }(), queues: testQueues(openQueues)},
		"a hub's copy that no job has taken up": {wl: unowned(func(wl *kueue.Workload) { evict(wl); wl.Labels = map[string]string{kueue.MultiKueueOriginLabel: "hub"} }), queues: testQueues(openQueues), leaves: true, atOnce: true},
		"reserved in a queue that is not there": {wl: unowned(byHand), leaves: true},
		"reserved without a LocalQueue": {wl: unowned(byHand), queues: testQueues(func(_ *kueue.LocalQueue, cq *kueue.ClusterQueue) {
			cq.Spec.AdmissionChecksStrategy = &kueue.AdmissionChecksStrategy{AdmissionChecks: []kueue.AdmissionCheckStrategyRule{{Name: "check"}}}
		})[1:], leaves: true},
		"reserved in a queue on hold": {wl: unowned(byHand), queues: testQueues(func(_ *kueue.LocalQueue, cq *kueue.ClusterQueue) {
			cq.Spec.StopPolicy = kueue.Hold
		}), leaves: true, atOnce: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestEnv(t, interceptor.Funcs{}, append(row.queues, row.wl)...)
			clock := testclock.NewFakeClock(noon)
			s.Clock = clock
			s.Policy.OwnerGracePeriod = 5 * time.Second
			s.reconcile(t)
			woken := s.reconcile(t).RequeueAfter
			if left := s.getWorkload(t).Status.Admission == nil; left != row.atOnce {
				t.Errorf("it gave its quota back at once: %v", left)
			}
			if waits := row.leaves && !row.atOnce; waits != (woken > 0 && woken <= 5*time.Second) {
				t.Errorf("looks again after %s", woken)
			}
			clock.Step(5 * time.Second)
			for range 3 {
				s.reconcile(t)
				clock.Step(5 * time.Second)
			}
			if left := s.getWorkload(t).Status.Admission == nil; left != row.leaves {
				t.Errorf("it gave its quota back in the end: %v", left)
			}
		})
	}
}

// An owner that acts within its time is not disturbed: what it has written stays.
func TestAManualReleaseIsKept(t *testing.T) {
	wl := newAdmittedWorkload()
	wl.OwnerReferences = nil
	workload.Evict(wl, lifecycle.Eviction{Reason: "Preempted"}, noon)
	s := newTestEnv(t, interceptor.Funcs{}, append(testQueues(openQueues), wl)...)
	s.Policy.OwnerGracePeriod = 5 * time.Second
	s.reconcile(t)
	released := s.getWorkload(t)
	released.Status.Admission = nil
	meta.SetStatusCondition(&released.Status.Conditions, metav1.Condition{
		Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionFalse, Reason: "ByHand", Message: "by hand",
	})
	meta.SetStatusCondition(&released.Status.Conditions, metav1.Condition{
		Type: kueue.WorkloadAdmitted, Status: metav1.ConditionFalse, Reason: "NoReservation", Message: "The workload has no reservation",
	})
	if err := s.Client.Status().Update(t.Context(), released); err != nil {
		t.Fatal(err)
	}
	s.Clock = testclock.NewFakePassiveClock(noon.Add(time.Hour))
	s.writes = 0
	s.reconcile(t)
	if c := meta.FindStatusCondition(s.getWorkload(t).Status.Conditions, kueue.WorkloadQuotaReserved); s.writes > 0 || c.Reason != "ByHand" {
		t.Errorf("%d writes, %+v", s.writes, c)
	}
}
