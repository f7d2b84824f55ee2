package podgroup_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// podSets writes what a Workload asks for, such as "a=2 b=1".
func podSets(wl *kueue.Workload) string {
	var sets []string
	for i := range wl.Spec.PodSets {
		sets = append(sets, fmt.Sprintf("%s=%d", wl.Spec.PodSets[i].Name, wl.Spec.PodSets[i].Count))
	}
	return strings.Join(sets, " ")
}

func owners(wl *kueue.Workload) string {
	var names []string
	for _, ref := range wl.OwnerReferences {
		if ref.Controller != nil {
			names = append(names, "controller")
		}
		names = append(names, ref.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func TestAGroupOfTwoRolesRunsThrough(t *testing.T) {
	c := newCluster(t, member("a1", 3), member("b2", 3))
	c.wantWrites()
	c.wantWrites()
	c.wantEvents(kueue.EventErrWorkloadCompose)
	c.create(member("a3", 3))
	c.wantWrites("create Workload")
	wl := c.workload()
	if wl.Name != group || wl.Annotations[kueue.IsGroupWorkloadAnnotation] != "true" || podSets(wl) != "a=2 b=1" || owners(wl) != "a1 a3 b2" {
		t.Errorf("workload %s of %s asks for %s: %v", wl.Name, owners(wl), podSets(wl), wl.Annotations)
	}
	if wl.Labels[kueue.JobUIDLabel] != "" || !slices.Contains(wl.Finalizers, kueue.ResourceInUseFinalizer) {
		t.Errorf("labels %v, finalizers %v", wl.Labels, wl.Finalizers)
	}
	c.admit()
	c.wantWrites("patch Pod/a1", "patch Pod/a3", "patch Pod/b2")
	if pod := c.pod("b2"); pod.Labels[kueue.PodSetLabel] != "b" || pod.Spec.NodeSelector["color"] != "red" || isGated(pod) || pod.Annotations[kueue.WorkloadAnnotation] != group {
		t.Errorf("pod is %+v", pod)
	}
	c.phase(corev1.PodRunning, "a1", "a3", "b2")
	c.wantWrites("apply Workload//status")
	c.hasCondition(kueue.WorkloadPodsReady, "True Started")
	c.phase(corev1.PodSucceeded, "a1")
	c.wantWrites("apply Workload//status")
	if diff := cmp.Diff([]kueue.ReclaimablePod{{Name: "a", Count: 1}}, c.workload().Status.ReclaimablePods); diff != "" {
		t.Errorf("reclaimable pods (-want +got):\n%s", diff)
	}
	c.hasCondition(kueue.WorkloadPodsReady, "True Started")
	c.phase(corev1.PodSucceeded, "a3", "b2")
	c.wantWrites("apply Workload//status", "patch Workload", "patch Pod/a1", "patch Pod/a3", "patch Pod/b2")
	c.hasCondition(kueue.WorkloadFinished, "True Succeeded")
	if got := meta.FindStatusCondition(c.workload().Status.Conditions, kueue.WorkloadFinished).Message; got != "Pods succeeded: 3/3." {
		t.Errorf("message is %q", got)
	}
	c.wantEvents(kueue.EventCreatedWorkload, kueue.EventFinishedWorkload, kueue.EventStarted)
}

// started is a group of which all pods run.
func started(t *testing.T, pods ...client.Object) *cluster {
	t.Helper()
	c := newCluster(t, pods...)
	c.reconcileAll()
	c.admit()
	c.reconcileAll()
	for _, pod := range pods {
		c.phase(corev1.PodRunning, pod.GetName())
	}
	c.reconcileAll()
	c.events()
	return c
}

func TestAFailedPodIsReplaced(t *testing.T) {
	c := started(t, member("a1", 2), member("a2", 2))
	c.phase(corev1.PodFailed, "a1")
	c.wantWrites("apply Workload//status", "apply Workload//status")
	c.hasCondition(kueue.WorkloadWaitingForReplacementPods, "True PodsFailed")
	c.hasCondition(kueue.WorkloadPodsReady, "False WaitForRecovery")
	if slices.Contains(c.pod("a1").Finalizers, kueue.ManagedFinalizer) == false {
		t.Error("the failed pod was let go before it was replaced")
	}
	c.create(member("a3", 2))
	c.wantWrites("patch Pod/a1", "patch Workload", "patch Pod/a3", "apply Workload//status")
	c.hasCondition(kueue.WorkloadWaitingForReplacementPods, "False PodsReady")
	if got := owners(c.workload()); got != "a1 a2 a3" {
		t.Errorf("owners are %s", got)
	}
	c.delete("a1")
	c.phase(corev1.PodSucceeded, "a2", "a3")
	c.reconcileAll()
	c.hasCondition(kueue.WorkloadFinished, "True Succeeded")
	c.wantEvents(kueue.EventFinishedWorkload, kueue.EventOwnerReferencesAdded)
}

func TestAPodIsReplacedTwice(t *testing.T) {
	c := started(t, member("a1", 1))
	for i := 2; i < 4; i++ {
		c.phase(corev1.PodFailed, fmt.Sprintf("a%d", i-1))
		c.reconcileAll()
		c.hasCondition(kueue.WorkloadWaitingForReplacementPods, "True PodsFailed")
		c.create(member(fmt.Sprintf("a%d", i), 1))
		c.reconcileAll()
		if isGated(c.pod(fmt.Sprintf("a%d", i))) {
			t.Errorf("a%d waits", i)
		}
	}
	c.phase(corev1.PodSucceeded, "a3")
	c.reconcileAll()
	c.hasCondition(kueue.WorkloadFinished, "True Succeeded")
}

func TestPodsThatAreTooManyAreDeleted(t *testing.T) {
	c := newCluster(t, member("a1", 2), member("a2", 2), member("a3", 2))
	c.wantWrites("delete Pod/a3", "patch Pod/a3", "create Workload")
	c.wantEvents(kueue.EventCreatedWorkload, kueue.EventExcessPodDeleted)
	c.admit()
	c.reconcileAll()
	c.create(member("a4", 2))
	c.wantWrites("delete Pod/a4", "patch Pod/a4")
	if got := c.podNames(); got != "a1 a2" {
		t.Errorf("pods are %s", got)
	}
}

func TestADeletedPodThatNeverRanIsReplaced(t *testing.T) {
	c := newCluster(t, member("a1", 2), member("a2", 2))
	c.reconcileAll()
	c.delete("a1")
	c.wantWrites("apply Workload//status")
	c.hasCondition(kueue.WorkloadWaitingForReplacementPods, "True PodsFailed")
	c.create(member("a3", 2))
	c.wantWrites("patch Pod/a1", "patch Workload", "apply Workload//status")
	if got := c.podNames(); got != "a2 a3" {
		t.Errorf("pods are %s", got)
	}
}

func TestAPodOfAnotherRoleChangesAWorkloadThatHoldsNothing(t *testing.T) {
	c := newCluster(t, member("a1", 2), member("a2", 2))
	c.reconcileAll()
	c.delete("a1")
	c.create(member("b3", 2))
	c.reconcileAll()
	if got := podSets(c.workload()); got != "a=1 b=1" {
		t.Errorf("it asks for %s", got)
	}
	c.hasCondition(kueue.WorkloadWaitingForReplacementPods, "")
	if got := c.podNames(); got != "a2 b3" {
		t.Errorf("pods are %s", got)
	}
}

func TestAHubsGroupThatIsEvictedDoesNotQueueHereAgain(t *testing.T) {
	c := started(t, member("a1", 2), member("a2", 2))
	wl := c.workload()
	metav1.SetMetaDataLabel(&wl.ObjectMeta, kueue.MultiKueueOriginLabel, "hub")
	if err := c.Update(context.Background(), wl); err != nil {
		t.Fatal(err)
	}
	c.evict()
	c.reconcileAll()
	c.phase(corev1.PodFailed, "a1", "a2")
	c.reconcileAll()
	c.hasCondition(kueue.WorkloadQuotaReserved, "False PendingEvaluation")
	c.hasCondition(kueue.WorkloadRequeued, "False Preempted")
}

func TestAnEvictedGroupIsStoppedAndQueuesWithNewPods(t *testing.T) {
	c := started(t, member("a1", 2), member("a2", 2))
	c.evict()
	c.wantWrites("apply Pod/a1/status", "apply Pod/a2/status", "delete Pod/a1", "delete Pod/a2")
	if c.workload().Status.Admission == nil {
		t.Error("quota was released while pods terminate")
	}
	c.phase(corev1.PodSucceeded, "a1") // it was told to terminate, and did as it was told
	c.phase(corev1.PodFailed, "a2")
	c.wantWrites("apply Workload//status")
	c.hasCondition(kueue.WorkloadWaitingForReplacementPods, "True Preempted")
	c.hasCondition(kueue.WorkloadRequeued, "True Preempted")
	c.hasCondition(kueue.WorkloadPodsReady, "False WaitForStart")
	if c.workload().Status.Admission != nil {
		t.Error("quota is held")
	}
	c.create(member("a3", 2), member("a4", 2))
	c.wantWrites("patch Pod/a1", "patch Pod/a2", "patch Workload", "apply Workload//status")
	c.hasCondition(kueue.WorkloadWaitingForReplacementPods, "False PodsReady")
	c.admit()
	c.wantWrites("patch Pod/a3", "patch Pod/a4")
	c.wantEvents(kueue.EventOwnerReferencesAdded, kueue.EventStarted, kueue.EventStopped, kueue.EventStopped)
}

func TestAnUnretriableGroupEndsWithItsPods(t *testing.T) {
	c := started(t, member("a1", 2, annotated(kueue.RetriableInGroupAnnotation, "false")), member("a2", 2))
	c.phase(corev1.PodFailed, "a1")
	c.reconcileAll()
	c.hasCondition(kueue.WorkloadFinished, "")
	c.phase(corev1.PodSucceeded, "a2")
	c.reconcileAll()
	c.hasCondition(kueue.WorkloadFinished, "True Succeeded")
	if got := meta.FindStatusCondition(c.workload().Status.Conditions, kueue.WorkloadFinished).Message; got != "Pods succeeded: 1/2." {
		t.Errorf("message is %q", got)
	}
}

func TestAServingGroupReplacesPodsAndNeverEnds(t *testing.T) {
	serving := annotated(kueue.PodGroupServingAnnotation, "true")
	c := started(t, member("a1", 1, serving))
	c.change("a1", func(pod *corev1.Pod) { pod.Labels[kueue.QueueNameLabel] = "other" })
	c.phase(corev1.PodSucceeded, "a1")
	c.reconcileAll()
	c.hasCondition(kueue.WorkloadFinished, "")
	if len(c.workload().Status.ReclaimablePods) > 0 || c.workload().Spec.QueueName != "main" {
		t.Errorf("queue %s, reclaimable %v", c.workload().Spec.QueueName, c.workload().Status.ReclaimablePods)
	}
	c.create(member("a2", 1, serving))
	c.reconcileAll()
	if isGated(c.pod("a2")) {
		t.Error("the successor waits")
	}
}

func TestWhoSaysThatAGroupIsReadyThatRunsElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		owner, want string
	}{
		"its pods, which show how their copies do": {"", "True Started"},
		"the dispatcher, if they show nothing":     {"apps/v1, Kind=StatefulSet", ""},
	} {
		t.Run(name, func(t *testing.T) {
			check := &kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: "mk"}, Spec: kueue.AdmissionCheckSpec{ControllerName: kueue.MultiKueueControllerName}}
			cl := newClusterWith(t, func(o *job.Options) { o.Dispatches = true }, check, member("a1", 2), member("a2", 2))
			cl.reconcileAll()
			wl := cl.workload()
			metav1.SetMetaDataAnnotation(&wl.ObjectMeta, kueue.JobOwnerGVKAnnotation, c.owner)
			if err := cl.Update(t.Context(), wl); err != nil {
				t.Fatal(err)
			}
			cl.admit()
			cl.apply(func(wl *kueue.Workload) {
				wl.Status.AdmissionChecks = []kueue.AdmissionCheckState{{Name: "mk", State: kueue.CheckStateReady, LastTransitionTime: metav1.Now()}}
			})
			cl.reconcileAll()
			for _, name := range []string{"a1", "a2"} {
				if !isGated(cl.pod(name)) {
					t.Errorf("%s runs here", name)
				}
			}
			cl.phase(corev1.PodRunning, "a1", "a2")
			cl.reconcileAll()
			cl.hasCondition(kueue.WorkloadPodsReady, c.want)
		})
	}
}

