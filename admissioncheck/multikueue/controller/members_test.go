package controller

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job/podgroup"
)

// newPods are a hub with pods that wait, and a reconciler of which nothing else is needed. The hub refuses statuses as said.
func newPods(t *testing.T, refused error, names ...string) (*WorkloadReconciler, *workloadScope) {
	t.Helper()
	s := &workloadScope{original: mirror.Original{
		Kind: podgroup.Mirrored(), Workload: &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "wl"}},
	}}
	builder := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, of string, obj client.Object, p client.Patch, o ...client.SubResourcePatchOption) error {
			if refused != nil {
				return refused
			}
			return c.SubResource(of).Patch(ctx, obj, p, o...)
		},
	})
	for _, name := range names {
		builder = builder.WithObjects(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID(name + "-uid")},
			Spec:       corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: kueue.AdmissionSchedulingGate}}},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning},
		})
		s.original.Workload.OwnerReferences = append(s.original.Workload.OwnerReferences, metav1.OwnerReference{
			APIVersion: "v1", Kind: "Pod", Name: name, UID: types.UID(name + "-uid"),
		})
	}
	hub := builder.Build()
	r := &WorkloadReconciler{tracker: newLockedTracker(time.Minute), Client: hub, Members: hub, APIReader: hub, Clock: clocktesting.NewFakePassiveClock(time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC))}
	var err error
	own, _ := hubworkload.LookupOwner(s.original.Workload)
	if s.original.Members, err = r.listMembers(t.Context(), s.original.Workload, own); err != nil {
		t.Fatal(err)
	}
	return r, s
}

func phaseOf(t *testing.T, r *WorkloadReconciler, name string) corev1.PodPhase {
	t.Helper()
	pod := &corev1.Pod{}
	if err := r.APIReader.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: name}, pod); err != nil {
		t.Fatal(err)
	}
	return pod.Status.Phase
}

func TestPodsOfWhichNothingIsLeftHaveFailed(t *testing.T) {
	r, s := newPods(t, nil, "a", "b")
	if err := r.endMembers(t.Context(), s, false, "nobody knows"); err != nil {
		t.Fatal(err)
	}
	if a, b := phaseOf(t, r, "a"), phaseOf(t, r, "b"); a != corev1.PodFailed || b != corev1.PodFailed {
		t.Errorf("they are %s and %s", a, b)
	}
}

func TestPodsThatRunNowhereShowThatTheyWait(t *testing.T) {
	r, s := newPods(t, nil, "a")
	if err := r.copyMembers(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if got := phaseOf(t, r, "a"); got != corev1.PodPending {
		t.Errorf("it is %s", got)
	}
}

// A worker may say what a hub's API server takes for nonsense. That must not keep the hub from stopping the pods.
func TestAStatusThatTheHubRefusesKeepsItFromNothing(t *testing.T) {
	kind := schema.GroupKind{Kind: "Pod"}
	r, s := newPods(t, apierrors.NewInvalid(kind, "a", nil), "a")
	if err := r.copyMembers(t.Context(), s); err != nil {
		t.Errorf("the reconciler fails: %v", err)
	}
	r, s = newPods(t, apierrors.NewInternalError(context.DeadlineExceeded), "a")
	if err := r.copyMembers(t.Context(), s); err == nil {
		t.Error("a failure of the hub is not told")
	}
}

func TestAWorkerWhosePodsChangeAllTheTimeCostsLittle(t *testing.T) {
	r, s := newPods(t, nil, "a", "b")
	writes := 0
	hub := r.Client
	r.Client = interceptor.NewClient(hub.(client.WithWatch), interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, of string, obj client.Object, p client.Patch, o ...client.SubResourcePatchOption) error {
			writes++
			return c.SubResource(of).Patch(ctx, obj, p, o...)
		},
	})
	noon := r.Clock.Now()
	show := func(at time.Duration, change func(*corev1.Pod)) {
		t.Helper()
		s.observed.Now, s.retryAt = noon.Add(at), time.Time{}
		r.Clock = clocktesting.NewFakePassiveClock(s.observed.Now)
		remote := map[types.UID]client.Object{}
		for _, name := range []string{"a", "b"} {
			pod := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}}
			change(pod)
			remote[types.UID(name+"-uid")] = pod
		}
		if err := r.showMembers(t.Context(), s, remote); err != nil {
			t.Fatal(err)
		}
	}
	restarted := func(times int32) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", RestartCount: times}}
		}
	}
	for i := range int32(30) { // a tenth of a second each
		show(time.Duration(i)*100*time.Millisecond, restarted(i))
	}
	if writes != 2 || !s.retryAt.Equal(noon.Add(statusCopyInterval)) {
		t.Errorf("two pods cost %d writes in %v, and are looked at again at %v", writes, statusCopyInterval, s.retryAt)
	}
	show(statusCopyInterval, restarted(30))
	if writes != 4 {
		t.Errorf("%d writes when it was due", writes)
	}
	show(statusCopyInterval+time.Second, func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	})
	show(statusCopyInterval+2*time.Second, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
	if writes != 8 || phaseOf(t, r, "a") != corev1.PodSucceeded {
		t.Errorf("that they are ready, and have ended, waits: %d writes", writes)
	}
}

func TestAPodWithAnotherUIDOrWithoutItsGateIsNoMember(t *testing.T) {
	r, s := newPods(t, nil, "a", "b")
	wl := s.original.Workload
	wl.OwnerReferences[0].UID = "another"
	pod := &corev1.Pod{}
	if err := r.APIReader.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "b"}, pod); err != nil {
		t.Fatal(err)
	}
	pod.Spec.SchedulingGates = nil
	if err := r.Client.Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	own, _ := hubworkload.LookupOwner(wl)
	members, err := r.listMembers(t.Context(), wl, own)
	if err != nil || len(members) > 0 {
		t.Errorf("members are %v, %v", members, err)
	}
}
