package job_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobsetv1 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/workload"
)

// deactivated evicts the Workload as the controller does when spec.active is false, for a cause or because a person said so.
func (c *cluster) deactivated(reason kueue.Reason) {
	c.Helper()
	wl := c.workload()
	wl.Spec.Active = ptr.To(false)
	c.requireNoError(c.Update(context.Background(), wl))
	c.apply(func(wl *kueue.Workload) {
		workload.Evict(wl, lifecycle.Eviction{Reason: admission.Reason(reason)}, c.clock.Now())
	})
	c.reconcileAll()
}

func keepMinute(o *options) { o.KeepDeactivated = ptr.To(time.Minute) }

func TestAJobThatTheSystemDeactivatedIsDeletedAfterItsRetention(t *testing.T) {
	c := newClusterWith(t, keepMinute, newJob(), newFlavor("h100"))
	c.reconcileAll()
	c.deactivated(kueue.DeactivatedDueTo(kueue.ReasonAdmissionCheck))
	c.clock.Step(20 * time.Second)
	if result := c.reconcileOnce(); result.RequeueAfter != 40*time.Second {
		t.Errorf("looks again after %v", result.RequeueAfter)
	}
	c.events()
	c.clock.Step(40 * time.Second)
	c.wantWrites("delete Job", "apply Workload/status", "patch Workload") // the last two are for a cluster without garbage collector
	c.wantEvents(kueue.EventDeleted, kueue.EventDeleted)                  // about the Workload and about the job
	if err := c.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: jobName}, &batchv1.Job{}); !apierrors.IsNotFound(err) {
		t.Errorf("the job is there: %v", err)
	}
}

func TestAJobThatAPersonDeactivatedOrReactivatedStays(t *testing.T) {
	for name, then := range map[string]func(c *cluster){
		"a person": func(c *cluster) { c.deactivated(kueue.ReasonDeactivated) },
		"reactivated": func(c *cluster) {
			c.deactivated(kueue.DeactivatedDueTo(kueue.ReasonAdmissionCheck))
			wl := c.workload()
			wl.Spec.Active = ptr.To(true)
			c.requireNoError(c.Update(context.Background(), wl))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClusterWith(t, keepMinute, newJob())
			c.reconcileAll()
			then(c)
			c.clock.Step(time.Hour)
			c.wantWrites()
		})
	}
}

func TestACopyFromAHubIsNotDeletedByTheWorker(t *testing.T) {
	j := newJob()
	j.Annotations[kueue.PrebuiltWorkloadNameKey] = "prebuilt"
	c := newClusterWith(t, keepMinute, j, prebuilt())
	c.reconcileAll()
	c.deactivated(kueue.DeactivatedDueTo(kueue.ReasonEvictedOnManagerCluster))
	c.clock.Step(time.Hour)
	c.wantWrites()
}

func TestAWorkloadWhoseJobIsGoneFinishesAndIsLetGo(t *testing.T) {
	c := newCluster(t, newJob(), newFlavor("h100"))
	c.reconcileAll()
	c.admit("h100")
	c.reconcileAll()
	c.requireNoError(c.Delete(context.Background(), c.job()))
	c.wantWrites("apply Workload/status", "patch Workload")
	c.hasCondition(kueue.WorkloadFinished, "True OwnerNotFound")
}

func TestOrphansAreOnlyLetGoWithTheGateOff(t *testing.T) {
	c := newClusterWith(t, func(o *options) { o.Gates.FinishOrphanedWorkloads = false }, newJob())
	c.reconcileAll()
	c.requireNoError(c.Delete(context.Background(), c.job()))
	c.wantWrites("patch Workload")
	c.hasCondition(kueue.WorkloadFinished, "")
}

func TestTheWorkloadOfAJobThatWasReplacedFinishes(t *testing.T) {
	c := newCluster(t, newJob())
	c.reconcileAll()
	c.requireNoError(c.Delete(context.Background(), c.job()))
	again := newJob()
	again.UID = "another"
	c.requireNoError(c.Create(context.Background(), again))
	c.wantWrites("apply Workload/status", "patch Workload", "create Workload")
	finished := 0
	for _, wl := range c.workloads() {
		if workload.IsFinished(&wl) {
			finished++
		}
	}
	if finished != 1 || len(c.workloads()) != 2 {
		t.Errorf("%d of %d workloads have finished", finished, len(c.workloads()))
	}
}

func TestAJobThatTheCacheHasNotSeenYetDoesNotOrphanItsWorkload(t *testing.T) {
	c := newCluster(t, newJob())
	c.reconcileAll()
	c.hidden = true
	c.wantWrites("patch Workload")
	c.hasCondition(kueue.WorkloadFinished, "")
}