func TestAGroupIsAdmittedWithItsFirstPod(t *testing.T) {
	fast := annotated(kueue.PodGroupFastAdmissionAnnotation, "true")
	c := newCluster(t, member("a1", 3, fast))
	c.wantWrites("create Workload")
	if got := podSets(c.workload()); got != "a=3" {
		t.Errorf("it asks for %s", got)
	}
	c.admit()
	c.wantWrites("patch Pod/a1")
	c.create(member("a2", 3, fast))
	c.wantWrites("patch Workload", "patch Pod/a2")
	c.hasCondition(kueue.WorkloadWaitingForReplacementPods, "")
	c.phase(corev1.PodRunning, "a1", "a2")
	c.wantWrites()
	c.hasCondition(kueue.WorkloadPodsReady, "")
	c.create(member("b4", 3, fast))
	c.reconcileAll()
	if got := c.podNames(); got != "a1 a2" {
		t.Errorf("pods are %s", got)
	}
}

func TestAGroupThatIsAdmittedAtOnceEndsIfItsOnlyPodsAreOfOtherRoles(t *testing.T) {
	fast := annotated(kueue.PodGroupFastAdmissionAnnotation, "true")
	c := newCluster(t, member("a1", 3, fast))
	c.reconcileAll()
	c.admit()
	c.create(member("b2", 3, fast))
	c.reconcileAll()
	c.hasCondition(kueue.WorkloadFinished, "True FailedToStart")
	if got := meta.FindStatusCondition(c.workload().Status.Conditions, kueue.WorkloadFinished).Message; got != "the workload has no pod set for pod b2, whose role is b" {
		t.Errorf("message is %q", got)
	}
}

