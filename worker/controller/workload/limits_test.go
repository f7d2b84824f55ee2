package workload

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"switchyard.dev/apis/config/features"
	configapi "switchyard.dev/apis/config/v1beta2"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/workload"
)

func TestTheControllerRequeuesAtTheFirstDeadline(t *testing.T) {
	wl := newAdmittedWorkload() // a minute ago
	wl.Spec.MaximumExecutionTimeSeconds = ptr.To[int32](90)
	s := newTestEnv(t, interceptor.Funcs{}, append(testQueues(openQueues), wl)...)
	s.Policy.PodsReady = &lifecycle.PodsReadyPolicy{Timeout: 10 * time.Minute}
	if result := s.reconcile(t); result.RequeueAfter != 30*time.Second || s.writes != 0 {
		t.Errorf("looks again after %v, %d writes", result.RequeueAfter, s.writes)
	}
}

func TestATimeLimitThatExpiredDuringDowntimeIsEnforced(t *testing.T) {
	wl := newAdmittedWorkload()
	wl.Spec.MaximumExecutionTimeSeconds = ptr.To[int32](45)
	s := newTestEnv(t, interceptor.Funcs{}, append(testQueues(openQueues), wl)...)
	s.reconcile(t)
	s.reconcile(t)
	if got := s.getWorkload(t); workload.IsActive(got) {
		t.Error("still active")
	}
	if told := s.recordedEvents(); len(told) != 1 || !strings.HasPrefix(told[0], "Warning MaximumExecutionTimeExceeded") {
		t.Errorf("told %q", told)
	}
	s.reconcile(t)
	if told := s.recordedEvents(); len(told) != 1 || !strings.Contains(told[0], "EvictedDueToDeactivatedDueToMaximumExecutionTimeExceeded") {
		t.Errorf("told %q", told)
	}
}

func TestPodsThatAreLateCostOneWrite(t *testing.T) {
	s := newTestEnv(t, interceptor.Funcs{}, append(testQueues(openQueues), newAdmittedWorkload())...)
	s.Policy.PodsReady = &lifecycle.PodsReadyPolicy{Timeout: time.Minute, BackoffBase: time.Minute, BackoffMax: time.Hour}
	s.reconcile(t)
	got := s.getWorkload(t)
	if s.writes != 1 || !workload.IsEvicted(got) || !workload.HasQuota(got) || ptr.Deref(got.Status.RequeueState.Count, 0) != 1 {
		t.Errorf("%d writes, status %+v", s.writes, got.Status)
	}
	if at := got.Status.RequeueState.RequeueAt.Time; at.Before(noon.Add(time.Minute)) || at.After(noon.Add(time.Minute+time.Second)) {
		t.Errorf("requeue at %v", at)
	}
}

func TestAFinishedWorkloadIsDeletedWhenItsRetentionIsOver(t *testing.T) {
	wl := newAdmittedWorkload()
	wl.Finalizers = nil
	workload.Finish(wl, kueue.ReasonSucceeded, "", noon.Add(-time.Minute))
	s := newTestEnv(t, interceptor.Funcs{}, append(testQueues(openQueues), wl)...)
	s.Policy.FinishedRetention = ptr.To(2 * time.Minute)
	if result := s.reconcile(t); result.RequeueAfter != time.Minute {
		t.Errorf("looks again after %v", result.RequeueAfter)
	}
	s.Policy.FinishedRetention = ptr.To(time.Minute)
	s.reconcile(t)
	if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(wl), wl); !apierrors.IsNotFound(err) {
		t.Errorf("still there: %v", err)
	}
	if told := s.recordedEvents(); len(told) != 1 || !strings.HasPrefix(told[0], "Normal Deleted") {
		t.Errorf("told %q", told)
	}
}

func TestAWorkloadWhoseForeignOwnerIsDeletedFinishesAndLosesItsFinalizer(t *testing.T) {
	reads := 0
	s := newTestEnv(t, interceptor.Funcs{
		Get: func(ctx context.Context, inner client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, isOwner := o.(*metav1.PartialObjectMetadata); isOwner {
				reads++
				return apierrors.NewNotFound(kueue.Resource("jobs"), key.Name)
			}
			return inner.Get(ctx, key, o, opts...)
		},
	}, append(testQueues(openQueues), newAdmittedWorkload())...)
	s.reconcile(t)
	if workload.IsFinished(s.getWorkload(t)) || reads != 0 {
		t.Errorf("with the gate off it has finished after %d reads", reads)
	}
	s.Policy.FinishOrphans = true
	s.reconcile(t)
	got := s.getWorkload(t)
	if c := got.Status.Conditions[len(got.Status.Conditions)-1]; c.Type != kueue.WorkloadFinished || c.Reason != "OwnerNotFound" {
		t.Errorf("last condition %+v", c)
	}
	s.reconcile(t)
	if got := s.getWorkload(t); len(got.Finalizers) > 0 {
		t.Error("it is guarded for ever")
	}
	before := reads
	s.reconcile(t)
	if reads != before {
		t.Error("asks again for what is known")
	}
}

