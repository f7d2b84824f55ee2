package job_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

func newElasticJob() *batchv1.Job {
	j := newJob()
	j.Annotations[kueue.ElasticJobAnnotation] = "true"
	j.Spec.Completions = nil
	return j
}

// slice returns the only Workload that has not finished and of which the condition holds.
func (c *cluster) slice(holds func(*kueue.Workload) bool) *kueue.Workload {
	c.Helper()
	var found []kueue.Workload
	for _, wl := range c.workloads() {
		if !workload.IsFinished(&wl) && holds(&wl) {
			found = append(found, wl)
		}
	}
	if len(found) != 1 {
		c.Fatalf("%d slices", len(found))
	}
	return &found[0]
}

func (c *cluster) running() *kueue.Workload { c.Helper(); return c.slice(workload.HasQuota) }

func (c *cluster) pending() *kueue.Workload {
	c.Helper()
	return c.slice(func(wl *kueue.Workload) bool { return !workload.HasQuota(wl) })
}

// admitSlice gives the slice that waits its quota, as the scheduler would.
func (c *cluster) admitSlice() *kueue.Workload { c.Helper(); return c.reserveSlice() }

// reserveSlice is admitSlice of one that is to wait for checks.
func (c *cluster) reserveSlice(checks ...string) *kueue.Workload {
	c.Helper()
	wl := c.pending()
	set := wl.Spec.PodSets[0]
	a := &kueue.Admission{ClusterQueue: "cq", PodSetAssignments: []kueue.PodSetAssignment{assigned(set.Name, "h100", set.Count)}}
	a.PodSetAssignments[0].ResourceUsage = corev1.ResourceList{"cpu": *resource.NewQuantity(2*int64(set.Count), resource.DecimalSI)}
	workload.ReserveQuota(wl, a, checks, "Quota reserved", c.clock.Now())
	c.requireNoError(kube.ApplyAdmission(c.Context(), c.Client, wl))
	return wl
}

func (c *cluster) scale(pods int32) {
	c.Helper()
	c.clock.Step(time.Minute)
	c.changeJob(func(j *batchv1.Job) { j.Spec.Parallelism = &pods; j.Generation++ })
}

// newRunningElastic is a cluster in which an elastic job of two pods runs, none of which exists yet.
func newRunningElastic(t *testing.T, j *batchv1.Job) *cluster {
	t.Helper()
	return newRunningElasticOf(t, j, nil)
}

// elasticPods says of an elastic job how many pods run, and notes by which slices some may go.
type elasticPods struct {
	runs    map[string]int32
	trusted []string
}

func (p *elasticPods) Running(_ context.Context, in string, job types.UID) (map[string]int32, error) {
	if in != namespace || job != newElasticJob().UID {
		return nil, fmt.Errorf("asked for the pods of %s/%s", in, job)
	}
	return p.runs, nil
}

func (p *elasticPods) Trust(_ context.Context, wl *kueue.Workload) {
	if !slices.Contains(p.trusted, wl.Name) {
		p.trusted = append(p.trusted, wl.Name)
	}
}

// newRunningElasticOf is one in which so many pods of the job run, by pod set, as the map says at the time.
func newRunningElasticOf(t *testing.T, j *batchv1.Job, runs map[string]int32) *cluster {
	t.Helper()
	return newRunningElasticWith(t, j, &elasticPods{runs: runs})
}

func newRunningElasticWith(t *testing.T, j *batchv1.Job, pods *elasticPods) *cluster {
	t.Helper()
	c := newClusterWith(t, func(o *options) {
		o.WaitForPodsReady = false
		o.ElasticPods = pods
	}, j, newFlavor("h100"))
	c.wantWrites("create Workload")
	c.admitSlice()
	c.wantWrites("patch Job")
	return c
}

func TestAnElasticJobStartsWithItsPodsGated(t *testing.T) {
	c := newRunningElastic(t, newElasticJob())
	wl := c.running()
	if wl.Annotations[kueue.ElasticJobAnnotation] != "true" || wl.Annotations[kueue.WorkloadSliceNameAnnotation] != wl.Name || wl.Annotations[kueue.WorkloadSliceReplacementForAnnotation] != "" {
		t.Errorf("annotations %v", wl.Annotations)
	}
	template := c.job().Spec.Template
	if !job.IsElasticallyGated(&template) || template.Annotations[kueue.WorkloadSliceNameAnnotation] != wl.Name || *c.job().Spec.Suspend {
		t.Errorf("the job's template is %+v", template)
	}
}

