package podgroup_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/podgroup"
)

func newSingle(t *testing.T, pods ...client.Object) *cluster {
	t.Helper()
	c := newCluster(t, pods...)
	c.target = podgroup.Single(namespace, "p1")
	return c
}

func TestASinglePodThatRunsThroughCostsTwoWrites(t *testing.T) {
	c := newSingle(t, newPod("p1"))
	c.wantWrites("create Workload")
	wl := c.workload()
	if ref := metav1.GetControllerOf(wl); ref == nil || ref.Kind != "Pod" || ref.UID != "p1-uid" || len(wl.Name) != len("pod-p1-12345") {
		t.Errorf("workload %s of %+v", wl.Name, ref)
	}
	want := kueue.PodSet{Name: "main", Count: 1, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: newPod("p1").Spec.Containers}}}
	if diff := cmp.Diff([]kueue.PodSet{want}, wl.Spec.PodSets); diff != "" {
		t.Errorf("pod sets differ (-want +got):\n%s", diff)
	}
	c.admit()
	c.wantWrites("patch Pod/p1")
	pod := c.pod("p1")
	if isGated(pod) || pod.Spec.NodeSelector["color"] != "red" || len(pod.Spec.Tolerations) != 1 {
		t.Errorf("spec is %+v", pod.Spec)
	}
	wantLabels := map[string]string{
		kueue.QueueNameLabel: "main", kueue.ManagedLabel: "true", kueue.PodSetLabel: "main", kueue.ClusterQueueNameLabel: "cq", kueue.LocalQueueNameLabel: "main",
	}
	if diff := cmp.Diff(wantLabels, pod.Labels); diff != "" || pod.Annotations[kueue.WorkloadAnnotation] != wl.Name {
		t.Errorf("workload %q, labels differ (-want +got):\n%s", pod.Annotations[kueue.WorkloadAnnotation], diff)
	}
	c.phase(corev1.PodRunning, "p1")
	c.wantWrites("apply Workload//status")
	c.hasCondition(kueue.WorkloadPodsReady, "True Started")
	c.phase(corev1.PodSucceeded, "p1")
	c.wantWrites("apply Workload//status", "patch Workload", "patch Pod/p1")
	c.hasCondition(kueue.WorkloadFinished, "True Succeeded")
	if pod := c.pod("p1"); len(pod.Finalizers) > 0 || len(c.workload().Finalizers) > 0 {
		t.Error("finalizers are left")
	}
	c.wantEvents(kueue.EventCreatedWorkload, kueue.EventFinishedWorkload, kueue.EventStarted)
	if diff := cmp.Diff([]string{c.workload().Name + " " + kueue.AdmissionSchedulingGate}, c.ungated); diff != "" {
		t.Errorf("gates taken off (-want +got):\n%s", diff)
	}
}

func TestAnEvictedPodIsDeletedAndItsWorkloadNeverQueuesAgain(t *testing.T) {
	c := newSingle(t, newPod("p1"))
	c.reconcileAll()
	c.admit()
	c.reconcileAll()
	c.phase(corev1.PodRunning, "p1")
	c.reconcileAll()
	c.events()
	c.evict()
	c.wantWrites("apply Pod/p1/status", "delete Pod/p1")
	pod := c.pod("p1")
	told := pod.Status.Conditions[len(pod.Status.Conditions)-1]
	if pod.DeletionTimestamp == nil || told.Type != kueue.PodTerminationTarget || told.Status != corev1.ConditionTrue ||
		told.Reason != "WorkloadEvictedDueToPreempted" || told.Message != "made room" {
		t.Errorf("deleted at %v, condition %+v", pod.DeletionTimestamp, told)
	}
	if c.workload().Status.Admission == nil {
		t.Error("quota was released while the pod terminates")
	}
	c.phase(corev1.PodFailed, "p1")
	c.wantWrites("apply Workload//status", "apply Workload//status", "patch Workload", "patch Pod/p1")
	c.hasCondition(kueue.WorkloadQuotaReserved, "False PendingEvaluation")
	c.hasCondition(kueue.WorkloadRequeued, "False Preempted")
	c.hasCondition(kueue.WorkloadFinished, "True Failed")
	if names := c.podNames(); names != "" {
		t.Errorf("pods %s are left", names)
	}
	c.wantEvents(kueue.EventFinishedWorkload, kueue.EventStopped)
}