func TestReadinessOfAnEarlierAdmissionIsNotReadinessNow(t *testing.T) {
	c := newCluster(t, newJob(), newFlavor("h100"))
	c.reconcileAll()
	c.admit("h100")
	c.reconcileAll()
	c.changeJobStatus(running)
	c.reconcileAll()
	c.hasCondition(kueue.WorkloadPodsReady, "True Started")
	c.changeJobStatus(func(s *batchv1.JobStatus) { s.Ready = ptr.To[int32](1) })
	c.reconcileAll()
	c.hasCondition(kueue.WorkloadPodsReady, "False WaitForRecovery")
	c.apply(func(wl *kueue.Workload) {
		workload.Evict(wl, lifecycle.Eviction{Reason: lifecycle.EvictedByPodsReadyTimeout}, c.clock.Now())
	})
	c.reconcileAll()
	c.changeJobStatus(stoppedPods)
	c.reconcileAll()
	c.hasCondition(kueue.WorkloadPodsReady, "False WaitForStart")
	c.clock.Step(time.Minute)
	c.admit("h100")
	c.reconcileAll()
	c.changeJobStatus(running)
	c.wantWrites("apply Workload/status")
	c.hasCondition(kueue.WorkloadPodsReady, "True Started")
}

// What PodsReady says of a job that was evicted: that its pods are lost while they stop, and with the quota's release, in the same
// write, that they are to start. One whose Workload was never said to be ready ends the same way.
func TestWhatIsSaidOfPodsWhileTheirJobLosesItsQuota(t *testing.T) {
	since := func(c *cluster) time.Time {
		return meta.FindStatusCondition(c.workload().Status.Conditions, kueue.WorkloadPodsReady).LastTransitionTime.Time
	}
	c := newCluster(t, newJob(), newFlavor("h100"))
	c.reconcileAll()
	c.admit("h100")
	c.reconcileAll()
	c.changeJobStatus(running)
	c.reconcileAll()
	c.clock.Step(time.Minute)
	c.apply(func(wl *kueue.Workload) {
		workload.Evict(wl, lifecycle.Eviction{Reason: lifecycle.EvictedByPreemption}, c.clock.Now())
	})
	c.changeJobStatus(func(s *batchv1.JobStatus) { s.Active, s.Ready, s.Terminating = 0, nil, ptr.To[int32](2) })
	c.reconcileAll()
	c.hasCondition(kueue.WorkloadPodsReady, "False WaitForRecovery")
	lost := since(c)
	if c.workload().Status.Admission == nil {
		t.Error("pods are still terminating")
	}
	c.clock.Step(time.Minute)
	c.changeJobStatus(func(s *batchv1.JobStatus) { stoppedPods(s); s.Terminating = nil })
	c.reconcileAll()
	c.hasCondition(kueue.WorkloadPodsReady, "False WaitForStart")
	if wl := c.workload(); wl.Status.Admission != nil || !since(c).Equal(lost) {
		t.Errorf("admission %v, said since %v, lost at %v", wl.Status.Admission, since(c), lost)
	}
	never := newCluster(t, newJob(), newFlavor("h100"))
	never.reconcileAll()
	never.admit("h100")
	never.reconcileAll()
	never.apply(func(wl *kueue.Workload) {
		workload.Evict(wl, lifecycle.Eviction{Reason: lifecycle.EvictedByPreemption}, never.clock.Now())
	})
	never.changeJobStatus(stoppedPods)
	never.reconcileAll()
	never.hasCondition(kueue.WorkloadPodsReady, "False WaitForStart")
	never.hasCondition(kueue.WorkloadRequeued, "True Preempted")
}

func TestAReadinessThatNobodyTookBackInTimeIsSaidAnew(t *testing.T) {
	c := newClusterWith(t, func(*options) {}, newJob(), newFlavor("h100"))
	c.reconcileAll()
	c.admit("h100")
	c.reconcileAll()
	c.changeJobStatus(running)
	c.reconcileAll()
	c.clock.Step(time.Minute)
	c.apply(func(wl *kueue.Workload) { // lost and regained while nobody looked
		workload.Evict(wl, lifecycle.Eviction{Reason: lifecycle.EvictedByPreemption}, c.clock.Now())
		workload.ReleaseQuota(wl, c.clock.Now())
	})
	c.admit("h100")
	if workload.ArePodsReady(c.workload()) {
		t.Error("pods of an earlier admission count")
	}
	c.wantWrites("apply Workload/status")
	if !workload.ArePodsReady(c.workload()) {
		t.Error("the pods are ready")
	}
}