func TestAJobThatGrowsGetsAnotherSlice(t *testing.T) {
	c := newRunningElastic(t, newElasticJob())
	first := c.running()
	c.scale(5)
	c.wantWrites("create Workload")
	next := c.pending()
	if next.Spec.PodSets[0].Count != 5 || next.Annotations[kueue.WorkloadSliceReplacementForAnnotation] != namespace+"/"+first.Name || workload.SliceName(next) != first.Name {
		t.Errorf("the next slice is %+v", next)
	}
	if _, placed := next.Spec.PodSets[0].Template.Spec.NodeSelector["gpu"]; placed {
		t.Error("what was injected for the first slice is in the second")
	}
	if *c.job().Spec.Suspend {
		t.Error("the job does not run on meanwhile")
	}
	c.admitSlice()
	c.wantWrites("apply Workload/status", "patch Workload")
	if now := c.running(); now.Name != next.Name || *c.job().Spec.Suspend {
		t.Errorf("%s runs", now.Name)
	}
	c.ended(first.Name, "WorkloadSliceReplaced: Replaced to accommodate a new workload slice")
	c.scale(6)
	c.wantWrites("create Workload")
	if third := c.pending(); workload.SliceName(third) != first.Name || third.Annotations[kueue.WorkloadSliceReplacementForAnnotation] != namespace+"/"+next.Name {
		t.Errorf("the third slice is %v", third.Annotations)
	}
}

// ended checks how a slice has ended, and that nothing keeps it.
func (c *cluster) ended(name, want string) {
	c.Helper()
	wl := &kueue.Workload{}
	c.requireNoError(c.Get(c.Context(), client.ObjectKey{Namespace: namespace, Name: name}, wl))
	end := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadFinished)
	if end == nil || end.Reason+": "+end.Message != want || len(wl.Finalizers) > 0 {
		c.Errorf("%s: %+v, finalizers %v", name, end, wl.Finalizers)
	}
}

func TestAJobThatShrinksKeepsItsSlice(t *testing.T) {
	c := newRunningElastic(t, newElasticJob())
	c.scale(1)
	c.wantWrites("patch Workload", "apply Workload/status")
	wl := c.running()
	psa := wl.Status.Admission.PodSetAssignments[0]
	if used := psa.ResourceUsage["cpu"]; wl.Spec.PodSets[0].Count != 1 || *psa.Count != 1 || used.Value() != 2 {
		t.Errorf("it has %+v", psa)
	}
	c.scale(2)
	c.wantWrites("create Workload")
}

// A job that is scaled down and up again at once has lost no pod: what it gave up for that moment would be somebody else's by now.
func TestPodsThatStillRunKeepTheirQuota(t *testing.T) {
	runs := map[string]int32{"main": 2}
	c := newRunningElasticOf(t, newElasticJob(), runs)
	c.scale(1)
	c.wantWrites()
	if again := c.reconcileOnce(); c.running().Spec.PodSets[0].Count != 2 || again.RequeueAfter <= 0 {
		t.Errorf("it has %d pods, looked at again after %s", c.running().Spec.PodSets[0].Count, again.RequeueAfter)
	}
	c.scale(2)
	c.wantWrites()
	c.scale(1)
	runs["main"] = 1
	c.wantWrites("patch Workload", "apply Workload/status")
	if got := c.running().Spec.PodSets[0].Count; got != 1 {
		t.Errorf("it has %d pods", got)
	}
}

func TestASliceThatWaitsAsksForThePodsThatStillRun(t *testing.T) {
	runs := map[string]int32{"main": 2}
	c := newRunningElasticOf(t, newElasticJob(), runs)
	c.scale(5)
	c.reconcileAll()
	c.scale(1)
	c.reconcileAll()
	if got := c.pending().Spec.PodSets[0].Count; got != 2 {
		t.Errorf("the next slice has %d pods", got)
	}
	runs["main"] = 1
	c.reconcileAll()
	if got := c.pending().Spec.PodSets[0].Count; got != 1 {
		t.Errorf("the next slice has %d pods", got)
	}
}