func TestAPodThatWasNotLetGoBeforeItsEvictionQueuesAgain(t *testing.T) {
	c := newSingle(t, newPod("p1"))
	c.reconcileAll()
	c.admit()
	c.evict()
	c.wantWrites("apply Workload//status")
	c.hasCondition(kueue.WorkloadRequeued, "True Preempted")
	if !isGated(c.pod("p1")) {
		t.Error("the pod was let go")
	}
}

func TestTheQuotaOfAPodWhoseNodeDoesNotAnswerIsReleasedAfterItsGrace(t *testing.T) {
	c := newSingle(t, newPod("p1"))
	c.reconcileAll()
	c.admit()
	c.reconcileAll()
	c.phase(corev1.PodRunning, "p1")
	c.evict()
	c.reconcileAll()
	if wait := c.reconcileOnce().RequeueAfter; wait <= 0 {
		t.Error("nobody looks at it again")
	}
	c.clock.Step(2 * time.Hour)
	c.wantWrites("apply Workload//status", "patch Pod/p1", "patch Workload")
	c.hasCondition(kueue.WorkloadRequeued, "False Preempted")
}

func TestTheFinalizersOfOthersStay(t *testing.T) {
	foreign := func(pod *corev1.Pod) { pod.Finalizers = append(pod.Finalizers, "example.com/keep") }
	c := newSingle(t, newPod("p1", foreign))
	c.reconcileAll()
	c.delete("p1")
	c.wantWrites("patch Pod/p1", "patch Workload")
	if diff := cmp.Diff([]string{"example.com/keep"}, c.pod("p1").Finalizers); diff != "" {
		t.Errorf("finalizers differ (-want +got):\n%s", diff)
	}
}

func TestTheWorkloadFollowsAPodThatWaits(t *testing.T) {
	c := newSingle(t, newPod("p1"), &kueue.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 9})
	c.reconcileAll()
	c.change("p1", func(pod *corev1.Pod) {
		pod.Labels[kueue.QueueNameLabel], pod.Labels[kueue.PriorityClassLabel] = "other", "high"
		pod.Spec.NodeSelector = map[string]string{"zone": "a"}
	})
	c.wantWrites("patch Workload")
	wl := c.workload()
	if wl.Spec.QueueName != "other" || *wl.Spec.Priority != 9 || wl.Spec.PodSets[0].Template.Spec.NodeSelector["zone"] != "a" {
		t.Errorf("spec is %+v", wl.Spec)
	}
}

func TestAPodWaitsForItsPriorityClass(t *testing.T) {
	c := newSingle(t, newPod("p1", labelled(kueue.PriorityClassLabel, "high")))
	c.wantWrites()
	c.wantWrites()
	c.wantEvents(kueue.EventWorkloadPriorityClassNotFound)
	c.create(&kueue.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 9})
	c.wantWrites("create Workload")
}

func TestAPodThatRunsWithoutARightIsStopped(t *testing.T) {
	c := newSingle(t, newPod("p1"))
	c.reconcileAll()
	c.events()
	c.change("p1", func(pod *corev1.Pod) { pod.Spec.SchedulingGates = nil }) // whoever may change pods can do that
	c.wantWrites("apply Pod/p1/status", "delete Pod/p1", "patch Pod/p1", "patch Workload", "apply Workload//status")
	c.hasCondition(kueue.WorkloadFinished, "True OwnerNotFound")
	c.wantEvents(kueue.EventStopped)
}