func TestThatNoPodNeedsItsQuotaAnyMoreIsSaidByTheEnd(t *testing.T) {
	c := newCluster(t, newJob(), newFlavor("h100"))
	c.reconcileAll()
	c.admit("h100")
	c.reconcileAll()
	c.changeJobStatus(running)
	c.reconcileAll()
	c.changeJobStatus(func(s *batchv1.JobStatus) { s.Active, s.Ready, s.Succeeded = 1, ptr.To[int32](1), 1 })
	c.wantWrites("apply Workload/status")
	c.changeJobStatus(func(s *batchv1.JobStatus) { s.Active, s.Ready, s.Succeeded = 0, nil, 2 })
	c.wantWrites()
	c.changeJobStatus(complete)
	c.wantWrites("apply Workload/status", "patch Workload")
}

// admitPartially reserves quota for fewer pods than the job asks for.
func (c *cluster) admitPartially(flavor string, count int32) {
	c.Helper()
	c.apply(func(wl *kueue.Workload) {
		a := &kueue.Admission{ClusterQueue: "cq", PodSetAssignments: []kueue.PodSetAssignment{assigned("main", flavor, count)}}
		workload.ReserveQuota(wl, a, nil, "Quota reserved", c.clock.Now())
	})
}

func TestAPartlyAdmittedJobRunsWithTheAdmittedCountAndIsRestoredWhenItStops(t *testing.T) {
	j := newJob()
	j.Spec.Parallelism, j.Spec.Completions = ptr.To[int32](10), ptr.To[int32](10)
	j.Annotations[kueue.JobMinParallelismAnnotation] = "4"
	c := newCluster(t, j, newFlavor("h100"))
	c.wantWrites("create Workload")
	if got := c.workload().Spec.PodSets[0].MinCount; ptr.Deref(got, 0) != 4 {
		t.Fatalf("minCount is %v", got)
	}
	c.admitPartially("h100", 6)
	c.wantWrites("patch Job")
	if got := c.job().Spec; *got.Parallelism != 6 || *got.Completions != 10 || *got.Suspend {
		t.Errorf("runs with parallelism %d, completions %d", *got.Parallelism, *got.Completions)
	}
	c.changeJobStatus(func(s *batchv1.JobStatus) { running(s); s.Active, s.Ready = 6, ptr.To[int32](6) })
	c.reconcileAll()
	c.hasCondition(kueue.WorkloadPodsReady, "True Started")
	c.apply(func(wl *kueue.Workload) {
		workload.Evict(wl, lifecycle.Eviction{Reason: lifecycle.EvictedByPreemption}, c.clock.Now())
	})
	c.reconcileAll()
	c.changeJobStatus(stoppedPods)
	c.reconcileAll()
	if got := c.job().Spec; *got.Parallelism != 10 || !*got.Suspend {
		t.Errorf("waits with parallelism %d", *got.Parallelism)
	}
	if wl := c.workload(); wl.Spec.PodSets[0].Count != 10 || wl.Status.Admission != nil {
		t.Errorf("the workload asks for %d pods", wl.Spec.PodSets[0].Count)
	}
	c.admitPartially("h100", 10)
	c.wantWrites("patch Job")
	if got := c.job().Spec; *got.Parallelism != 10 {
		t.Errorf("runs with parallelism %d", *got.Parallelism)
	}
}

func TestAnIndexedJobOfEqualCountsKeepsThemEqualWhenPartlyAdmitted(t *testing.T) {
	j := newJob()
	j.Spec.Parallelism, j.Spec.Completions = ptr.To[int32](10), ptr.To[int32](10)
	j.Spec.CompletionMode = ptr.To(batchv1.IndexedCompletion)
	j.Annotations[kueue.JobMinParallelismAnnotation] = "4"
	j.Annotations[kueue.JobCompletionsEqualParallelismAnnotation] = "true"
	c := newCluster(t, j, newFlavor("h100"))
	c.reconcileAll()
	c.admitPartially("h100", 6)
	c.wantWrites("patch Job")
	if got := c.job().Spec; *got.Parallelism != 6 || *got.Completions != 6 {
		t.Errorf("runs with parallelism %d, completions %d", *got.Parallelism, *got.Completions)
	}
}

func TestPartialAdmissionIsNotAskedForWithTheGateOff(t *testing.T) {
	j := newJob()
	j.Spec.Parallelism = ptr.To[int32](10)
	j.Annotations[kueue.JobMinParallelismAnnotation] = "1"
	c := newClusterWith(t, func(o *options) { o.Gates.PartialAdmission = false }, j)
	c.reconcileAll()
	if got := c.workload().Spec.PodSets[0].MinCount; got != nil {
		t.Errorf("minCount is %d", *got)
	}
}