// Whoever may change pods can take their gates away, and whoever may change Workloads can make a slice smaller.
func TestAJobThatRunsMoreThanItHasQuotaForIsStopped(t *testing.T) {
	runs := map[string]int32{"main": 2}
	c := newRunningElasticOf(t, newElasticJob(), runs)
	c.scale(5)
	c.reconcileAll()
	runs["main"] = 3
	c.reconcileAll()
	if !*c.job().Spec.Suspend {
		t.Error("it runs")
	}
	if again := c.reconcileOnce(); !*c.job().Spec.Suspend || again.RequeueAfter <= 0 {
		t.Error("it starts before its pods are gone, or nobody looks")
	}
	runs["main"] = 0
	c.reconcileAll()
	if *c.job().Spec.Suspend {
		t.Error("it does not start again")
	}
}

func TestASliceThatWasMadeSmallerByHandStopsTheJob(t *testing.T) {
	runs := map[string]int32{"main": 2}
	c := newRunningElasticOf(t, newElasticJob(), runs)
	wl := c.running()
	wl.Spec.PodSets[0].Count = 1
	c.requireNoError(c.Update(t.Context(), wl))
	c.reconcileAll()
	if !*c.job().Spec.Suspend {
		t.Error("it runs with more pods than it has quota for")
	}
}

func TestASliceThatWaitsFollowsTheJob(t *testing.T) {
	c := newRunningElastic(t, newElasticJob())
	c.scale(5)
	c.reconcileAll()
	for _, pods := range []int32{7, 3, 2, 1} {
		c.scale(pods)
		c.wantWrites("patch Workload")
		if got := c.pending().Spec.PodSets[0].Count; got != pods {
			t.Errorf("%d pods, want %d", got, pods)
		}
	}
	c.admitSlice()
	c.reconcileAll()
	if got := c.running().Spec.PodSets[0].Count; got != 1 {
		t.Errorf("it runs with %d", got)
	}
}

func TestAnElasticJobThatIsEvictedStopsAndItsNextSliceWaits(t *testing.T) {
	c := newRunningElastic(t, newElasticJob())
	c.changeJobStatus(running)
	c.scale(5)
	c.reconcileAll()
	first, next := c.running(), c.pending()
	workload.Evict(first, lifecycle.Eviction{Reason: "Preempted"}, c.clock.Now())
	c.requireNoError(kube.ApplyAdmission(t.Context(), c.Client, first))
	c.wantWrites("patch Job")
	if !*c.job().Spec.Suspend || c.running().Name != first.Name {
		t.Error("quota is released before the pods are gone")
	}
	c.changeJobStatus(func(s *batchv1.JobStatus) { s.Active, s.Ready, s.StartTime = 0, nil, nil })
	c.reconcileAll()
	c.ended(first.Name, "WorkloadSliceReplaced: Replaced to accommodate a new workload slice")
	if left := c.pending(); left.Name != next.Name || left.Spec.PodSets[0].Count != 5 {
		t.Errorf("%s waits", left.Name)
	}
	if _, placed := c.job().Spec.Template.Spec.NodeSelector["gpu"]; placed {
		t.Error("the job is not restored")
	}
	c.admitSlice()
	c.wantWrites("patch Job")
	if *c.job().Spec.Suspend {
		t.Error("the job does not start again")
	}
}

func TestADeletedSliceTakesTheRightToRunWithIt(t *testing.T) {
	c := newRunningElastic(t, newElasticJob())
	c.requireNoError(c.Delete(t.Context(), c.running()))
	c.reconcileAll()
	if wl := c.pending(); !*c.job().Spec.Suspend || wl.Annotations[kueue.WorkloadSliceReplacementForAnnotation] != "" {
		t.Errorf("suspended %t, waiting %v", *c.job().Spec.Suspend, wl.Annotations)
	}
}

func TestADeletedNextSliceIsMadeAgain(t *testing.T) {
	c := newRunningElastic(t, newElasticJob())
	c.scale(5)
	c.reconcileAll()
	c.requireNoError(c.Delete(t.Context(), c.pending()))
	c.wantWrites("patch Workload", "create Workload")
	if *c.job().Spec.Suspend || c.pending().Spec.PodSets[0].Count != 5 {
		t.Error("the job has stopped")
	}
}