func TestThePodGoesWithAWorkloadThatIsDeleted(t *testing.T) {
	c := newSingle(t, newPod("p1"))
	c.reconcileAll()
	c.admit()
	c.reconcileAll()
	c.phase(corev1.PodRunning, "p1")
	c.reconcileAll()
	c.requireNoError(c.Delete(context.Background(), c.workload()))
	c.wantWrites("apply Pod/p1/status", "delete Pod/p1", "patch Pod/p1", "patch Workload")
	if names := c.podNames(); names != "" || len(c.workloads()) > 0 {
		t.Errorf("pods %q and %d workloads are left", names, len(c.workloads()))
	}
}

func TestAWorkloadWhosePodIsGoneIsFinishedAndLetGo(t *testing.T) {
	c := newSingle(t, newPod("p1", func(pod *corev1.Pod) { pod.Finalizers = nil }))
	c.reconcileAll()
	c.admit()
	c.delete("p1")
	c.wantWrites("apply Workload//status", "patch Workload")
	c.hasCondition(kueue.WorkloadFinished, "True OwnerNotFound")
	c.create(newPod("p1", func(pod *corev1.Pod) { pod.UID = "p1-again" }))
	c.wantWrites("create Workload")
}

// A pod whose mark was taken off is out of sight and may still run.
func TestAPodOutOfSightKeepsItsQuota(t *testing.T) {
	c := newSingle(t, newPod("p1"))
	c.reconcileAll()
	c.admit()
	c.reconcileAll()
	c.change("p1", func(pod *corev1.Pod) { delete(pod.Labels, kueue.ManagedLabel) })
	c.wantWrites()
	if c.workload().Status.Admission == nil {
		t.Error("quota was released")
	}
}

func TestPodsThatAreNotServedAreLeftAlone(t *testing.T) {
	for name, pod := range map[string]*corev1.Pod{
		"without the mark": newPod("p1", func(pod *corev1.Pod) { delete(pod.Labels, kueue.ManagedLabel) }),
		"without a parent": newPod("p1"),
	} {
		c := newClusterWith(t, func(o *job.Options) { o.PodsOfOthersOnly = true }, pod)
		c.target = podgroup.Single(namespace, "p1")
		if writes := c.reconcileAll(); len(writes) > 0 {
			t.Errorf("%s: %v", name, writes)
		}
	}
	c := newClusterWith(t, func(o *job.Options) { o.PodsOfOthersOnly = true }, newPod("p1", annotated(kueue.PodSuspendingParentAnnotation, "deployment")))
	c.target = podgroup.Single(namespace, "p1")
	c.wantWrites("create Workload")
}

func TestAPodThatJoinsAGroupLeavesItsWorkload(t *testing.T) {
	c := newSingle(t, newPod("p1"))
	c.reconcileAll()
	c.change("p1", func(pod *corev1.Pod) {
		pod.Annotations[kueue.PodGroupNameKey], pod.Annotations[kueue.PodGroupTotalCountAnnotation] = group, "1"
	})
	c.wantWrites("patch Workload", "delete Workload")
	c.target = podgroup.Group(namespace, group)
	c.wantWrites("create Workload")
}

func newPrebuilt(change ...func(*kueue.Workload)) *kueue.Workload {
	wl := &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "made", UID: "made-uid"},
		Spec: kueue.WorkloadSpec{QueueName: "main", PodSets: []kueue.PodSet{
			{Name: "main", Count: 1, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: newPod("p1").Spec.Containers}}},
		}},
	}
	for _, apply := range change {
		apply(wl)
	}
	return wl
}

