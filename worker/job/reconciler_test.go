package job_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/workload"
)

func running(s *batchv1.JobStatus) {
	start := metav1.Now()
	s.StartTime, s.Active, s.Ready = &start, 2, ptr.To[int32](2)
	s.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionFalse}}
}

func stoppedPods(s *batchv1.JobStatus) {
	s.Active, s.Ready = 0, nil
	s.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue}}
}

func complete(s *batchv1.JobStatus) {
	s.Active, s.Ready, s.Succeeded = 0, nil, 2
	s.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, Message: "all done"}}
}

func TestAJobThatRunsThroughCostsSixWrites(t *testing.T) {
	c := newCluster(t, newJob(), newFlavor("h100"))
	c.wantWrites("create Workload")
	c.admit("h100")
	c.wantWrites("patch Job")
	j := c.job()
	if *j.Spec.Suspend {
		t.Error("the admitted job is suspended")
	}
	wantSelector := map[string]string{"arch": "arm64", "gpu": "h100"}
	if diff := cmp.Diff(wantSelector, j.Spec.Template.Spec.NodeSelector); diff != "" {
		t.Errorf("node selector differs (-want +got):\n%s", diff)
	}
	wantLabels := map[string]string{
		kueue.PodSetLabel: "main", kueue.ClusterQueueNameLabel: "cq", kueue.LocalQueueNameLabel: "main",
	}
	if diff := cmp.Diff(wantLabels, j.Spec.Template.Labels); diff != "" {
		t.Errorf("pod labels differ (-want +got):\n%s", diff)
	}
	c.changeJobStatus(running)
	c.wantWrites("apply Workload/status")
	c.hasCondition(kueue.WorkloadPodsReady, "True Started")
	c.changeJobStatus(complete)
	c.wantWrites("apply Workload/status", "patch Workload")
	c.hasCondition(kueue.WorkloadFinished, "True Succeeded")
	c.hasCondition(kueue.WorkloadPodsReady, "True Started")
	if wl := c.workload(); len(wl.Finalizers) > 0 {
		t.Errorf("finalizers left: %v", wl.Finalizers)
	}
	c.wantEvents(kueue.EventCreatedWorkload, kueue.EventStarted, kueue.EventFinishedWorkload)
}

func TestTheWorkloadSaysWhatTheJobAsksFor(t *testing.T) {
	j := newJob()
	j.Labels[kueue.MaxExecTimeSecondsLabel] = "60"
	j.Labels[kueue.PriorityClassLabel] = "high"
	j.Labels["team"] = "vision"
	j.Annotations[kueue.AdmissionGatedByAnnotation] = "budget,legal"
	j.Annotations[kueue.ProvReqAnnotationPrefix+"Zone"] = "a"
	j.Annotations["private"] = "yes"
	c := newClusterWith(t, func(o *options) { o.LabelKeysToCopy = []string{"team", "missing"} }, j,
		&kueue.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 9})
	c.wantWrites("create Workload")
	wl := c.workload()
	if wl.Name != "job-train-1b29a" {
		t.Errorf("name is %s", wl.Name)
	}
	if diff := cmp.Diff(map[string]string{"team": "vision", kueue.JobUIDLabel: "job-uid"}, wl.Labels); diff != "" {
		t.Errorf("labels differ (-want +got):\n%s", diff)
	}
	wantAnnotations := map[string]string{kueue.AdmissionGatedByAnnotation: "budget,legal", kueue.ProvReqAnnotationPrefix + "Zone": "a"}
	if diff := cmp.Diff(wantAnnotations, wl.Annotations); diff != "" {
		t.Errorf("annotations differ (-want +got):\n%s", diff)
	}
	if *wl.Spec.Priority != 9 || wl.Spec.PriorityClassRef.Name != "high" || *wl.Spec.MaximumExecutionTimeSeconds != 60 ||
		wl.Spec.QueueName != "main" || len(wl.Spec.PodSets) != 1 || wl.Spec.PodSets[0].Count != 2 {
		t.Errorf("spec is %+v", wl.Spec)
	}
	if ref := metav1.GetControllerOf(wl); ref == nil || ref.UID != "job-uid" || ref.Kind != "Job" {
		t.Errorf("owner is %+v", ref)
	}
	c.changeJob(func(j *batchv1.Job) {
		j.Annotations[kueue.AdmissionGatedByAnnotation] = "legal"
		j.Labels[kueue.QueueNameLabel] = "other"
	})
	c.wantWrites("patch Workload")
	if wl := c.workload(); wl.Spec.QueueName != "other" || wl.Annotations[kueue.AdmissionGatedByAnnotation] != "legal" {
		t.Errorf("queue %s, gates %s", wl.Spec.QueueName, wl.Annotations[kueue.AdmissionGatedByAnnotation])
	}
}