// Nothing holds the new pods of a job back whose template was not gated when it started: it is stopped, and starts again with gates.
func TestAJobThatRunsWithoutGatesIsNotScaled(t *testing.T) {
	c := newRunningElastic(t, newElasticJob())
	c.changeJob(func(j *batchv1.Job) {
		j.Spec.Template.Spec.SchedulingGates = nil
		j.Spec.Parallelism = ptr.To[int32](50)
	})
	c.reconcileOnce()
	if !*c.job().Spec.Suspend {
		t.Error("it runs with more pods than it has quota for")
	}
	c.reconcileAll()
	if template := c.job().Spec.Template; !job.IsElasticallyGated(&template) || c.pending().Spec.PodSets[0].Count != 50 {
		t.Error("it starts again without gates")
	}
}

func TestAnElasticJobThatAsksForOtherPodsIsStopped(t *testing.T) {
	c := newRunningElastic(t, newElasticJob())
	c.changeJob(func(j *batchv1.Job) { j.Spec.Template.Spec.Containers[0].Image = "train:2" })
	c.reconcileAll()
	if !*c.job().Spec.Suspend {
		t.Error("it runs")
	}
}

func TestTheEndOfAnElasticJobIsThatOfAllItsSlices(t *testing.T) {
	c := newRunningElastic(t, newElasticJob())
	c.scale(5)
	c.reconcileAll()
	c.changeJobStatus(complete)
	c.reconcileAll()
	for _, wl := range c.workloads() {
		c.ended(wl.Name, "Succeeded: "+finishedMessage(&wl))
	}
}

func finishedMessage(wl *kueue.Workload) string {
	if c := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadFinished); c != nil {
		return c.Message
	}
	return "nothing"
}

func TestAPriorityChangeReachesBothSlices(t *testing.T) {
	c := newRunningElastic(t, newElasticJob())
	c.scale(5)
	c.reconcileAll()
	class := &kueue.WorkloadPriorityClass{Value: 9}
	class.Name = "high"
	c.requireNoError(c.Create(t.Context(), class))
	c.changeJob(func(j *batchv1.Job) { j.Labels[kueue.PriorityClassLabel] = "high" })
	c.wantWrites("patch Workload", "patch Workload")
	if *c.running().Spec.Priority != 9 || *c.pending().Spec.Priority != 9 {
		t.Error("a slice has another priority")
	}
}

func TestASliceOfChecksDoesNotStopTheJob(t *testing.T) {
	c := newRunningElastic(t, newElasticJob())
	c.scale(5)
	c.reconcileAll()
	wl := c.pending()
	a := &kueue.Admission{ClusterQueue: "cq", PodSetAssignments: []kueue.PodSetAssignment{assigned("main", "h100", 5)}}
	workload.ReserveQuota(wl, a, []string{"check"}, "Quota reserved", c.clock.Now())
	c.requireNoError(kube.ApplyAdmission(t.Context(), c.Client, wl))
	c.reconcileAll()
	if *c.job().Spec.Suspend || c.running().Name != wl.Name {
		t.Error("the job was stopped")
	}
}

func TestWithTheGateOffAnElasticJobIsLikeAnyOther(t *testing.T) {
	c := newClusterWith(t, func(o *options) { o.Gates.ElasticJobs = false; o.WaitForPodsReady = false }, newElasticJob(), newFlavor("h100"))
	c.reconcileAll()
	c.admit("h100")
	c.reconcileAll()
	template := c.job().Spec.Template
	if c.workload().Annotations[kueue.ElasticJobAnnotation] != "" || job.IsElasticallyGated(&template) {
		t.Error("it is elastic")
	}
	c.scale(5)
	c.reconcileAll()
	if !*c.job().Spec.Suspend {
		t.Error("it is scaled while it runs")
	}
}

func TestTheGateIsTurnedOffWhileAJobHasSlices(t *testing.T) {
	c := newRunningElastic(t, newElasticJob())
	c.scale(5)
	c.reconcileAll()
	c.options.Gates.ElasticJobs = false
	c.restart()
	c.reconcileAll()
	var left []kueue.Workload
	for _, wl := range c.workloads() {
		if !workload.IsFinished(&wl) {
			left = append(left, wl)
		}
	}
	if !*c.job().Spec.Suspend || len(left) != 1 || workload.HasQuota(&left[0]) || left[0].Spec.PodSets[0].Count != 5 {
		t.Errorf("it runs, or has other than one Workload that waits: %+v", left)
	}
	if template := c.job().Spec.Template; job.IsElasticallyGated(&template) {
		t.Error("it keeps the gate that it got at its start")
	}
}

