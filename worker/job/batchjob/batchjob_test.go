package batchjob_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/batchjob"
	"switchyard.dev/worker/job/jobtest"
)

// The examples, by the names that stories call them by.
var (
	noon       = metav1.NewTime(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	sample     = batchjob.Examples().Job
	started    = batchjob.Examples().Started
	suspending = batchjob.Examples().Suspending
	succeeded  = batchjob.Examples().Succeeded
	failed     = batchjob.Examples().Failed
)

func condition(t batchv1.JobConditionType, status corev1.ConditionStatus) batchv1.JobCondition {
	return batchv1.JobCondition{Type: t, Status: status, LastTransitionTime: noon, Message: "because " + string(t)}
}

func TestBatchJobIsAConformingKind(t *testing.T) {
	jobtest.Verify(t, batchjob.Kind(), batchjob.Examples())
}

func TestPodSetAsksForNoMorePodsThanThereIsWork(t *testing.T) {
	for name, c := range map[string]struct {
		parallelism, completions *int32
		want                     int32
	}{
		"nothing said is one pod":             {nil, nil, 1},
		"parallelism alone":                   {ptr.To[int32](4), nil, 4},
		"more completions than parallelism":   {ptr.To[int32](4), ptr.To[int32](9), 4},
		"fewer completions than parallelism":  {ptr.To[int32](4), ptr.To[int32](2), 2},
		"completions without parallelism":     {nil, ptr.To[int32](7), 1},
		"a parallelism of zero asks for none": {ptr.To[int32](0), nil, 0},
	} {
		j := sample()
		j.Spec.Parallelism, j.Spec.Completions = c.parallelism, c.completions
		sets, err := batchjob.Kind().PodSets(j)
		if err != nil || sets[0].Count != c.want {
			t.Errorf("%s: count %d, error %v, want %d", name, sets[0].Count, err, c.want)
		}
	}
}

func TestIdentityOfTheJobIsNotPartOfItsPodSet(t *testing.T) {
	sets, err := batchjob.Kind().PodSets(sample())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"app": "train"}, sets[0].Template.Labels); diff != "" {
		t.Errorf("labels differ (-want +got):\n%s", diff)
	}
}

func TestRestoringFromAForeignWorkloadKeepsTheJobsOwnIdentity(t *testing.T) {
	j := sample()
	foreign, _ := batchjob.Kind().PodSets(sample())
	foreign[0].Template.Labels[batchv1.ControllerUidLabel] = "uid-on-the-hub"
	batchjob.Kind().Restore(j, foreign)
	if diff := cmp.Diff(sample(), j); diff != "" {
		t.Errorf("restored job differs (-want +got):\n%s", diff)
	}
}

func TestPartialAdmissionScalesOnlyJobsThatAllowIt(t *testing.T) {
	for name, c := range map[string]struct {
		annotations                      map[string]string
		wantParallelism, wantCompletions int32
	}{
		"all or nothing": {nil, 3, 5},
		"with a floor":   {map[string]string{kueue.JobMinParallelismAnnotation: "1"}, 2, 5},
		"completions follow": {map[string]string{
			kueue.JobMinParallelismAnnotation: "1", kueue.JobCompletionsEqualParallelismAnnotation: "true",
		}, 2, 2},
	} {
		j := sample()
		j.Annotations = c.annotations
		sets, _ := batchjob.Kind().PodSets(j)
		if got := sets[0].MinCount != nil; got != (c.annotations != nil) {
			t.Errorf("%s: minCount %v", name, sets[0].MinCount)
		}
		if err := batchjob.Kind().Place(j, []job.Placement{{Name: "main", Count: 2}}); err != nil {
			t.Fatal(err)
		}
		if *j.Spec.Parallelism != c.wantParallelism || *j.Spec.Completions != c.wantCompletions {
			t.Errorf("%s: parallelism %d, completions %d", name, *j.Spec.Parallelism, *j.Spec.Completions)
		}
	}
}

func TestStopIsOneWriteWhenNothingWasPlaced(t *testing.T) {
	j := sample()
	original, _ := batchjob.Kind().PodSets(j)
	j.Spec.Suspend = ptr.To(false)
	started(j)
	if step := batchjob.Kind().Stop(j, original); step != job.StopSpec {
		t.Fatalf("first step is %v", step)
	}
	if step := batchjob.Kind().Stop(j, original); step != job.StopDone || len(j.Annotations) != 1 {
		t.Errorf("second step is %v, annotations %v", step, j.Annotations)
	}
}