func TestAnEvictedJobStopsAndIsRestoredBeforeItsQuotaIsReleased(t *testing.T) {
	c := newCluster(t, newJob(), newFlavor("h100"))
	original := c.job().Spec
	c.reconcileAll()
	c.admit("h100")
	c.reconcileAll()
	c.changeJobStatus(running)
	c.reconcileAll()
	c.events()
	c.apply(func(wl *kueue.Workload) {
		workload.Evict(wl, lifecycle.Eviction{Reason: "Preempted", Message: "made room"}, c.clock.Now())
	})
	c.wantWrites("patch Job")
	if wl := c.workload(); wl.Status.Admission == nil {
		t.Error("quota was released while pods run")
	}
	c.changeJobStatus(stoppedPods)
	c.wantWrites("patch Job/status", "patch Job", "apply Workload/status")
	if diff := cmp.Diff(original, c.job().Spec); diff != "" {
		t.Errorf("the job was not restored (-want +got):\n%s", diff)
	}
	if wl := c.workload(); wl.Status.Admission != nil {
		t.Error("quota is still reserved")
	}
	c.hasCondition(kueue.WorkloadQuotaReserved, "False PendingEvaluation")
	c.hasCondition(kueue.WorkloadRequeued, "True Preempted")
	c.hasCondition(kueue.WorkloadPodsReady, "False WaitForStart")
	c.wantEvents(kueue.EventStopped)
	c.admit("h100")
	c.wantWrites("patch Job")
	c.wantEvents(kueue.EventStarted)
}

func TestAJobOnAnotherClusterIsResumedButNotPlaced(t *testing.T) {
	j := newJob()
	j.Spec.ManagedBy = ptr.To(kueue.MultiKueueControllerName)
	c := newCluster(t, j, newFlavor("h100"))
	template := c.job().Spec.Template
	c.reconcileAll()
	c.admit("h100")
	c.wantWrites("patch Job")
	if diff := cmp.Diff(template, c.job().Spec.Template); diff != "" {
		t.Errorf("the template was placed (-want +got):\n%s", diff)
	}
	c.apply(func(wl *kueue.Workload) { wl.Status.ClusterName = ptr.To("w1") })
	c.changeJobStatus(running)
	c.reconcileAll()
	c.apply(func(wl *kueue.Workload) {
		workload.Evict(wl, lifecycle.Eviction{Reason: "Preempted"}, c.clock.Now())
	})
	c.wantWrites("patch Job", "apply Workload/status")
	c.hasCondition(kueue.WorkloadPodsReady, "False WaitForRecovery")
	if c.workload().Status.Admission == nil {
		t.Error("quota was released before the other cluster's pods are gone")
	}
	c.changeJobStatus(func(s *batchv1.JobStatus) { s.Active, s.Ready = 0, nil })
	c.wantWrites("apply Workload/status")
	if c.workload().Status.Admission != nil {
		t.Error("quota is still reserved")
	}
}

func TestAJobOnALostClusterDoesNotWaitForPodsThatNobodySees(t *testing.T) {
	j := newJob()
	j.Spec.ManagedBy = ptr.To(kueue.MultiKueueControllerName)
	c := newCluster(t, j, newFlavor("h100"))
	c.reconcileAll()
	c.admit("h100")
	c.apply(func(wl *kueue.Workload) { wl.Status.ClusterName = ptr.To("w1") })
	c.changeJobStatus(running)
	c.reconcileAll()
	c.apply(func(wl *kueue.Workload) {
		workload.Evict(wl, lifecycle.Eviction{Reason: "AdmissionCheck"}, c.clock.Now())
	})
	c.reconcileAll()
	if c.workload().Status.Admission != nil {
		t.Error("quota is held for pods that nobody can see")
	}
}