// Pods that wait for quota have not failed: a job that waits to grow is not evicted because it does not recover.
func TestAJobThatWaitsToGrowIsAsReadyAsItWas(t *testing.T) {
	c := newClusterWith(t, func(o *options) { o.WaitForPodsReady = true }, newElasticJob(), newFlavor("h100"))
	c.reconcileAll()
	c.admitSlice()
	c.reconcileAll()
	c.changeJobStatus(running)
	c.reconcileAll()
	first := c.running()
	c.scale(5)
	c.changeJobStatus(func(s *batchv1.JobStatus) { s.Active = 5 })
	c.reconcileAll()
	if now := c.running(); now.Name != first.Name || !meta.IsStatusConditionTrue(now.Status.Conditions, kueue.WorkloadPodsReady) {
		t.Errorf("its pods are called not ready: %+v", now.Status.Conditions)
	}
	c.admitSlice()
	c.reconcileAll()
	if now := c.running(); now.Name == first.Name || meta.IsStatusConditionTrue(now.Status.Conditions, kueue.WorkloadPodsReady) {
		t.Error("its new pods are not waited for")
	}
}

// A slice that was made, and of which the cache does not tell yet, is not made twice.
func TestASliceIsMadeOnce(t *testing.T) {
	c := newRunningElastic(t, newElasticJob())
	first := c.running()
	c.scale(5)
	c.reconcileAll()
	c.staleWorkload = first
	c.restart()
	c.reconcileOnce()
	c.staleWorkload = nil
	if all := c.workloads(); len(all) != 2 {
		t.Errorf("it has %d slices", len(all))
	}
}

// A slice of a thousand pods that ask for nothing is admitted at once. Nothing but its owner is wrong with it, and that is anybody's word.
func TestNoPodsAreLetGoByAForgedSlice(t *testing.T) {
	pods := &elasticPods{}
	c := newRunningElasticWith(t, newElasticJob(), pods)
	c.scale(1000)
	first := c.running()
	forged := first.DeepCopy()
	forged.ObjectMeta.Name, forged.ResourceVersion, forged.UID = "forged", "", "forged-uid"
	forged.CreationTimestamp.Time = c.clock.Now().Add(time.Hour)
	forged.Annotations[kueue.WorkloadSliceReplacementForAnnotation] = namespace + "/" + first.Name
	forged.Spec.PodSets[0].Count = 1000
	forged.Spec.PodSets[0].Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("1m")}
	a := &kueue.Admission{ClusterQueue: "cq", PodSetAssignments: []kueue.PodSetAssignment{assigned("main", "h100", 1000)}}
	workload.ReserveQuota(forged, a, nil, "Quota reserved", c.clock.Now())
	status := forged.Status
	c.requireNoError(c.Create(t.Context(), forged))
	forged.Status = status
	c.requireNoError(c.Status().Update(t.Context(), forged))
	c.reconcileAll()
	if diff := cmp.Diff([]string{first.Name}, pods.trusted); diff != "" {
		t.Errorf("trusted slices (-want +got):\n%s", diff)
	}
	if !*c.job().Spec.Suspend {
		t.Error("the job runs on by the forged slice")
	}
}

// Slices that are gone or were forged, in whatever order they are seen, leave one that runs and at most one that waits.
func TestForgedSlicesEnd(t *testing.T) {
	c := newRunningElastic(t, newElasticJob())
	forged := c.running().DeepCopy()
	forged.ObjectMeta.Name, forged.ResourceVersion, forged.UID = "forged", "", "forged-uid"
	forged.Status = kueue.WorkloadStatus{}
	forged.Annotations[kueue.WorkloadSliceReplacementForAnnotation] = "other-team/victim"
	c.requireNoError(c.Create(t.Context(), forged))
	c.reconcileAll()
	c.ended("forged", "OutOfSync: The workload slice is out of sync with its parent job")
	if *c.job().Spec.Suspend || !slices.ContainsFunc(c.workloads(), func(wl kueue.Workload) bool {
		return !strings.HasPrefix(wl.Name, "forged") && workload.HasQuota(&wl) && !workload.IsFinished(&wl)
	}) {
		t.Error("the job lost its slice")
	}
}