func TestTheWorkloadOfAnotherIsNotTakenUp(t *testing.T) {
	foreign := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: group, UID: "foreign"}, Spec: kueue.WorkloadSpec{QueueName: "main"}}
	c := newCluster(t, foreign, member("a1", 1), member("a2", 1, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed }))
	c.wantWrites("patch Pod/a2")
	c.wantWrites()
	c.wantEvents(kueue.EventWorkloadNameConflict)
	if diff := cmp.Diff(foreign.Spec, c.workload().Spec); diff != "" || len(c.workload().OwnerReferences) > 0 {
		t.Errorf("it was changed (-want +got):\n%s", diff)
	}
	c.requireNoError(c.Delete(context.Background(), c.workload()))
	c.wantWrites("create Workload")
	c.wantEvents(kueue.EventCreatedWorkload)
}

func TestAWorkloadWithoutTheMarkIsTakenUpWhereTheGateAllowsIt(t *testing.T) {
	unmarked := newPrebuilt(func(wl *kueue.Workload) { wl.Name, wl.Spec.PodSets[0].Name = group, "a" })
	c := newClusterWith(t, func(o *job.Options) { o.Gates.ValidateGroupOwner = false }, unmarked, member("a1", 1))
	c.wantWrites("patch Workload")
	if got := owners(c.workload()); got != "a1" {
		t.Errorf("owners are %s", got)
	}
}