func TestADeletedWorkloadStaysWhileAnotherClusterMayRunItsJob(t *testing.T) {
	j := newJob()
	j.Spec.ManagedBy = ptr.To(kueue.MultiKueueControllerName)
	c := newClusterWith(t, func(o *job.Options) { o.Dispatches = true }, j, newFlavor("h100"))
	c.reconcileAll()
	c.admit("h100")
	c.apply(func(wl *kueue.Workload) { wl.Status.ClusterName = ptr.To("w1") })
	c.reconcileAll()
	c.recordDebt(metav1.ConditionFalse)
	c.requireNoError(c.Delete(t.Context(), c.workload()))
	c.reconcileAll()
	c.isGoing("a cluster is bound")
	c.apply(func(wl *kueue.Workload) { wl.Status.ClusterName = nil })
	c.recordDebt(metav1.ConditionTrue)
	c.reconcileAll()
	c.isGoing("a cluster may still run the job")
	c.recordDebt(metav1.ConditionFalse)
	c.reconcileAll()
	if wl := c.workload(); !wl.DeletionTimestamp.IsZero() || wl.Status.Admission != nil {
		t.Errorf("the job has no new workload: %+v", wl)
	}
}

// recordDebt plays the dispatcher, which says whether clusters may still run the job.
func (c *cluster) recordDebt(owed metav1.ConditionStatus) {
	c.Helper()
	c.apply(func(wl *kueue.Workload) {
		meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{
			Type: switchyard.DispatchCondition, Status: owed, Reason: "Test", LastTransitionTime: metav1.NewTime(c.clock.Now()),
		})
	})
}

// isGoing checks that the Workload is being deleted and still there.
func (c *cluster) isGoing(because string) {
	c.Helper()
	if wl := c.workload(); wl.DeletionTimestamp.IsZero() {
		c.Errorf("replaced although %s", because)
	}
}

func prebuilt() *kueue.Workload {
	j := newJob()
	return &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{
			Name: "prebuilt", Namespace: namespace, UID: "wl-uid", Labels: map[string]string{kueue.MultiKueueOriginLabel: "hub"},
		},
		Spec: kueue.WorkloadSpec{
			QueueName: "main", Priority: ptr.To[int32](7),
			PodSets: []kueue.PodSet{{Name: "main", Count: 2, Template: j.Spec.Template}},
		},
	}
}

func TestAPrebuiltWorkloadIsAdoptedAndItsPodsMarked(t *testing.T) {
	j := newJob()
	j.Annotations[kueue.PrebuiltWorkloadNameKey] = "prebuilt"
	c := newCluster(t, j, prebuilt(), newFlavor("h100"))
	c.wantWrites("patch Workload")
	wl := c.workload()
	if ref := metav1.GetControllerOf(wl); ref == nil || ref.UID != "job-uid" || wl.Labels[kueue.JobUIDLabel] != "job-uid" {
		t.Errorf("owner %+v, labels %v", ref, wl.Labels)
	}
	if *wl.Spec.Priority != 7 || len(wl.Finalizers) > 0 {
		t.Errorf("priority %d, finalizers %v", *wl.Spec.Priority, wl.Finalizers)
	}
	c.admit("h100")
	c.wantWrites("patch Job")
	if labels := c.job().Spec.Template.Labels; labels[kueue.MultiKueueWorkerWorkloadPodLabel] != "true" {
		t.Errorf("pod labels %v", labels)
	}
	c.changeJobStatus(complete)
	c.wantWrites("apply Workload/status")
	c.hasCondition(kueue.WorkloadFinished, "True Succeeded")
}

func TestWithTheGateOffAPrebuiltWorkloadIsNamedByTheLabel(t *testing.T) {
	byLabel, byAnnotation := newJob(), newJob()
	byLabel.Labels[kueue.PrebuiltWorkloadNameKey] = "prebuilt"
	byAnnotation.Annotations[kueue.PrebuiltWorkloadNameKey] = "prebuilt"
	for name, c := range map[string]struct {
		job     *batchv1.Job
		adopted bool
	}{"label": {byLabel, true}, "annotation": {byAnnotation, false}} {
		cl := newClusterWith(t, func(o *job.Options) { o.Gates.WorkloadIdentifierAnnotations = false }, c.job, prebuilt(), newFlavor("h100"))
		cl.reconcileAll()
		owned := slices.ContainsFunc(cl.workloads(), func(wl kueue.Workload) bool { return wl.Name == "prebuilt" && len(wl.OwnerReferences) > 0 })
		if owned != c.adopted {
			t.Errorf("named by %s: adopted is %t", name, owned)
		}
	}
}