func TestStopResetsTheStartTimeOnlyAfterThePodsAreGone(t *testing.T) {
	j := sample()
	original, _ := batchjob.Kind().PodSets(j)
	if err := batchjob.Kind().Place(j, []job.Placement{{Count: 3, NodeSelector: map[string]string{"zone": "a"}}}); err != nil {
		t.Fatal(err)
	}
	j.Spec.Suspend = ptr.To(false)
	started(j)
	var steps []job.StopStep
	for range 2 {
		steps = append(steps, batchjob.Kind().Stop(j, original))
	}
	if j.Annotations[kueue.StoppingAnnotation] != "true" {
		t.Errorf("the stopping annotation is missing: %v", j.Annotations)
	}
	j.Status.Active = 0 // nobody needs to have set the condition Suspended
	for range 3 {
		steps = append(steps, batchjob.Kind().Stop(j, original))
	}
	want := []job.StopStep{job.StopSpec, job.StopWait, job.StopStatus, job.StopSpec, job.StopDone}
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Errorf("steps differ (-want +got):\n%s", diff)
	}
}

func TestReclaimablePodsAreThoseWithoutWork(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*batchv1.Job)
		want   int32
	}{
		"none has succeeded":                 {func(*batchv1.Job) {}, 0},
		"as much work left as pods":          {func(j *batchv1.Job) { j.Status.Succeeded = 2 }, 0},
		"less work left than pods":           {func(j *batchv1.Job) { j.Status.Succeeded = 4 }, 2},
		"a single pod has none":              {func(j *batchv1.Job) { j.Spec.Parallelism = ptr.To[int32](1); j.Status.Succeeded = 4 }, 0},
		"failed indexes are no work either":  {indexed("0,2", "3-4"), 2},
		"indexed without failed indexes":     {indexed("0-3", ""), 2},
		"a list that cannot be read is none": {indexed("x,1-", ""), 0},
		"a list that nobody can count":       {indexed("0-2147483647,0-2147483647", "0-2147483647"), 3},
	} {
		j := sample()
		c.change(j)
		var got int32
		for _, p := range batchjob.Kind().Progress(j).Reclaimable {
			got += p.Count
		}
		if got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func indexed(completed, failed string) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		j.Spec.CompletionMode = ptr.To(batchv1.IndexedCompletion)
		j.Status.CompletedIndexes, j.Status.FailedIndexes = completed, &failed
	}
}

func TestPodsCountAsReadyBeforeTheirSuccessIsBooked(t *testing.T) {
	j := sample()
	j.Spec.Suspend = ptr.To(false)
	j.Status = batchv1.JobStatus{Succeeded: 1, Ready: ptr.To[int32](1)}
	if batchjob.Kind().Progress(j).Ready {
		t.Error("two of three pods are enough")
	}
	j.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{"p"}}
	if !batchjob.Kind().Progress(j).Ready {
		t.Error("a pod that has succeeded is not counted")
	}
}

func TestARemoteCopyStaysUntilItsResultIsKnown(t *testing.T) {
	wl := &kueue.Workload{}
	wl.Spec.PodSets, _ = batchjob.Kind().PodSets(sample())
	remote, ok := job.NewIntegration(batchjob.Kind()).RemoteCopy(sample(), job.RemoteOptions{Origin: "hub", Workload: wl}).(*batchv1.Job)
	if !ok || remote.Spec.TTLSecondsAfterFinished != nil || remote.Spec.Selector != nil {
		t.Errorf("remote spec is %+v", remote.Spec)
	}
}

func TestStatusIsDeferredWhileTheLocalJobIsStillSuspended(t *testing.T) {
	local, remote := sample(), sample()
	remote.Spec.Suspend = ptr.To(false)
	started(remote)
	if changed, deferred := batchjob.Kind().CopyStatus(local, remote); changed || !deferred {
		t.Fatalf("changed %v, deferred %v", changed, deferred)
	}
	earlier := metav1.NewTime(noon.Add(-time.Hour))
	local.Status.StartTime = &earlier
	changed, deferred := batchjob.Kind().CopyStatus(local, remote)
	if !changed || !deferred {
		t.Fatalf("of a job that ran before: changed %v, deferred %v", changed, deferred)
	}
	if c := local.Status.Conditions; len(c) != 1 || c[0].Type != batchv1.JobSuspended || c[0].Status != "True" || c[0].Reason != "MultiKueueAdapter" {
		t.Errorf("conditions are %+v", c)
	}
	if changed, deferred := batchjob.Kind().CopyStatus(local, remote); changed || !deferred {
		t.Errorf("again: changed %v, deferred %v", changed, deferred)
	}
	local.Spec.Suspend = ptr.To(false)
	if changed, deferred := batchjob.Kind().CopyStatus(local, remote); !changed || deferred || !local.Status.StartTime.Equal(&noon) {
		t.Errorf("after resuming: changed %v, deferred %v, start %v", changed, deferred, local.Status.StartTime)
	}
}