func TestAnElasticJobThatRunsElsewhereGrowsByASlice(t *testing.T) {
	j := newElasticJob()
	job.GateElastically(&j.Spec.Template)
	j.Spec.ManagedBy = ptr.To(kueue.MultiKueueControllerName)
	c := newClusterWith(t, func(o *options) { o.WaitForPodsReady, o.Dispatches = false, true }, j, newFlavor("h100"))
	c.wantWrites("create Workload")
	first := c.admitSlice()
	c.wantWrites("patch Job")
	c.scale(5)
	c.wantWrites("create Workload")
	if next := c.pending(); next.Spec.PodSets[0].Count != 5 || next.Annotations[kueue.WorkloadSliceReplacementForAnnotation] != namespace+"/"+first.Name {
		t.Errorf("the next slice is %+v", next)
	}
	c.admitSlice()
	c.reconcileAll()
	c.ended(first.Name, "WorkloadSliceReplaced: Replaced to accommodate a new workload slice")
	if *c.job().Spec.Suspend {
		t.Error("it starts over")
	}
}

// The job runs by what the earlier slices have on its cluster, and by what their dispatcher has recorded, until the next one has taken both over. Who
// deletes a slice meanwhile does not take that away.
func TestADeletedSliceStaysUntilTheNextOneHasTakenOver(t *testing.T) {
	type change = func(*kueue.Workload)
	record := func(owed metav1.ConditionStatus) change {
		return func(wl *kueue.Workload) {
			meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{Type: switchyard.DispatchCondition, Status: owed, Reason: "Test"})
		}
	}
	bound := func(wl *kueue.Workload) { wl.Status.ClusterName = ptr.To("w1") }
	nothing := func(*kueue.Workload) {}
	for name, row := range map[string]struct {
		first, next change
		checks      []string
		deletesNext bool
		stays       bool
	}{
		"the next one's record is to be written":                     {first: bound, next: nothing, checks: []string{"mk"}, stays: true},
		"an epoch is to be written":                                  {first: record(metav1.ConditionFalse), next: nothing, checks: []string{"mk"}, stays: true},
		"the next one is to be admitted there":                       {first: bound, next: bound, checks: []string{"mk"}, stays: true},
		"the next one is admitted":                                   {first: bound, next: bound},
		"the next one has given that cluster up":                     {first: bound, next: record(metav1.ConditionTrue), checks: []string{"mk"}},
		"nobody has recorded anything":                               {first: nothing, next: nothing, checks: []string{"mk"}},
		"the next one itself, before its record is written":          {first: bound, next: nothing, checks: []string{"mk"}, deletesNext: true, stays: true},
		"the next one itself, before a debt is written":              {first: record(metav1.ConditionTrue), next: nothing, checks: []string{"mk"}, deletesNext: true, stays: true},
		"the next one itself, which owes nothing":                    {first: bound, next: record(metav1.ConditionFalse), checks: []string{"mk"}, deletesNext: true},
		"the next one itself, though there is nothing to be written": {first: record(metav1.ConditionFalse), next: nothing, checks: []string{"mk"}, deletesNext: true},
		"no dispatcher looks at the next one":                        {first: bound, next: nothing, checks: []string{"other"}},
		"the next one itself, at which no dispatcher looks":          {first: bound, next: nothing, checks: []string{"other"}, deletesNext: true},
	} {
		t.Run(name, func(t *testing.T) {
			j := newElasticJob()
			job.GateElastically(&j.Spec.Template)
			j.Spec.ManagedBy = ptr.To(kueue.MultiKueueControllerName)
			check := &kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: "mk"}, Spec: kueue.AdmissionCheckSpec{ControllerName: kueue.MultiKueueControllerName}}
			c := newClusterWith(t, func(o *options) { o.WaitForPodsReady, o.Dispatches = false, true }, j, newFlavor("h100"), check)
			c.reconcileAll()
			first := c.admitSlice()
			c.reconcileAll()
			c.changeSlice(first.Name, row.first)
			c.scale(5)
			c.reconcileAll()
			next := c.reserveSlice(row.checks...)
			c.changeSlice(next.Name, row.next)
			c.reconcileAll()
			deleted := first
			if row.deletesNext {
				deleted = next
			}
			c.requireNoError(c.Delete(t.Context(), deleted))
			c.reconcileAll()
			if stays := c.deleteWorkload(); stays != row.stays {
				t.Errorf("%s stays: %t; there are %v", deleted.Name, stays, c.left())
			}
		})
	}
}

