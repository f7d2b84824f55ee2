package job_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/rayjob"
	"switchyard.dev/worker/job/rayservice"
	"switchyard.dev/worker/workload"
)

// scaledByItsChild is a cluster in which an elastic job runs whose RayCluster the autoscaler changes.
func scaledByItsChild[T client.Object](t *testing.T, kind job.Kind[T], owner T, spec *rayv1.RayClusterSpec, started func(T)) *cluster {
	t.Helper()
	owner.SetResourceVersion("")
	owner.GetAnnotations()[kueue.ElasticJobAnnotation] = "true"
	spec.EnableInTreeAutoscaling = ptr.To(true)
	child := &rayv1.RayCluster{Spec: *spec.DeepCopy()}
	child.Namespace, child.Name, child.UID = namespace, owner.GetName()+"-abcde", "child-uid"
	child.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, kind.GVK)}
	c := newClusterWith(t, func(o *options) { o.WaitForPodsReady = false }, owner, newFlavor("arm"))
	drive(c, kind, owner.GetName())
	c.reconcileAll()
	c.admit("arm")
	c.reconcileAll()
	now := kind.New()
	c.requireNoError(c.Get(context.Background(), client.ObjectKeyFromObject(owner), now))
	started(now)
	c.requireNoError(c.Status().Update(context.Background(), now))
	c.requireNoError(c.Create(context.Background(), child))
	return c
}

func elasticRayJob(t *testing.T) *cluster {
	t.Helper()
	j := newRayJob()
	return scaledByItsChild(t, rayjob.Kind(), j, j.Spec.RayClusterSpec, rayjob.Examples().Started)
}

func (c *cluster) autoscale(change func(*rayv1.RayCluster)) {
	c.Helper()
	rc := c.rayCluster(c.target + "-abcde")
	change(rc)
	c.requireNoError(c.Update(context.Background(), rc))
}

func replicas(group int, n int32) func(*rayv1.RayCluster) {
	return func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs[group].Replicas = &n }
}

func countsOf(wl *kueue.Workload) map[string]int32 {
	counts := map[string]int32{}
	for _, set := range wl.Spec.PodSets {
		counts[string(set.Name)] = set.Count
	}
	return counts
}

func TestAnElasticRayJobIsAsLargeAsItsAutoscalerMakesItsRayCluster(t *testing.T) {
	c := elasticRayJob(t)
	first := c.running()
	c.wantWrites()
	c.autoscale(replicas(0, 7))
	c.wantWrites("create Workload")
	next := c.pending()
	want := map[string]int32{"head": 1, "small": 7, "tpu": 8, "submitter": 1}
	if diff := cmp.Diff(want, countsOf(next)); diff != "" {
		t.Errorf("the next slice asks for (-want +got):\n%s", diff)
	}
	if !workload.ReplacesSlice(next, first) {
		t.Errorf("it replaces nothing: %v", next.Annotations)
	}
	c.autoscale(replicas(1, 3))
	c.wantWrites("patch Workload")
	if got := countsOf(c.pending())["tpu"]; got != 12 {
		t.Errorf("the slice that waits asks for %d pods of the other group", got)
	}
}

func TestAnElasticRayJobShrinksInPlaceWithItsRayCluster(t *testing.T) {
	c := elasticRayJob(t)
	c.autoscale(replicas(0, 1))
	c.reconcileAll()
	if got := countsOf(c.running()); len(c.workloads()) != 1 || got["small"] != 1 {
		t.Errorf("%d Workloads, of which one asks for %v", len(c.workloads()), got)
	}
}

// Somebody else's RayCluster of that name says nothing about the job, nor does one of a job that is not scaled by the autoscaler.
func TestWhatIsNotTheJobsOwnAutoscaledRayClusterDoesNotScaleIt(t *testing.T) {
	for name, change := range map[string]func(*cluster){
		"another's": func(c *cluster) {
			c.autoscale(func(rc *rayv1.RayCluster) { rc.OwnerReferences[0].UID = "another" })
		},
		"without autoscaling": func(c *cluster) {
			j := c.rayJob()
			j.Spec.RayClusterSpec.EnableInTreeAutoscaling = nil
			c.requireNoError(c.Update(context.Background(), j))
			c.reconcileAll()
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := elasticRayJob(t)
			change(c)
			c.autoscale(replicas(0, 7))
			c.reconcileAll()
			for _, wl := range c.workloads() {
				if got := countsOf(&wl)["small"]; got != 3 {
					t.Errorf("%s asks for %d pods", wl.Name, got)
				}
			}
		})
	}
}

func TestARayClusterWithAGroupThatItsRayJobDoesNotHave(t *testing.T) {
	c := elasticRayJob(t)
	c.autoscale(func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs[1].GroupName = "other" })
	c.wantWrites()
	if events := c.events(); len(events) == 0 || len(c.workloads()) != 1 {
		t.Errorf("events %q, %d Workloads", events, len(c.workloads()))
	}
}

func TestAnElasticRayServiceIsAsLargeAsTheRayClusterThatServes(t *testing.T) {
	rs := rayservice.Examples().Job()
	c := scaledByItsChild(t, rayservice.Kind(), rs, &rs.Spec.RayClusterSpec, func(rs *rayv1.RayService) {
		rayservice.Examples().Started(rs)
		rs.Status.ActiveServiceStatus.RayClusterName = rs.Name + "-abcde"
	})
	c.autoscale(replicas(0, 7))
	c.wantWrites("create Workload")
	if got := countsOf(c.pending()); got["small"] != 7 || got["tpu"] != 8 {
		t.Errorf("the next slice asks for %v", got)
	}
}
