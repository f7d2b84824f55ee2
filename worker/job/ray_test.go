package job_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/batchjob"
	"switchyard.dev/worker/job/raycluster"
	"switchyard.dev/worker/workload"
)

// withRayKinds registers what the reconcilers of the kinds of ray.io need.
func withRayKinds(b *fake.ClientBuilder, s *runtime.Scheme) *fake.ClientBuilder {
	for _, index := range job.Indexes(raycluster.Kind(), job.DefaultGates(), s) {
		b = b.WithIndex(index.Of, index.Field, index.Keys)
	}
	return b.WithStatusSubresource(&rayv1.RayCluster{})
}

// drive makes the reconciler of a kind the one that is driven, with the job of that name.
func drive[T client.Object](c *cluster, kind job.Kind[T], name string) {
	c.Helper()
	inner, ok := c.Client.(client.WithWatch)
	if !ok {
		c.Fatal("the API server in memory cannot be watched")
	}
	c.target, c.reconciler = name, job.NewReconciler(kind, c.options, c.countWrites(inner), inner, c.recorder)
}

// What clears away after a RayCluster that is being deleted has no Workload that could let it run, and must run: the deletion waits for it.
func TestTheJobThatCleansUpAfterARayClusterRuns(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*batchv1.Job)
		runs   bool
	}{
		"as KubeRay makes it": {func(*batchv1.Job) {}, true},
		"a larger one": {func(j *batchv1.Job) {
			j.Spec.Template.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("9")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			rc := raycluster.Examples().Job()
			rc.Spec.GcsFaultToleranceOptions = &rayv1.GcsFaultToleranceOptions{}
			rc.ResourceVersion, rc.DeletionTimestamp, rc.Finalizers = "", ptr.To(metav1.Now()), []string{"ray.io/gcs-ft-redis-cleanup-finalizer"}
			j := childOf(raycluster.Kind().GVK, rc.Name, string(rc.UID))
			j.Name, j.Spec.Parallelism, j.Spec.Completions = rc.Name+"-redis-cleanup", nil, nil
			j.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m")}
			row.change(j)
			created := j.DeepCopy()
			c := newClusterWith(t, func(o *options) { o.ManageJobsWithoutQueueName = true }, rc, j)
			c.target = j.Name
			c.reconcileAll()
			if runs := !ptr.Deref(c.job().Spec.Suspend, false); runs != row.runs {
				t.Errorf("it runs: %v", runs)
			}
			if err := job.NewWebhook(batchjob.Kind(), c.options, c, true).Default(context.Background(), created); err != nil {
				t.Fatal(err)
			}
			if runs := !ptr.Deref(created.Spec.Suspend, false); runs != row.runs {
				t.Errorf("it is created as one that runs: %v", runs)
			}
		})
	}
}

func (c *cluster) rayCluster(name string) *rayv1.RayCluster {
	c.Helper()
	rc := &rayv1.RayCluster{}
	c.requireNoError(c.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, rc))
	return rc
}

func (c *cluster) setRayStatus(name string, change func(*rayv1.RayClusterStatus)) {
	c.Helper()
	rc := c.rayCluster(name)
	change(&rc.Status)
	c.requireNoError(c.Status().Update(context.Background(), rc))
}

func rayConditions(suspended, suspending metav1.ConditionStatus) func(*rayv1.RayClusterStatus) {
	return func(s *rayv1.RayClusterStatus) {
		s.Conditions = []metav1.Condition{
			{Type: string(rayv1.RayClusterSuspended), Status: suspended, Reason: "r"}, {Type: string(rayv1.RayClusterSuspending), Status: suspending, Reason: "r"},
		}
	}
}

func TestAnEvictedRayClusterKeepsItsQuotaUntilKubeRayHasSeenTheLastPodGo(t *testing.T) {
	rc := raycluster.Examples().Job()
	rc.ResourceVersion, rc.Spec.EnableInTreeAutoscaling = "", ptr.To(true)
	user := rc.DeepCopy()
	c := newCluster(t, rc, newFlavor("arm"))
	drive(c, raycluster.Kind(), rc.Name)
	c.reconcileAll()
	c.admit("arm")
	c.reconcileAll()
	running := c.rayCluster(rc.Name)
	if head := running.Spec.HeadGroupSpec.Template.Spec; *running.Spec.Suspend || head.NodeSelector["gpu"] != "arm" || len(head.Containers) != 1 {
		t.Fatalf("it does not run as it was admitted: suspended %v, head %+v", *running.Spec.Suspend, head)
	}
	c.setRayStatus(rc.Name, rayConditions(metav1.ConditionFalse, metav1.ConditionFalse)) // its first pods start
	c.apply(func(wl *kueue.Workload) { workload.Evict(wl, lifecycle.Eviction{Reason: "Preempted"}, c.clock.Now()) })
	c.reconcileAll()
	for _, change := range []func(*rayv1.RayClusterStatus){func(*rayv1.RayClusterStatus) {}, rayConditions(metav1.ConditionFalse, metav1.ConditionTrue)} {
		c.setRayStatus(rc.Name, change)
		c.reconcileAll()
		if c.workload().Status.Admission == nil {
			t.Fatal("the quota is given back while pods run")
		}
	}
	if diff := cmp.Diff(user.Spec, c.rayCluster(rc.Name).Spec); diff != "" {
		t.Errorf("it is not suspended and restored (-want +got):\n%s", diff)
	}
	c.setRayStatus(rc.Name, rayConditions(metav1.ConditionTrue, metav1.ConditionFalse))
	c.reconcileAll()
	if c.workload().Status.Admission != nil {
		t.Error("the quota is kept though the last pod is gone")
	}
}