// changeSlice changes the status of a slice.
func (c *cluster) changeSlice(name string, change func(*kueue.Workload)) {
	c.Helper()
	wl := &kueue.Workload{}
	c.requireNoError(c.Get(c.Context(), client.ObjectKey{Namespace: namespace, Name: name}, wl))
	change(wl)
	c.requireNoError(c.Status().Update(c.Context(), wl))
}

func TestAnElasticJobThatRunsElsewhereIsScaledDownInPlace(t *testing.T) {
	j := newElasticJob()
	job.GateElastically(&j.Spec.Template)
	j.Spec.ManagedBy = ptr.To(kueue.MultiKueueControllerName)
	c := newClusterWith(t, func(o *options) { o.WaitForPodsReady, o.Dispatches = false, true }, j, newFlavor("h100"))
	c.wantWrites("create Workload")
	c.scale(5)
	c.reconcileAll()
	first := c.admitSlice()
	c.wantWrites("patch Job")
	if first.Spec.PodSets[0].Count != 5 || first.Annotations[kueue.ElasticJobAnnotation] != "true" || workload.SliceName(first) != first.Name {
		t.Errorf("the slice is %+v", first)
	}
	c.scale(2)
	c.wantWrites("patch Workload", "apply Workload/status")
	wl := c.running()
	if set := wl.Status.Admission.PodSetAssignments[0]; wl.UID != first.UID || wl.Spec.PodSets[0].Count != 2 || *set.Count != 2 || *c.job().Spec.Suspend {
		t.Errorf("it has become %+v", wl)
	}
	c.wantWrites()
}

// newElasticCopy is a cluster with an elastic job that a hub has put there, and that runs by the hub's Workload.
func newElasticCopy(t *testing.T) *cluster {
	t.Helper()
	j := newElasticJob()
	j.Annotations[kueue.PrebuiltWorkloadNameKey] = "prebuilt"
	j.Labels[kueue.MultiKueueOriginLabel] = "hub"
	made := prebuilt()
	made.Labels = map[string]string{kueue.MultiKueueOriginLabel: "hub"}
	made.Annotations = map[string]string{kueue.ElasticJobAnnotation: "true", kueue.WorkloadSliceNameAnnotation: "prebuilt"}
	c := newClusterWith(t, func(o *options) { o.WaitForPodsReady = false }, j, made, newFlavor("h100"))
	c.wantWrites("patch Workload")
	c.admitSlice()
	c.wantWrites("patch Job")
	return c
}

// newNextCopy is what a hub makes to replace a slice.
func (c *cluster) newNextCopy(name, hub, replaces string) *kueue.Workload {
	next := prebuilt()
	next.Name, next.UID, next.Labels = name, types.UID(name), map[string]string{kueue.MultiKueueOriginLabel: hub}
	next.Annotations = map[string]string{
		kueue.ElasticJobAnnotation: "true", kueue.WorkloadSliceNameAnnotation: "prebuilt",
		kueue.WorkloadSliceReplacementForAnnotation: namespace + "/" + replaces,
	}
	next.CreationTimestamp.Time = c.clock.Now()
	next.Spec.PodSets[0].Count = 5
	return next
}

// On a worker the hub scales its Workload and the job in two writes; between the two the job runs on.
func TestAnElasticCopyTakesUpItsNextSliceBeforeThatHasQuota(t *testing.T) {
	c := newElasticCopy(t)
	c.requireNoError(c.Create(t.Context(), c.newNextCopy("of-another-hub", "other", "prebuilt")))
	c.wantWrites()
	next := c.newNextCopy("next", "hub", "prebuilt")
	c.requireNoError(c.Create(t.Context(), next))
	c.wantWrites("patch Workload")
	c.requireNoError(c.Get(t.Context(), client.ObjectKeyFromObject(next), next))
	if owner := metav1.GetControllerOf(next); owner == nil || owner.UID != c.job().UID {
		t.Fatalf("the next slice is controlled by %v", owner)
	}
	set := next.Spec.PodSets[0]
	a := &kueue.Admission{ClusterQueue: "cq", PodSetAssignments: []kueue.PodSetAssignment{assigned(set.Name, "h100", set.Count)}}
	workload.ReserveQuota(next, a, nil, "Quota reserved", c.clock.Now())
	c.requireNoError(kube.ApplyAdmission(c.Context(), c.Client, next))
	c.reconcileAll()
	c.ended("prebuilt", "WorkloadSliceReplaced: Replaced to accommodate a new workload slice")
	if *c.job().Spec.Suspend {
		t.Error("the job was stopped before its hub had it name its next slice")
	}
	c.changeJob(func(j *batchv1.Job) {
		j.Annotations[kueue.PrebuiltWorkloadNameKey], j.Spec.Parallelism = "next", ptr.To[int32](5)
	})
	c.wantWrites()
	if wl := c.running(); wl.Name != "next" || *c.job().Spec.Suspend {
		t.Errorf("it runs by %s", wl.Name)
	}
}