// checkedWith admits the Workload with an admission check that wants something in the pods.
func (c *cluster) checkedWith(u kueue.PodSetUpdate) {
	c.Helper()
	c.apply(func(wl *kueue.Workload) {
		a := &kueue.Admission{ClusterQueue: "cq"}
		for _, ps := range wl.Spec.PodSets {
			a.PodSetAssignments = append(a.PodSetAssignments, assigned(ps.Name, "h100", ps.Count))
		}
		workload.ReserveQuota(wl, a, []string{"check"}, "Quota reserved", c.clock.Now())
		workload.SetAdmissionCheck(wl, "check", kueue.CheckStateReady, "", c.clock.Now())
		u.Name = wl.Spec.PodSets[0].Name
		wl.Status.AdmissionChecks[0].PodSetUpdates = []kueue.PodSetUpdate{u}
		workload.DeriveConditions(wl, c.clock.Now())
	})
}

func TestWhatACheckWantsIsInThePodsWhenTheyStart(t *testing.T) {
	c := newCluster(t, newJob(), newFlavor("h100"))
	c.reconcileAll()
	c.checkedWith(kueue.PodSetUpdate{
		Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"a": "2"}, NodeSelector: map[string]string{"pool": "new"},
	})
	c.wantWrites("patch Job")
	template := c.job().Spec.Template
	want := map[string]string{"arch": "arm64", "gpu": "h100", "pool": "new"}
	if diff := cmp.Diff(want, template.Spec.NodeSelector); diff != "" || template.Labels["l"] != "1" || template.Annotations["a"] != "2" {
		t.Errorf("template %+v, node selector differs: %s", template.ObjectMeta, diff)
	}
}

func TestACheckThatContradictsTheJobEndsTheWorkload(t *testing.T) {
	c := newCluster(t, newJob(), newFlavor("h100"))
	c.reconcileAll()
	c.checkedWith(kueue.PodSetUpdate{NodeSelector: map[string]string{"arch": "amd64"}})
	c.wantWrites("apply Workload/status", "patch Workload")
	c.hasCondition(kueue.WorkloadFinished, "True FailedToStart")
	if !*c.job().Spec.Suspend {
		t.Error("the job runs")
	}
}

func TestTwoChecksThatContradictEachOtherEndTheWorkload(t *testing.T) {
	c := newCluster(t, newJob(), newFlavor("h100"))
	c.reconcileAll()
	c.checkedWith(kueue.PodSetUpdate{NodeSelector: map[string]string{"gpu": "other"}})
	c.reconcileAll()
	c.hasCondition(kueue.WorkloadFinished, "True FailedToStart")
}

func TestACheckThatContradictsAJobSetEndsItsWorkload(t *testing.T) {
	set := managedJobSet()
	set.Name, set.Spec.Suspend = jobName, ptr.To(true)
	set.Spec.ReplicatedJobs = []jobsetv1.ReplicatedJob{{Name: "driver", Replicas: 1}, {Name: "workers", Replicas: 2}}
	set.Spec.ReplicatedJobs[0].Template.Spec.Template = newJob().Spec.Template
	set.Spec.ReplicatedJobs[1].Template.Spec.Template = newJob().Spec.Template
	c := newCluster(t, set, newFlavor("h100"))
	c.reconciler = c.jobSets
	c.wantWrites("create Workload")
	c.checkedWith(kueue.PodSetUpdate{NodeSelector: map[string]string{"arch": "amd64"}})
	c.wantWrites("apply Workload/status", "patch Workload")
	c.hasCondition(kueue.WorkloadFinished, "True FailedToStart")
	c.requireNoError(c.Get(context.Background(), client.ObjectKeyFromObject(set), set))
	if !*set.Spec.Suspend {
		t.Error("the JobSet runs")
	}
}

func TestTheGatesOfAWorkloadFollowThoseOfItsJobHoweverTheyAreWritten(t *testing.T) {
	j := newJob()
	j.Annotations[kueue.AdmissionGatedByAnnotation] = "a, b"
	c := newCluster(t, j)
	c.wantWrites("create Workload")
	c.changeJob(func(j *batchv1.Job) { j.Annotations[kueue.AdmissionGatedByAnnotation] = "b" })
	c.wantWrites("patch Workload")
	if diff := cmp.Diff([]string{"b"}, workload.AdmissionGates(c.workload())); diff != "" {
		t.Errorf("gates differ (-want +got):\n%s", diff)
	}
	c.changeJob(func(j *batchv1.Job) { delete(j.Annotations, kueue.AdmissionGatedByAnnotation) })
	c.wantWrites("patch Workload")
	if gates := workload.AdmissionGates(c.workload()); len(gates) > 0 {
		t.Errorf("still gated by %q", gates)
	}
}