func TestAPrebuiltWorkloadOfAJobThatRunsElsewhereIsKeptUntilItHasEndedThere(t *testing.T) {
	for name, c := range map[string]struct {
		dispatches bool
		manager    *string
		kept       bool
	}{
		"a hub":                         {true, ptr.To(kueue.MultiKueueControllerName), true},
		"a job that runs on the hub":    {true, nil, false},
		"a hub whose dispatcher is off": {false, ptr.To(kueue.MultiKueueControllerName), false},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob()
			j.Annotations[kueue.PrebuiltWorkloadNameKey] = "prebuilt"
			j.Spec.ManagedBy = c.manager
			cl := newClusterWith(t, func(o *job.Options) { o.Dispatches = c.dispatches }, j, prebuilt(), newFlavor("h100"))
			cl.wantWrites("patch Workload")
			if got := len(cl.workload().Finalizers) > 0; got != c.kept {
				t.Errorf("finalizer: %v", got)
			}
		})
	}
}

func TestAPrebuiltWorkloadThatDiffersIsFinishedOutOfSync(t *testing.T) {
	j := newJob()
	j.Labels[kueue.PrebuiltWorkloadNameKey] = "prebuilt"
	other := prebuilt()
	other.Spec.PodSets[0].Count = 3
	c := newCluster(t, j, other)
	c.wantWrites("apply Workload/status")
	c.hasCondition(kueue.WorkloadFinished, "True OutOfSync")
	if message := c.workload().Status.Conditions[0].Message; message != "The prebuilt workload is out of sync with its user job" {
		t.Errorf("message is %q", message)
	}
}

func TestAPrebuiltWorkloadOfAnotherJobIsNeverTouched(t *testing.T) {
	j := newJob()
	j.Annotations[kueue.PrebuiltWorkloadNameKey] = "prebuilt"
	taken := prebuilt()
	taken.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "batch/v1", Kind: "Job", Name: "other", UID: "other-uid", Controller: ptr.To(true),
	}}
	c := newCluster(t, j, taken)
	c.wantWrites()
	c.wantEvents(kueue.EventErrWorkloadCompose)
}

func TestAJobStopsWhenItsPrebuiltWorkloadIsTakenAway(t *testing.T) {
	j := newJob()
	j.Annotations[kueue.PrebuiltWorkloadNameKey] = "prebuilt"
	c := newCluster(t, j, prebuilt(), newFlavor("h100"))
	c.reconcileAll()
	c.admit("h100")
	c.reconcileAll()
	c.requireNoError(c.Delete(context.Background(), c.workload()))
	c.wantWrites("patch Job")
	if !*c.job().Spec.Suspend {
		t.Error("the job runs without a workload")
	}
	if n := len(c.workloads()); n != 0 {
		t.Errorf("%d workloads", n)
	}
}

func TestADeletedJobFreesItsWorkload(t *testing.T) {
	c := newCluster(t, newJob())
	c.reconcileAll()
	c.requireNoError(c.Delete(context.Background(), c.workload()))
	c.requireNoError(c.Delete(context.Background(), c.job()))
	c.wantWrites("patch Workload")
	if n := len(c.workloads()); n != 0 {
		t.Errorf("%d workloads", n)
	}
}

func TestAWorkloadDeletedByHandIsReplacedOnceTheJobIsStopped(t *testing.T) {
	c := newCluster(t, newJob(), newFlavor("h100"))
	c.reconcileAll()
	c.admit("h100")
	c.reconcileAll()
	c.requireNoError(c.Delete(context.Background(), c.workload()))
	c.wantWrites("patch Job", "patch Job", "patch Workload", "create Workload")
	if wl := c.workload(); wl.Status.Admission != nil {
		t.Error("the new workload is admitted")
	}
	if !*c.job().Spec.Suspend {
		t.Error("the job runs")
	}
}

func TestAChangedJobWithoutQuotaUpdatesItsWorkload(t *testing.T) {
	c := newCluster(t, newJob())
	c.reconcileAll()
	c.changeJob(func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = ptr.To[int32](5), ptr.To[int32](5) })
	c.wantWrites("patch Workload")
	if n := c.workload().Spec.PodSets[0].Count; n != 5 {
		t.Errorf("count is %d", n)
	}
}