// A hub may have thousands of Workloads in the namespace, and every pod that comes or goes has the job looked at.
func TestOfAllCopiesOnlyThoseAreReadThatReplaceASliceOfTheJob(t *testing.T) {
	c := newElasticCopy(t)
	c.listed = 0
	c.wantWrites()
	alone := c.listed
	plain := c.newNextCopy("plain", "hub", "")
	plain.Annotations = nil
	elsewhere := c.newNextCopy("elsewhere", "hub", "")
	elsewhere.Annotations[kueue.WorkloadSliceReplacementForAnnotation] = "other-team/prebuilt"
	taken := c.newNextCopy("taken", "hub", "prebuilt")
	taken.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "other", UID: "other", Controller: ptr.To(true)}}
	own := c.newNextCopy("own", "", "prebuilt")
	own.Labels = nil
	for _, wl := range []*kueue.Workload{plain, elsewhere, taken, own, c.newNextCopy("of-another-job", "hub", "other")} {
		c.requireNoError(c.Create(t.Context(), wl))
	}
	c.listed = 0
	c.wantWrites()
	if c.listed != alone {
		t.Errorf("%d Workloads are read, want %d", c.listed, alone)
	}
	liar := c.newNextCopy("liar", "hub", "prebuilt")
	liar.Spec.PodSets[0].Name = "another"
	c.requireNoError(c.Create(t.Context(), liar))
	c.listed = 0
	c.wantWrites()
	if c.listed != alone+1 {
		t.Errorf("%d Workloads are read, want %d and the one that claims to be next", c.listed, alone)
	}
}

func TestAnElasticCopyIsScaledByItsHub(t *testing.T) {
	j := newElasticJob()
	j.Annotations[kueue.PrebuiltWorkloadNameKey] = "prebuilt"
	made := prebuilt()
	made.Annotations = map[string]string{kueue.ElasticJobAnnotation: "true", kueue.WorkloadSliceNameAnnotation: "prebuilt"}
	c := newClusterWith(t, func(o *options) { o.WaitForPodsReady = false }, j, made, newFlavor("h100"))
	c.wantWrites("patch Workload")
	c.admitSlice()
	c.wantWrites("patch Job")
	c.scale(50)
	c.wantWrites()
	if template := c.job().Spec.Template; *c.job().Spec.Suspend || template.Annotations[kueue.WorkloadSliceNameAnnotation] != "prebuilt" {
		t.Error("it was stopped, or nobody finds its pods")
	}
}

// A hub makes the copy smaller that it has made, without knowing of the pods.
func TestACopyThatItsHubMakesSmallerKeepsQuotaForThePodsThatStillRun(t *testing.T) {
	j := newElasticJob()
	j.Annotations[kueue.PrebuiltWorkloadNameKey] = "prebuilt"
	made := prebuilt()
	made.Annotations = map[string]string{kueue.ElasticJobAnnotation: "true", kueue.WorkloadSliceNameAnnotation: "prebuilt"}
	runs := map[string]int32{"main": 2}
	c := newClusterWith(t, func(o *options) { o.WaitForPodsReady, o.ElasticPods = false, &elasticPods{runs: runs} }, j, made, newFlavor("h100"))
	c.wantWrites("patch Workload")
	c.admitSlice()
	c.wantWrites("patch Job")
	c.scale(1)
	wl := c.running()
	wl.Spec.PodSets[0].Count = 1
	c.requireNoError(c.Update(t.Context(), wl))
	c.wantWrites()
	if again := c.reconcileOnce(); again.RequeueAfter <= 0 {
		t.Error("nobody looks when the pods are gone")
	}
	runs["main"] = 1
	c.wantWrites("apply Workload/status")
	if got := c.running().Status.Admission.PodSetAssignments[0]; *got.Count != 1 {
		t.Errorf("it holds quota for %d pods", *got.Count)
	}
	c.wantWrites()
}