func TestAPodTakesUpAPrebuiltWorkload(t *testing.T) {
	named := newPod("p1", annotated(kueue.PrebuiltWorkloadNameKey, "made"))
	c := newSingle(t, named)
	c.wantWrites()
	c.wantEvents(kueue.EventErrWorkloadCompose)
	c.create(newPrebuilt())
	c.wantWrites("patch Workload")
	if !metav1.IsControlledBy(c.workload(), named) {
		t.Error("the pod does not control it")
	}
	c.admit()
	c.wantWrites("patch Pod/p1")
}

func TestAPrebuiltWorkloadMustAskForThePod(t *testing.T) {
	yes := true
	for name, tc := range map[string]struct {
		change func(*kueue.Workload)
		writes []string
		ends   bool
	}{
		"for less":      {func(wl *kueue.Workload) { wl.Spec.PodSets[0].Template.Spec.Containers[0].Resources.Requests = nil }, []string{"apply Workload//status", "patch Workload"}, true},
		"for more pods": {func(wl *kueue.Workload) { wl.Spec.PodSets[0].Count = 2 }, []string{"apply Workload//status", "patch Workload"}, true},
		"for another": {func(wl *kueue.Workload) {
			wl.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "j", UID: "j", Controller: &yes}}
		}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			made := newPrebuilt(tc.change, func(wl *kueue.Workload) { wl.Finalizers = []string{kueue.ResourceInUseFinalizer} })
			c := newSingle(t, newPod("p1", annotated(kueue.PrebuiltWorkloadNameKey, "made")), made)
			c.wantWrites(tc.writes...)
			if tc.ends {
				c.hasCondition(kueue.WorkloadFinished, "True OutOfSync")
			}
			if !isGated(c.pod("p1")) {
				t.Error("the pod was let go")
			}
		})
	}
}

func TestAnAdmissionThatContradictsThePodEndsItsWorkload(t *testing.T) {
	c := newSingle(t, newPod("p1", func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{"color": "blue"} }))
	c.reconcileAll()
	c.admit()
	c.wantWrites("apply Workload//status", "patch Workload", "patch Pod/p1")
	c.hasCondition(kueue.WorkloadFinished, "True FailedToStart")
}

func TestAPodThatRunsElsewhereWaitsHere(t *testing.T) {
	c := newSingle(t, newPod("p1"), &kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: "mk"}, Spec: kueue.AdmissionCheckSpec{ControllerName: kueue.MultiKueueControllerName}})
	c.reconcileAll()
	c.admit()
	c.apply(func(wl *kueue.Workload) {
		wl.Status.AdmissionChecks = []kueue.AdmissionCheckState{{Name: "mk", State: kueue.CheckStateReady, LastTransitionTime: metav1.NewTime(c.clock.Now())}}
	})
	c.wantWrites()
}

func TestRequestsOfAWorkloadFindItsPods(t *testing.T) {
	c := newCluster(t, newPod("p1", annotated(kueue.PrebuiltWorkloadNameKey, "made")), member("a1", 2), member("a2", 2))
	_, _, requests := podgroup.NewReconciler(job.Options{Gates: job.DefaultGates()}, c, c, c, c.recorder)
	owned := func(kind string, controller bool) *kueue.Workload {
		return &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "w", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: kind, Name: "x", UID: types.UID("x"), Controller: &controller},
		}}}
	}
	named := func(name string) *kueue.Workload {
		return &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	for name, tc := range map[string]struct {
		wl   *kueue.Workload
		want string
	}{
		"of a pod":          {owned("Pod", true), "team/x"},
		"of a group":        {owned("Pod", false), "group/team/w"},
		"of something else": {owned("Other", true), ""},
		"of a group's name": {named(group), "group/team/train"},
		"that a pod names":  {named("made"), "team/p1"},
		"that nobody knows": {named("other"), ""},
	} {
		got := ""
		for _, r := range requests(context.Background(), tc.wl) {
			got += r.String()
		}
		if got != tc.want {
			t.Errorf("a Workload %s asks for %q, want %q", name, got, tc.want)
		}
	}
}