func TestAConflictingAdmissionEndsTheWorkload(t *testing.T) {
	j := newJob()
	j.Spec.Template.Spec.NodeSelector["gpu"] = "a100"
	c := newCluster(t, j, newFlavor("h100"))
	c.reconcileAll()
	c.admit("h100")
	c.wantWrites("apply Workload/status", "patch Workload")
	c.hasCondition(kueue.WorkloadFinished, "True FailedToStart")
	if !*c.job().Spec.Suspend {
		t.Error("the job runs")
	}
}

func TestAMissingPriorityClassIsToldToTheUser(t *testing.T) {
	j := newJob()
	j.Labels[kueue.PriorityClassLabel] = "missing"
	c := newCluster(t, j)
	c.wantWrites()
	c.wantEvents(kueue.EventWorkloadPriorityClassNotFound)
}

func TestAPriorityClassThatComesLaterIsNoticedAtOnce(t *testing.T) {
	named := newJob()
	named.Labels[kueue.PriorityClassLabel] = "late"
	ofPods := newJob()
	ofPods.Spec.Template.Spec.PriorityClassName = "late"
	here := []string{namespace + "/" + jobName}
	for name, row := range map[string]struct {
		job          *batchv1.Job
		class, other client.Object
		events       []string
	}{
		"a WorkloadPriorityClass": {
			named, &kueue.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "late"}, Value: 9},
			&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "late"}}, []string{kueue.EventWorkloadPriorityClassNotFound},
		},
		"a PriorityClass of pods": {
			ofPods, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "late"}, Value: 9},
			&kueue.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "late"}}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, row.job.DeepCopy())
			woken := func(class client.Object) []string {
				var names []string
				for _, request := range job.RequestsForClass[*batchv1.Job](c.reconciler, class) {
					names = append(names, request.String())
				}
				return names
			}
			c.wantWrites()
			c.wantEvents(row.events...)
			if got := woken(row.other); got != nil {
				t.Errorf("a class of the other kind wakes %q", got)
			}
			c.requireNoError(c.Create(context.Background(), row.class))
			if diff := cmp.Diff(here, woken(row.class)); diff != "" {
				t.Errorf("wakes (-want +got):\n%s", diff)
			}
			c.wantWrites("create Workload")
			if *c.workload().Spec.Priority != 9 || woken(row.class) != nil {
				t.Errorf("priority %d, and %q still wait", *c.workload().Spec.Priority, woken(row.class))
			}
		})
	}
}

// A job that is gone waits for nothing.
func TestWhoWaitsForAPriorityClass(t *testing.T) {
	j := newJob()
	j.Labels[kueue.PriorityClassLabel] = "late"
	class := &kueue.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "late"}, Value: 9}
	c := newCluster(t, j)
	c.reconcileOnce()
	c.requireNoError(c.Delete(context.Background(), c.job()))
	c.reconcileOnce()
	if left := job.RequestsForClass[*batchv1.Job](c.reconciler, class); len(left) > 0 {
		t.Errorf("%v wait", left)
	}
}

func TestAClassThatARunningJobIsGivenAndThatIsMissingIsTold(t *testing.T) {
	c := newCluster(t, newJob(), newFlavor("h100"))
	c.reconcileAll()
	c.admit("h100")
	c.reconcileAll()
	c.events()
	c.changeJob(func(j *batchv1.Job) { j.Labels[kueue.PriorityClassLabel] = "late" })
	c.wantWrites()
	c.wantEvents(kueue.EventWorkloadPriorityClassNotFound)
	c.requireNoError(c.Create(context.Background(), &kueue.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "late"}, Value: 9}))
	c.wantWrites("patch Workload")
	if got := *c.workload().Spec.Priority; got != 9 {
		t.Errorf("the priority is %d", got)
	}
}

func TestPodsThatAreLostAndComeBackAreReported(t *testing.T) {
	c := newCluster(t, newJob(), newFlavor("h100"))
	c.reconcileAll()
	c.admit("h100")
	c.reconcileAll()
	c.changeJobStatus(running)
	c.reconcileAll()
	c.changeJobStatus(func(s *batchv1.JobStatus) { s.Ready = ptr.To[int32](1) })
	c.wantWrites("apply Workload/status")
	c.hasCondition(kueue.WorkloadPodsReady, "False WaitForRecovery")
	c.changeJobStatus(func(s *batchv1.JobStatus) { s.Ready = ptr.To[int32](2) })
	c.wantWrites("apply Workload/status")
	c.hasCondition(kueue.WorkloadPodsReady, "True Recovered")
}