// kubectl delete --cascade=orphan takes the owner off and leaves the label.
func TestAWorkloadWhoseJobIsDeletedFinishesAndLosesItsFinalizer(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(*kueue.Workload)
		off      bool
		finishes bool
	}{
		"an orphan":         {change: func(*kueue.Workload) {}, finishes: true},
		"with the gate off": {change: func(*kueue.Workload) {}, off: true},
		"a user's own":      {change: func(wl *kueue.Workload) { wl.Labels = nil }},
		"a copy from a hub": {change: func(wl *kueue.Workload) { wl.Labels[kueue.MultiKueueOriginLabel] = "hub" }},
		"one that others own": {change: func(wl *kueue.Workload) {
			wl.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "c", UID: "c"}}
		}},
		"one that queues still": {change: func(wl *kueue.Workload) { wl.Status = kueue.WorkloadStatus{} }, finishes: true},
	} {
		t.Run(name, func(t *testing.T) {
			wl := newAdmittedWorkload()
			wl.OwnerReferences, wl.Labels = nil, map[string]string{kueue.JobUIDLabel: "job-uid"}
			c.change(wl)
			s := newTestEnv(t, interceptor.Funcs{}, append(testQueues(openQueues), wl)...)
			s.Policy.FinishOrphans = !c.off
			s.reconcile(t)
			s.reconcile(t)
			got := s.getWorkload(t)
			finished := meta.FindStatusCondition(got.Status.Conditions, kueue.WorkloadFinished)
			if (finished != nil) != c.finishes {
				t.Fatalf("conditions %+v", got.Status.Conditions)
			}
			if c.finishes && (finished.Reason != string(kueue.ReasonOwnerNotFound) || len(got.Finalizers) > 0) {
				t.Errorf("%+v, finalizers %v", finished, got.Finalizers)
			}
		})
	}
}

func TestAPriorityFollowsTheValueOfItsClass(t *testing.T) {
	class := func(value int32) *kueue.WorkloadPriorityClass {
		return &kueue.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: value}
	}
	for _, c := range []struct {
		name   string
		change func(*kueue.Workload)
		want   int32
	}{
		{"of a running workload", func(*kueue.Workload) {}, 9},
		{"not of a copy from a hub", func(wl *kueue.Workload) { wl.Labels = map[string]string{kueue.MultiKueueOriginLabel: "hub"} }, 5},
		{"not of a pod priority class of that name", func(wl *kueue.Workload) {
			wl.Spec.PriorityClassRef.Group, wl.Spec.PriorityClassRef.Kind = kueue.PodPriorityClassGroup, kueue.PodPriorityClassKind
		}, 5},
		{"not of a class that is gone", func(wl *kueue.Workload) { wl.Spec.PriorityClassRef.Name = "gone" }, 5},
		{"not of a finished workload", func(wl *kueue.Workload) { workload.Finish(wl, "Succeeded", "", noon) }, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			wl := newAdmittedWorkload()
			wl.Spec.Priority = ptr.To[int32](5)
			wl.Spec.PriorityClassRef = &kueue.PriorityClassRef{Group: kueue.WorkloadPriorityClassGroup, Kind: kueue.WorkloadPriorityClassKind, Name: "high"}
			c.change(wl)
			s := newTestEnv(t, interceptor.Funcs{}, append(testQueues(openQueues), wl, class(9))...)
			s.reconcile(t)
			s.reconcile(t)
			if got := *s.getWorkload(t).Spec.Priority; got != c.want {
				t.Errorf("priority %d", got)
			}
		})
	}
	t.Run("when the value changes and not otherwise", func(t *testing.T) {
		other := class(1)
		other.Description = "other words"
		update := func(is *kueue.WorkloadPriorityClass) bool {
			return priorityValueChanged().Update(event.UpdateEvent{ObjectOld: class(1), ObjectNew: is})
		}
		if update(other) || !update(class(2)) {
			t.Error("looks at the wrong changes")
		}
	})
}

func TestThePolicyIsThatOfTheConfiguration(t *testing.T) {
	cfg := configapi.Default()
	gates := func(names map[string]bool) features.Set {
		set, err := features.New(names)
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	minute := &metav1.Duration{Duration: time.Minute}
	half := 30 * time.Minute
	want := lifecycle.Policy{FinishOrphans: true, OwnerGracePeriod: 5 * time.Second, PodsReady: &lifecycle.PodsReadyPolicy{
		Timeout: half, RecoveryTimeout: half, BackoffBase: time.Minute, BackoffMax: time.Hour,
	}}
	if diff := cmp.Diff(want, PolicyFor(cfg, gates(nil))); diff != "" {
		t.Errorf("without a file: -want +got:\n%s", diff)
	}
	if got := PolicyFor(cfg, gates(map[string]bool{"DisableWaitForPodsReady": true, "FinishOrphanedWorkloads": false})); got != (lifecycle.Policy{OwnerGracePeriod: 5 * time.Second}) {
		t.Errorf("with the gates: %+v", got)
	}
	cfg.WaitForPodsReady.Timeout = minute
	cfg.WaitForPodsReady.RequeuingStrategy.BackoffLimitCount = ptr.To[int32](3)
	cfg.ObjectRetentionPolicies = &configapi.ObjectRetentionPolicies{Workloads: &configapi.WorkloadRetentionPolicy{AfterFinished: minute}}
	got := PolicyFor(cfg, gates(nil))
	if got.PodsReady.Timeout != time.Minute || *got.PodsReady.RequeueLimit != 3 || *got.FinishedRetention != time.Minute || got.DeactivatedRetention != nil {
		t.Errorf("with a file: %+v", got)
	}
	cfg.WaitForPodsReady.Disabled = true
	if PolicyFor(cfg, gates(nil)).PodsReady != nil {
		t.Error("a v1beta1 file without the feature has it")
	}
}
