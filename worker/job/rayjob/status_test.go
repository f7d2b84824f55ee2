package rayjob_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/worker/fence"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/rayjob"
)

func TestTheStatusOfTheDeploymentTellsHowFarARayJobIs(t *testing.T) {
	over := func(success bool) job.Progress {
		return job.Progress{Finished: &job.Outcome{Success: success, Message: "so it is"}}
	}
	for name, row := range map[string]struct {
		deployment rayv1.JobDeploymentStatus
		status     rayv1.JobStatus
		suspend    bool
		want       job.Progress
		waits      fence.Reaction
	}{
		"new":                                 {"", "", false, job.Progress{}, ""},
		"its cluster starts":                  {rayv1.JobDeploymentStatusInitializing, "", false, job.Progress{Active: true}, ""},
		"it runs":                             {rayv1.JobDeploymentStatusRunning, rayv1.JobStatusRunning, false, job.Progress{Active: true}, ""},
		"it is to stop":                       {rayv1.JobDeploymentStatusRunning, rayv1.JobStatusRunning, true, job.Progress{Active: true}, fence.PodsTold},
		"it stops":                            {rayv1.JobDeploymentStatusSuspending, rayv1.JobStatusRunning, true, job.Progress{Terminating: true}, fence.PodsEnd},
		"it has stopped":                      {rayv1.JobDeploymentStatusSuspended, "", true, job.Progress{}, ""},
		"resumed, which KubeRay has not seen": {rayv1.JobDeploymentStatusSuspended, "", false, job.Progress{}, fence.ControllerObserves},
		"it tries again":                      {rayv1.JobDeploymentStatusRetrying, rayv1.JobStatusFailed, false, job.Progress{Active: true}, ""},
		"it waits for its user":               {rayv1.JobDeploymentStatusWaiting, "", false, job.Progress{Active: true}, ""},
		"it was suspended when it waited":     {rayv1.JobDeploymentStatusWaiting, "", true, job.Progress{}, ""},
		"KubeRay refuses it":                  {rayv1.JobDeploymentStatusValidationFailed, "", false, job.Progress{OnHold: "Job is on hold"}, ""},
		"something that nobody knows":         {"Sleeping", "", false, job.Progress{Active: true}, ""},
		"it is complete":                      {rayv1.JobDeploymentStatusComplete, rayv1.JobStatusSucceeded, false, over(true), ""},
		"it is complete, and was stopped":     {rayv1.JobDeploymentStatusComplete, rayv1.JobStatusStopped, false, over(false), ""},
		"it failed":                           {rayv1.JobDeploymentStatusFailed, rayv1.JobStatusFailed, false, over(false), ""},
		"its submitter failed after it":       {rayv1.JobDeploymentStatusFailed, rayv1.JobStatusSucceeded, false, over(true), ""},
	} {
		t.Run(name, func(t *testing.T) {
			j := sample()
			j.Spec.Suspend = row.suspend
			j.Status = rayv1.RayJobStatus{JobDeploymentStatus: row.deployment, JobStatus: row.status, Message: "so it is"}
			if diff := cmp.Diff(row.want, rayjob.Kind().Progress(j)); diff != "" {
				t.Errorf("progress differs (-want +got):\n%s", diff)
			}
			if got, _ := job.NewIntegration(rayjob.Kind()).ExpectedReaction(j); got != row.waits {
				t.Errorf("it waits for %q, want %q", got, row.waits)
			}
		})
	}
}

func TestWhenKubeRayHasActed(t *testing.T) {
	noon := metav1.NewTime(time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC))
	j := sample()
	for _, set := range []func(*metav1.Time){
		func(at *metav1.Time) { j.Status.StartTime = at },
		func(at *metav1.Time) { j.Status.RayClusterStatus.LastUpdateTime = at },
		func(at *metav1.Time) { j.Status.EndTime = at },
	} {
		noon = metav1.NewTime(noon.Add(time.Second))
		set(ptr.To(noon))
		if got := job.NewIntegration(rayjob.Kind()).LastControllerUpdate(j); !got.Equal(noon.Time) {
			t.Errorf("%v, want %v", got, noon)
		}
	}
}