func TestAPrebuiltWorkloadOfAGroup(t *testing.T) {
	named := annotated(kueue.PrebuiltWorkloadNameKey, group)
	made := func(count int32) *kueue.Workload {
		return newPrebuilt(func(wl *kueue.Workload) {
			wl.Name, wl.Spec.PodSets[0].Name, wl.Spec.PodSets[0].Count = group, "a", count
			wl.Annotations = map[string]string{kueue.IsGroupWorkloadAnnotation: "true"}
		})
	}
	t.Run("is waited for, and owned by the pods", func(t *testing.T) {
		c := newCluster(t, member("a1", 2, named), member("a2", 2, named))
		c.wantWrites()
		c.create(made(2))
		c.wantWrites("patch Workload")
		if got := owners(c.workload()); got != "a1 a2" {
			t.Errorf("owners are %s", got)
		}
		c.admit()
		c.wantWrites("patch Pod/a1", "patch Pod/a2")
		c.phase(corev1.PodRunning, "a1", "a2")
		c.phase(corev1.PodFailed, "a1")
		c.create(member("a3", 2, named))
		c.reconcileAll()
		c.hasCondition(kueue.WorkloadWaitingForReplacementPods, "")
	})
	t.Run("lets no pod go that needs more than it asks for", func(t *testing.T) {
		c := newCluster(t, made(2), member("a1", 2, named), member("a2", 2, named, func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("64")}
		}))
		c.reconcileAll()
		c.admit()
		c.reconcileAll()
		c.hasCondition(kueue.WorkloadFinished, "True FailedToStart")
	})
	t.Run("but for what the namespace adds", func(t *testing.T) {
		small := resource.MustParse("64")
		c := newCluster(t, made(1), &corev1.LimitRange{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "defaults"},
			Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
				Type: corev1.LimitTypeContainer, DefaultRequest: corev1.ResourceList{corev1.ResourceMemory: small},
			}}},
		}, member("a1", 1, named, func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = p.Spec.Containers[0].Resources.Requests.DeepCopy()
			p.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = small
		}))
		c.wantWrites("patch Workload")
		c.admit()
		c.wantWrites("patch Pod/a1")
	})
	t.Run("may have room for more", func(t *testing.T) {
		c := newCluster(t, made(5), member("a1", 2, named))
		c.wantWrites("patch Workload")
	})
	t.Run("ends if it has too little", func(t *testing.T) {
		c := newCluster(t, made(1), member("a1", 2, named), member("a2", 2, named))
		c.reconcileAll()
		c.hasCondition(kueue.WorkloadFinished, "True OutOfSync")
	})
	t.Run("or none for a role", func(t *testing.T) {
		c := newCluster(t, made(2), member("b1", 1, named))
		c.reconcileAll()
		c.hasCondition(kueue.WorkloadFinished, "True OutOfSync")
	})
}