func TestReclaimablePodsOnlyGrow(t *testing.T) {
	c := newClusterWith(t, func(o *options) { o.WaitForPodsReady = false }, newJob(), newFlavor("h100"))
	c.reconcileAll()
	c.admit("h100")
	c.reconcileAll()
	c.changeJobStatus(func(s *batchv1.JobStatus) { s.Succeeded = 1 })
	c.wantWrites("apply Workload/status")
	want := []kueue.ReclaimablePod{{Name: "main", Count: 1}}
	if diff := cmp.Diff(want, c.workload().Status.ReclaimablePods); diff != "" {
		t.Errorf("reclaimable pods differ (-want +got):\n%s", diff)
	}
	c.changeJobStatus(func(s *batchv1.JobStatus) { s.Succeeded = 0 })
	c.wantWrites()
}

func TestOfSeveralWorkloadsTheOneWithQuotaStays(t *testing.T) {
	c := newCluster(t, newJob(), newFlavor("h100"))
	c.reconcileAll()
	c.admit("h100")
	c.reconcileAll()
	extra := c.workload()
	extra.ObjectMeta = metav1.ObjectMeta{
		Name: "an-extra-one", Namespace: namespace, UID: "extra", OwnerReferences: extra.OwnerReferences,
		Finalizers: []string{kueue.ResourceInUseFinalizer},
	}
	extra.Status = kueue.WorkloadStatus{}
	c.requireNoError(c.Create(context.Background(), extra))
	c.wantWrites("delete Workload", "patch Workload")
	if wl := c.workload(); wl.Name == "an-extra-one" || *c.job().Spec.Suspend {
		t.Errorf("%s was kept", wl.Name)
	}
}

func TestACacheThatIsBehindDoesNotMakeASecondWorkload(t *testing.T) {
	c := newCluster(t, newJob())
	c.reconcileAll()
	c.events()
	c.failingReads = true
	c.reconcileOnce()
	if n := len(c.workloads()); n != 1 {
		t.Errorf("%d workloads", n)
	}
	c.wantEvents()
}

func TestACacheThatIsBehindDoesNotStartAJobTwice(t *testing.T) {
	c := newCluster(t, newJob(), newFlavor("h100"))
	c.reconcileAll()
	c.admit("h100")
	c.stale = c.job()
	c.reconcileOnce()
	c.events()
	started := c.job().ResourceVersion
	c.wantWrites()
	c.restart() // A reconciler that does not remember its write meets a conflict.
	c.writes = nil
	if result := c.reconcileOnce(); result.RequeueAfter == 0 || len(c.writes) != 1 {
		t.Errorf("looks again after %v, tried %q", result.RequeueAfter, c.writes)
	}
	if c.job().ResourceVersion != started {
		t.Error("the job was written")
	}
	c.wantEvents()
}

func TestAFinishedWorkloadIsLetGoOnceHoweverLateTheCacheIs(t *testing.T) {
	c := newCluster(t, newJob(), newFlavor("h100"))
	c.reconcileAll()
	c.admit("h100")
	c.reconcileAll()
	c.changeJobStatus(complete)
	c.reconcileOnce() // Finished and let go
	late := c.workload()
	late.Finalizers, late.ResourceVersion = []string{kueue.ResourceInUseFinalizer}, "1"
	c.staleWorkload = late
	c.wantWrites()
	c.staleWorkload = nil
	c.wantWrites()
}

func TestWhatIsReportedIsReportedOnceHoweverLateTheCacheIs(t *testing.T) {
	c := newCluster(t, newJob(), newFlavor("h100"))
	c.reconcileAll()
	c.admit("h100")
	c.reconcileAll()
	c.staleWorkload = c.workload()
	c.changeJobStatus(running)
	c.reconcileOnce()
	c.hasCondition(kueue.WorkloadPodsReady, "True Started")
	c.wantWrites()
	c.clock.Step(time.Hour) // the cache is as late as ever: nobody waits for it for ever
	c.writes = nil
	c.reconcileOnce()
	if len(c.writes) != 1 {
		t.Errorf("wrote %q", c.writes)
	}
}