func TestStatusOfASecondRunNeverBreaksTheRulesOfTheLocalAPI(t *testing.T) {
	local, remote := sample(), sample()
	local.Spec.Suspend, remote.Spec.Suspend = ptr.To(false), ptr.To(false)
	started(local)
	local.Status.Failed, local.Status.Succeeded = 2, 1
	started(remote)
	later := metav1.NewTime(noon.Add(time.Hour))
	remote.Status.StartTime = &later
	remote.Status.Conditions = append(remote.Status.Conditions, condition(batchv1.JobFailureTarget, corev1.ConditionTrue))
	batchjob.Kind().CopyStatus(local, remote)
	if s := local.Status; !s.StartTime.Equal(&noon) || s.Failed != 2 || s.Succeeded != 1 {
		t.Errorf("start %v, failed %d, succeeded %d", s.StartTime, s.Failed, s.Succeeded)
	}
	for _, c := range local.Status.Conditions {
		if c.Type == batchv1.JobFailureTarget {
			t.Error("a condition that cannot be taken back was copied before the end")
		}
	}
}

func TestPartialAdmissionAnnotationsAreValidated(t *testing.T) {
	for name, c := range map[string]struct {
		annotations map[string]string
		change      func(*batchv1.Job)
		valid       bool
	}{
		"none":                             {nil, nil, true},
		"within bounds":                    {map[string]string{kueue.JobMinParallelismAnnotation: "2"}, nil, true},
		"zero":                             {map[string]string{kueue.JobMinParallelismAnnotation: "0"}, nil, false},
		"all pods":                         {map[string]string{kueue.JobMinParallelismAnnotation: "3"}, nil, false},
		"no number":                        {map[string]string{kueue.JobMinParallelismAnnotation: "few"}, nil, false},
		"elastic":                          {map[string]string{kueue.JobMinParallelismAnnotation: "2", kueue.ElasticJobAnnotation: "true"}, nil, false},
		"completions of a non-indexed Job": {map[string]string{kueue.JobCompletionsEqualParallelismAnnotation: "true"}, nil, false},
		"completions unlike parallelism": {map[string]string{kueue.JobCompletionsEqualParallelismAnnotation: "true"}, func(j *batchv1.Job) {
			j.Spec.CompletionMode = ptr.To(batchv1.IndexedCompletion)
		}, false},
		"completions like parallelism": {map[string]string{kueue.JobCompletionsEqualParallelismAnnotation: "true"}, func(j *batchv1.Job) {
			j.Spec.CompletionMode, j.Spec.Completions = ptr.To(batchv1.IndexedCompletion), j.Spec.Parallelism
		}, true},
	} {
		j := sample()
		j.Annotations = c.annotations
		if c.change != nil {
			c.change(j)
		}
		if errs := batchjob.Kind().Webhook.Validate(nil, j); (len(errs) == 0) != c.valid {
			t.Errorf("%s: %v", name, errs)
		}
	}
}

func TestCountsOfAPartlyAdmittedJobAreNotHeldAgainstIt(t *testing.T) {
	old := sample()
	old.Annotations[kueue.JobMinParallelismAnnotation] = "2"
	running := old.DeepCopy()
	running.Spec.Suspend, running.Spec.Parallelism = ptr.To(false), ptr.To[int32](2)
	if errs := batchjob.Kind().Webhook.Validate(old, running); len(errs) > 0 {
		t.Errorf("starting: %v", errs)
	}
	stopping := running.DeepCopy()
	stopping.Spec.Suspend = ptr.To(true)
	stopping.Annotations[kueue.StoppingAnnotation] = "true"
	if errs := batchjob.Kind().Webhook.Validate(running, stopping); len(errs) > 0 {
		t.Errorf("stopping: %v", errs)
	}
}