func TestAGroupIsDeletedWithItsWorkload(t *testing.T) {
	c := started(t, member("a1", 3), member("a2", 3), member("a3", 3))
	c.phase(corev1.PodFailed, "a2")
	c.create(member("a4", 3))
	c.requireNoError(c.Delete(context.Background(), c.workload()))
	c.reconcileAll()
	if got := c.podNames(); got != "" || len(c.workloads()) > 0 {
		t.Errorf("pods %q and %d workloads are left", got, len(c.workloads()))
	}
}

func TestTheWorkloadOfAGroupWithoutPodsIsLetGo(t *testing.T) {
	c := newCluster(t, member("a1", 1))
	c.reconcileAll()
	c.change("a1", func(pod *corev1.Pod) { pod.Finalizers = nil })
	c.delete("a1")
	c.wantWrites("patch Workload")
	if len(c.workload().Finalizers) > 0 {
		t.Error("the finalizer is left")
	}
}

func TestTheNextGroupOfANameWaitsForTheLastToGo(t *testing.T) {
	c := started(t, member("a1", 1))
	c.phase(corev1.PodSucceeded, "a1")
	c.reconcileAll()
	c.create(member("a2", 1))
	c.wantWrites()
	if pod := c.pod("a2"); !isGated(pod) || len(pod.Finalizers) == 0 {
		t.Error("the new pod was touched")
	}
	c.delete("a1")
	c.requireNoError(c.Delete(context.Background(), c.workload())) // by the garbage collector
	c.wantWrites("create Workload")
}

