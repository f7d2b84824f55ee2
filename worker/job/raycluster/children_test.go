package raycluster_test

import (
	"strings"
	"testing"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"switchyard.dev/worker/job/raycluster"
)

// cleanup is the Job that KubeRay makes after the head of deletedCluster is gone.
func cleanup() *batchv1.Job {
	small := resources("cpu=200m memory=256Mi", "cpu=200m memory=256Mi")
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster-redis-cleanup"},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "ray", Resources: small}},
		}}},
	}
}

func deletedCluster() *rayv1.RayCluster {
	rc := sample()
	rc.Spec.HeadGroupSpec.Template.Spec.Containers[0].Resources = resources("cpu=8 nvidia.com/gpu=1", "")
	rc.Spec.GcsFaultToleranceOptions = &rayv1.GcsFaultToleranceOptions{}
	rc.DeletionTimestamp = &noon
	return rc
}

func TestTheOnlyChildOfARayClusterCleansRedisUp(t *testing.T) {
	long := strings.Repeat("a", 48) + "-bcd"
	for name, row := range map[string]struct {
		change func(*rayv1.RayCluster, *batchv1.Job)
		want   bool
	}{
		"as KubeRay makes it":           {func(*rayv1.RayCluster, *batchv1.Job) {}, true},
		"under another name":            {func(_ *rayv1.RayCluster, j *batchv1.Job) { j.Name = "cluster-redis-cleanup-2" }, false},
		"under a name that was cut off": {func(rc *rayv1.RayCluster, j *batchv1.Job) { rc.Name, j.Name = long, long[3:]+"-redis-cleanup" }, true},
		"under a name that was cut off at a hyphen": {func(rc *rayv1.RayCluster, j *batchv1.Job) {
			rc.Name, j.Name = "aaa-"+long[4:], "r"+long[4:]+"-redis-cleanup"
		}, true},
		"of a RayCluster that stays":    {func(rc *rayv1.RayCluster, _ *batchv1.Job) { rc.DeletionTimestamp = nil }, false},
		"of a RayCluster without Redis": {func(rc *rayv1.RayCluster, _ *batchv1.Job) { rc.Spec.GcsFaultToleranceOptions = nil }, false},
		"of two pods":                   {func(_ *rayv1.RayCluster, j *batchv1.Job) { j.Spec.Parallelism = ptr.To[int32](2) }, false},
		"of a larger pod": {func(_ *rayv1.RayCluster, j *batchv1.Job) {
			j.Spec.Template.Spec.Containers[0].Resources = resources("cpu=300m", "")
		}, false},
		"of a pod with the head's device": {func(_ *rayv1.RayCluster, j *batchv1.Job) {
			j.Spec.Template.Spec.Containers[0].Resources = resources("nvidia.com/gpu=1", "")
		}, false},
		"of a pod with what the head loads": {func(rc *rayv1.RayCluster, j *batchv1.Job) {
			initialised(&rc.Spec.HeadGroupSpec.Template, &j.Spec.Template)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			rc, j := deletedCluster(), cleanup()
			row.change(rc, j)
			children := raycluster.Kind().Children
			if got := children.Covers(rc, j); got != row.want {
				t.Errorf("covered %v, want %v", got, row.want)
			}
			if got := children.CleansUp(rc, j); got != row.want {
				t.Errorf("runs whatever the Workload says: %v, want %v", got, row.want)
			}
		})
	}
	if raycluster.Kind().Children.Covers(deletedCluster(), sample()) {
		t.Error("a RayCluster makes no RayClusters")
	}
}

// initialised gives both templates an init container.
func initialised(templates ...*corev1.PodTemplateSpec) {
	for _, t := range templates {
		t.Spec.InitContainers = []corev1.Container{{Name: "load", Resources: resources("cpu=1", "")}}
	}
}

func TestWhatARayClusterMayAskForAsTheChildOfAnotherJob(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*rayv1.RayCluster)
		want   bool
	}{
		"the same":                     {func(*rayv1.RayCluster) {}, true},
		"fewer pods":                   {func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs[1].Replicas = ptr.To[int32](0) }, true},
		"fewer groups":                 {func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs = rc.Spec.WorkerGroupSpecs[:1] }, true},
		"more pods":                    {func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs[1].Replicas = ptr.To[int32](3) }, false},
		"more pods at least":           {func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs[1].MinReplicas = ptr.To[int32](3) }, false},
		"more pods, elastic":           {func(rc *rayv1.RayCluster) { elastic(rc); rc.Spec.WorkerGroupSpecs[1].Replicas = ptr.To[int32](3) }, false},
		"more pods, elastic and gated": {func(rc *rayv1.RayCluster) { gated(rc); rc.Spec.WorkerGroupSpecs[1].Replicas = ptr.To[int32](3) }, true},
		"a group more": {func(rc *rayv1.RayCluster) {
			rc.Spec.WorkerGroupSpecs = append(rc.Spec.WorkerGroupSpecs, rayv1.WorkerGroupSpec{GroupName: "x"})
		}, false},
		"another group": {named("x"), false},
		"greater workers": {func(rc *rayv1.RayCluster) {
			rc.Spec.WorkerGroupSpecs[0].Template.Spec.Containers[0].Resources = resources("cpu=1", "")
		}, false},
		"an autoscaler": {scaled, false},
		"what cannot be counted at all": {func(rc *rayv1.RayCluster) {
			rc.Spec.WorkerGroupSpecs[0].Replicas, rc.Spec.WorkerGroupSpecs[0].MinReplicas = ptr.To[int32](-1), ptr.To[int32](-1)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			paid := podSets(t, sample())
			child := sample()
			row.change(child)
			if got := raycluster.AsksAtMost(child, paid); got != row.want {
				t.Errorf("asks for no more: %v, want %v", got, row.want)
			}
		})
	}
}