// running is a RayJob whose cluster KubeRay has named.
func running() *rayv1.RayJob {
	j := sample()
	rayjob.Examples().Started(j)
	return j
}

func cluster() *rayv1.RayCluster {
	return &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Name: "train-abcde"}, Spec: *running().Spec.RayClusterSpec}
}

func submitter() *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "train"}, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "ray-job-submitter", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")},
		}}},
	}}}}
}

func TestOnlyWhatKubeRayMakesForARayJobIsPaidForByIt(t *testing.T) {
	nobody := func(*rayv1.RayJob) {}
	rc := func(change func(*rayv1.RayCluster)) client.Object { c := cluster(); change(c); return c }
	sub := func(change func(*batchv1.Job)) client.Object { j := submitter(); change(j); return j }
	sidecar := func(j *rayv1.RayJob) { j.Spec.SubmissionMode = rayv1.SidecarMode }
	withSidecar := func(c *rayv1.RayCluster) {
		head := &c.Spec.HeadGroupSpec.Template.Spec
		head.Containers = append(head.Containers, submitter().Spec.Template.Spec.Containers...)
	}
	for name, row := range map[string]struct {
		job   func(*rayv1.RayJob)
		child client.Object
		want  bool
	}{
		"its cluster":                            {nobody, cluster(), true},
		"a cluster of another name":              {nobody, rc(func(c *rayv1.RayCluster) { c.Name = "train-fghij" }), false},
		"a cluster before it was named":          {func(j *rayv1.RayJob) { j.Status.RayClusterName = "" }, cluster(), false},
		"a cluster without a name":               {func(j *rayv1.RayJob) { j.Spec.RayClusterSpec = nil }, &rayv1.RayCluster{}, false},
		"a larger cluster":                       {nobody, rc(func(c *rayv1.RayCluster) { c.Spec.WorkerGroupSpecs[0].Replicas = ptr.To[int32](4) }), false},
		"a cluster with a submitter in its head": {sidecar, rc(withSidecar), true},
		"such a cluster of another mode":         {nobody, rc(withSidecar), false},
		"an existing cluster":                    {func(j *rayv1.RayJob) { j.Spec.ClusterSelector = map[string]string{"a": "b"} }, cluster(), false},
		"its submitter":                          {nobody, submitter(), true},
		"its submitter on an existing cluster":   {func(j *rayv1.RayJob) { j.Spec.ClusterSelector = map[string]string{"a": "b"} }, submitter(), false},
		"a submitter of another name":            {nobody, sub(func(j *batchv1.Job) { j.Name = "train-2" }), false},
		"a submitter of two pods":                {nobody, sub(func(j *batchv1.Job) { j.Spec.Parallelism = ptr.To[int32](2) }), false},
		"a larger submitter": {nobody, sub(func(j *batchv1.Job) {
			j.Spec.Template.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("2")
		}), false},
		"a submitter of a mode that has no Job":   {sidecar, submitter(), false},
		"what KubeRay does not make for a RayJob": {nobody, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "train"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			j := running()
			row.job(j)
			if got := rayjob.Kind().Children.Covers(j, row.child); got != row.want {
				t.Errorf("covered %v, want %v", got, row.want)
			}
		})
	}
}

func TestWhichChildHoldsPods(t *testing.T) {
	holds := rayjob.Kind().Children.HoldsPods
	ended := submitter()
	ended.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	stopped := submitter()
	stopped.Spec.Suspend = ptr.To(true)
	suspended := cluster()
	suspended.Spec.Suspend = ptr.To(true)
	for name, row := range map[string]struct {
		child client.Object
		want  bool
	}{
		"a cluster that may run": {cluster(), true}, "one that may not": {suspended, false},
		"a submitter that may run": {submitter(), true}, "a submitter that may not": {stopped, false}, "one that has ended": {ended, false},
		"what is no child": {&corev1.Pod{}, false},
	} {
		if got := holds(row.child); got != row.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