func TestAGroupStoppedForGoodIsDeletedAfterAWhile(t *testing.T) {
	keep := time.Minute
	c := newClusterWith(t, func(o *job.Options) { o.KeepDeactivated = &keep }, member("a1", 1))
	c.reconcileAll()
	no := false
	wl := c.workload()
	wl.Spec.Active = &no
	c.requireNoError(c.Update(context.Background(), wl))
	c.apply(func(wl *kueue.Workload) {
		meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{
			Type: kueue.WorkloadEvicted, Status: metav1.ConditionTrue, Reason: "DeactivatedDueToAdmissionCheck", LastTransitionTime: metav1.NewTime(c.clock.Now()),
		})
	})
	if wait := c.reconcileOnce().RequeueAfter; wait <= 0 || wait > keep {
		t.Errorf("looked at again in %s", wait)
	}
	c.clock.Step(2 * keep)
	c.events()
	c.wantWrites("delete Pod/a1", "patch Pod/a1", "patch Workload")
	c.wantEvents(kueue.EventDeleted)
}

// The role is what the pod says it is. What it needs is what it needs.
func TestAPodThatNeedsMoreThanItsRoleIsNotLetGo(t *testing.T) {
	greedy := func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("64")}
	}
	c := newCluster(t, member("a1", 2), member("a2", 2, greedy))
	c.reconcileAll()
	c.admit()
	c.reconcileAll()
	c.hasCondition(kueue.WorkloadFinished, "True FailedToStart")
	if !isGated(c.pod("a1")) || !isGated(c.pod("a2")) {
		t.Error("pods were let go")
	}
	c = started(t, member("a1", 1))
	c.phase(corev1.PodFailed, "a1")
	c.create(member("a2", 1, greedy))
	c.reconcileAll()
	if names := c.podNames(); names != "a1" {
		t.Errorf("pods are %s", names)
	}
}

func TestWhyAGroupHasNoWorkload(t *testing.T) {
	for name, tc := range map[string]struct {
		pods []client.Object
		want string
	}{
		"too few":                      {[]client.Object{member("a1", 2)}, "'train' group has fewer runnable pods than expected"},
		"different queues":             {[]client.Object{member("a1", 2), member("a2", 2, labelled(kueue.QueueNameLabel, "other"))}, "pods 'a1' and 'a2' has different queue names: main!=other"},
		"different labels":             {[]client.Object{member("a1", 2, labelled("team", "x")), member("a2", 2)}, "constructing workload: pods have different label values"},
		"a role that names no pod set": {[]client.Object{member("a1", 1, annotated(kueue.RoleHashAnnotation, "A_B"))}, `role "A_B" of pod a1 cannot be the name of a pod set`},
		"a time that is none":          {[]client.Object{member("a1", 1, labelled(kueue.MaxExecTimeSecondsLabel, "-1"))}, "should be greater than 0"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClusterWith(t, func(o *job.Options) { o.LabelKeysToCopy = []string{"team"} }, tc.pods...)
			c.wantWrites()
			select {
			case e := <-c.recorder.Events:
				if !strings.Contains(e, "Warning ErrWorkloadCompose") || !strings.Contains(e, tc.want) {
					t.Errorf("event is %q", e)
				}
			default:
				t.Error("nobody is told")
			}
		})
	}
}
