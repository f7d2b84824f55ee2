package job_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/batchjob"
	"switchyard.dev/worker/job/raycluster"
	"switchyard.dev/worker/job/rayjob"
	"switchyard.dev/worker/job/rayservice"
	"switchyard.dev/worker/workload"
)

// withRayKinds registers what the reconcilers of the kinds of ray.io need.
func withRayKinds(b *fake.ClientBuilder, s *runtime.Scheme) *fake.ClientBuilder {
	gates := job.DefaultGates()
	for _, index := range slices.Concat(job.Indexes(raycluster.Kind(), gates, s), job.Indexes(rayjob.Kind(), gates, s), job.Indexes(rayservice.Kind(), gates, s)) {
		b = b.WithIndex(index.Of, index.Field, index.Keys)
	}
	return b.WithStatusSubresource(&rayv1.RayCluster{}, &rayv1.RayJob{}, &rayv1.RayService{})
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

func newRayJob() *rayv1.RayJob {
	j := rayjob.Examples().Job()
	j.ResourceVersion = ""
	return j
}

func (c *cluster) rayJob() *rayv1.RayJob {
	c.Helper()
	j := &rayv1.RayJob{}
	c.requireNoError(c.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: c.target}, j))
	return j
}

func (c *cluster) setDeployment(status rayv1.JobDeploymentStatus) {
	c.Helper()
	j := c.rayJob()
	j.Status.JobDeploymentStatus = status
	c.requireNoError(c.Status().Update(context.Background(), j))
}

// TestARayJobThatKubeRayRefusesIsOnHold follows the public tests (contract: job-kinds.md 17.3).
func TestARayJobThatKubeRayRefusesIsOnHold(t *testing.T) {
	c := newCluster(t, newRayJob(), newFlavor("arm"))
	drive(c, rayjob.Kind(), newRayJob().Name)
	c.reconcileAll()
	c.admit("arm")
	c.reconcileAll()
	if c.rayJob().Spec.SubmitterPodTemplate == nil {
		t.Error("the submitter is not in the spec of the RayJob that runs")
	}
	c.setDeployment(rayv1.JobDeploymentStatusValidationFailed)
	c.wantWrites("patch RayJob", "apply Workload/status")
	c.hasCondition(kueue.WorkloadQuotaReserved, "False OnHold")
	if held := c.workload(); held.Status.Admission != nil || !c.rayJob().Spec.Suspend {
		t.Errorf("it has quota %v, or is not suspended", held.Status.Admission)
	}
	found := meta.FindStatusCondition(c.workload().Status.Conditions, kueue.WorkloadQuotaReserved)
	if found.Message != "Job is on hold" {
		t.Errorf("the message is %q", found.Message)
	}
	c.setDeployment(rayv1.JobDeploymentStatusSuspended)
	c.wantWrites("apply Workload/status")
	c.hasCondition(kueue.WorkloadQuotaReserved, "False "+string(admission.PendingEvaluation))
}

func TestARayJobThatWasDeactivatedIsNotPutOnHold(t *testing.T) {
	c := newCluster(t, newRayJob())
	drive(c, rayjob.Kind(), newRayJob().Name)
	c.reconcileAll()
	wl := c.workload()
	wl.Spec.Active = ptr.To(false)
	c.requireNoError(c.Update(context.Background(), wl))
	c.setDeployment(rayv1.JobDeploymentStatusValidationFailed)
	c.wantWrites()
}

func TestARayJobOnAnExistingClusterIsLeftAlone(t *testing.T) {
	j := newRayJob()
	j.Spec.ClusterSelector, j.Spec.RayClusterSpec, j.Spec.Suspend = map[string]string{"ray.io/cluster": "mine"}, nil, false
	created := j.DeepCopy()
	c := newCluster(t, j)
	drive(c, rayjob.Kind(), j.Name)
	c.wantWrites()
	hook := job.NewWebhook(rayjob.Kind(), c.options, c, true)
	if err := hook.Default(context.Background(), created); err != nil || created.Spec.Suspend {
		t.Errorf("it is created as suspended (%v)", err)
	}
	if _, err := hook.ValidateCreate(context.Background(), created); err != nil {
		t.Errorf("it is refused: %v", err)
	}
}

// childCluster is the RayCluster that KubeRay makes for newRayJob, with the labels and annotations of the RayJob.
func childCluster() *rayv1.RayCluster {
	parent := newRayJob()
	rc := &rayv1.RayCluster{Spec: *parent.Spec.RayClusterSpec.DeepCopy()}
	rc.Namespace, rc.Name, rc.UID = namespace, parent.Name+"-abcde", "child-uid"
	rc.Labels = map[string]string{kueue.QueueNameLabel: "main", kueue.MaxExecTimeSecondsLabel: "9"}
	rc.Annotations = map[string]string{
		kueue.PrebuiltWorkloadNameKey: "prebuilt", kueue.ElasticJobAnnotation: "true", kueue.AdmissionGatedByAnnotation: "budget",
	}
	rc.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(parent, rayjob.Kind().GVK)}
	return rc
}

// What KubeRay has copied from the RayJob says nothing about its RayCluster, but that the pods of an elastic one wait for their gate.
func TestTheRayClusterOfARayJobIsNoJobOfItsOwn(t *testing.T) {
	parent := newRayJob()
	rayjob.Examples().Started(parent)
	parent.Spec.Suspend = false
	for name, admitted := range map[string]bool{"admitted": true, "not admitted": false} {
		t.Run(name, func(t *testing.T) {
			wl := admittedFor(parent, rayjob.Kind().GVK)
			if !admitted {
				wl.Status.Conditions = nil
			}
			free := prebuilt()
			c := newClusterWith(t, func(o *options) { o.ManageJobsWithoutQueueName = true }, parent.DeepCopy(), childCluster(), wl, free)
			drive(c, raycluster.Kind(), childCluster().Name)
			c.reconcileAll()
			if suspended := ptr.Deref(c.rayCluster(c.target).Spec.Suspend, false); suspended == admitted {
				t.Errorf("suspended %v", suspended)
			}
			if n := len(c.workloads()); n != 2 {
				t.Errorf("%d Workloads", n)
			}
			created := childCluster()
			if err := job.NewWebhook(raycluster.Kind(), c.options, c, true).Default(context.Background(), created); err != nil {
				t.Fatal(err)
			}
			if created.Spec.Suspend != nil || created.Spec.ManagedBy != nil {
				t.Errorf("it is created as suspended or handed over: %+v", created.Spec)
			}
			if gates := created.Spec.HeadGroupSpec.Template.Spec.SchedulingGates; len(gates) != 1 || gates[0].Name != kueue.ElasticJobSchedulingGate {
				t.Errorf("the head's gates are %v", gates)
			}
		})
	}
}

// The cache may show a RayJob as it was before KubeRay named the RayCluster that it then made.
func TestARayClusterIsTheChildOfTheRayJobThatNamedItAMomentAgo(t *testing.T) {
	parent := newRayJob()
	cached := parent.DeepCopy()
	rayjob.Examples().Started(parent)
	for name, row := range map[string]struct {
		live  *rayv1.RayJob
		child bool
	}{"named": {parent, true}, "not named": {cached, false}} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, row.live.DeepCopy(), childCluster())
			stale := interceptor.NewClient(c.Client.(client.WithWatch), interceptor.Funcs{
				Get: func(ctx context.Context, w client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
					if j, ok := obj.(*rayv1.RayJob); ok {
						cached.DeepCopyInto(j)
						return nil
					}
					return w.Get(ctx, key, obj, opts...)
				},
			})
			c.target, c.reconciler = childCluster().Name, job.NewReconciler(raycluster.Kind(), c.options, stale, c.Client, c.recorder)
			c.reconcileOnce()
			// As a job of its own it would be stopped for the prebuilt Workload that it names and that does not exist.
			events := c.events()
			if child := slices.Equal(events, []string{kueue.EventSuspended}); child != row.child {
				t.Errorf("events are %q", events)
			}
		})
	}
}

// newRayService is a RayService whose state is kept in Redis, and the RayCluster that KubeRay has made for it.
func newRayService() (*rayv1.RayService, *rayv1.RayCluster) {
	rs := rayservice.Examples().Job()
	rs.ResourceVersion, rs.Spec.RayClusterSpec.GcsFaultToleranceOptions = "", &rayv1.GcsFaultToleranceOptions{}
	rayservice.Examples().Started(rs)
	rc := &rayv1.RayCluster{Spec: *rs.Spec.RayClusterSpec.DeepCopy()}
	rc.Namespace, rc.Name, rc.UID = namespace, rs.Status.ActiveServiceStatus.RayClusterName, "child-uid"
	rc.Labels = raycluster.ChildLabels("RayService", rs)
	rc.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(rs, rayservice.Kind().GVK)}
	return rs, rc
}

// KubeRay does not look after the status of a RayService that has no head any more. It may say for ever that it is ready.
func TestTheRayClustersOfAnEvictedRayServiceTellWhenItsPodsAreGone(t *testing.T) {
	rs, rc := newRayService()
	c := newCluster(t, rs, rc, newFlavor("arm"))
	drive(c, rayservice.Kind(), rs.Name)
	c.reconcileAll()
	c.admit("arm")
	c.reconcileAll()
	c.setRayStatus(rc.Name, rayConditions(metav1.ConditionFalse, metav1.ConditionFalse))
	c.apply(func(wl *kueue.Workload) { workload.Evict(wl, lifecycle.Eviction{Reason: "Preempted"}, c.clock.Now()) })
	c.reconcileAll()
	if c.workload().Status.Admission == nil {
		t.Fatal("the quota is given back while pods run")
	}
	c.setRayStatus(rc.Name, rayConditions(metav1.ConditionTrue, metav1.ConditionFalse))
	c.reconcileAll()
	if c.workload().Status.Admission != nil {
		t.Error("the quota is kept though the last pod is gone")
	}
}

func TestARayServiceKeepsItsQuotaUntilRedisIsCleanedUp(t *testing.T) {
	for name, row := range map[string]struct {
		gate      bool
		finalizer string
		children  bool
		tolerant  bool
		keeps     bool
	}{
		"deleted in the background":                          {true, "example.com/mine", true, true, true},
		"deleted in the background, without a cluster":       {true, "example.com/mine", false, true, true},
		"deleted in the foreground":                          {true, metav1.FinalizerDeleteDependents, true, true, true},
		"deleted in the foreground, its clusters being gone": {true, metav1.FinalizerDeleteDependents, false, true, false},
		"without Redis":                                      {true, "example.com/mine", true, false, false},
		"with the gate off":                                  {false, "example.com/mine", true, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			rs, rc := newRayService()
			if !row.tolerant {
				rs.Spec.RayClusterSpec.GcsFaultToleranceOptions = nil
			}
			rs.Finalizers = []string{row.finalizer}
			objects := []client.Object{rs}
			if row.children {
				objects = append(objects, rc)
			}
			c := newClusterWith(t, func(o *options) { o.Gates.DeferRayServiceFinalization = row.gate }, objects...)
			drive(c, rayservice.Kind(), rs.Name)
			c.reconcileAll()
			c.requireNoError(c.Delete(context.Background(), rs))
			c.reconcileAll()
			if keeps := len(c.workload().Finalizers) > 0; keeps != row.keeps {
				t.Errorf("it keeps its Workload: %v", keeps)
			}
		})
	}
}

func TestWhatARayServiceServesMayChangeWhileItRuns(t *testing.T) {
	rs, rc := newRayService()
	c := newCluster(t, rs, rc, newFlavor("arm"))
	drive(c, rayservice.Kind(), rs.Name)
	c.reconcileAll()
	c.admit("arm")
	c.reconcileAll()
	running := &rayv1.RayService{}
	c.requireNoError(c.Get(context.Background(), client.ObjectKeyFromObject(rs), running))
	running.Spec.ServeConfigV2 = "applications: [{name: other}]"
	c.requireNoError(c.Update(context.Background(), running))
	c.wantWrites()
}

// KubeRay copies the labels of a RayService that was moved to another queue to its RayCluster, in the write that resumes it.
func TestTheRayClusterOfARayServiceFollowsItsLabels(t *testing.T) {
	for name, owned := range map[string]bool{"the RayCluster of a RayService": true, "a RayCluster of its own": false} {
		t.Run(name, func(t *testing.T) {
			rs, rc := newRayService()
			rc.Labels[kueue.QueueNameLabel] = "main"
			if !owned {
				rc.OwnerReferences = nil
			}
			c := newCluster(t, rs, rc)
			moved := rc.DeepCopy()
			moved.Labels[kueue.QueueNameLabel], moved.Spec.Suspend = "other", ptr.To(false)
			_, err := job.NewWebhook(raycluster.Kind(), c.options, c, true).ValidateUpdate(context.Background(), rc, moved)
			if accepted := err == nil; accepted != owned {
				t.Errorf("accepted %v: %v", accepted, err)
			}
		})
	}
}

func TestAnOwnerDoesNotLetAUserChangeWhatAHubHasWritten(t *testing.T) {
	for name, change := range map[string]func(*rayv1.RayCluster){
		"the epoch":               func(rc *rayv1.RayCluster) { rc.Annotations[switchyard.EpochAnnotation] = "9" },
		"the origin":              func(rc *rayv1.RayCluster) { delete(rc.Labels, kueue.MultiKueueOriginLabel) },
		"the UID of its Workload": func(rc *rayv1.RayCluster) { rc.Annotations[switchyard.OwnerUIDAnnotation] = "v" },
		"the epoch without queues": func(rc *rayv1.RayCluster) {
			rc.Annotations[switchyard.EpochAnnotation] = "9"
			delete(rc.Labels, kueue.QueueNameLabel)
		},
	} {
		t.Run(name, func(t *testing.T) {
			rs, rc := newRayService()
			rc.Labels[kueue.QueueNameLabel], rc.Labels[kueue.MultiKueueOriginLabel] = "main", "hub"
			rc.Annotations = map[string]string{switchyard.OwnerUIDAnnotation: "u", switchyard.EpochAnnotation: "3"}
			made := rc.DeepCopy()
			made.OwnerReferences = nil
			change(rc)
			c := newClusterWith(t, func(o *job.Options) { o.Gates.ValidateRayAndSparkUpdates = false }, rs, made)
			if _, err := job.NewWebhook(raycluster.Kind(), c.options, c, true).ValidateUpdate(context.Background(), made, rc); err == nil {
				t.Error("it may be changed together with an owner that speaks for the job")
			}
		})
	}
}

// KubeRay stops the RayCluster of a RayJob that is suspended. Whoever does so before has it resumed: its pods would be made again.
func TestTheChildrenOfAnEvictedJobAreLeftToItsControllerForAWhile(t *testing.T) {
	for name, row := range map[string]struct {
		evicted time.Duration // after now
		quota   bool
		wait    bool
	}{
		"just evicted":                     {0, true, true},
		"evicted a while ago":              {-time.Minute, true, false},
		"evicted, if it is true, tomorrow": {24 * time.Hour, true, false},
		"evicted, without quota":           {0, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			parent := newRayJob()
			rayjob.Examples().Started(parent)
			parent.Spec.Suspend = false
			wl := admittedFor(parent, rayjob.Kind().GVK)
			c := newCluster(t, parent.DeepCopy(), childCluster(), wl)
			if row.quota {
				workload.ReserveQuota(wl, &kueue.Admission{ClusterQueue: "cq"}, nil, "Quota reserved", c.clock.Now())
			}
			workload.Evict(wl, lifecycle.Eviction{Reason: "Preempted"}, c.clock.Now().Add(row.evicted))
			c.requireNoError(c.Status().Update(context.Background(), wl))
			drive(c, raycluster.Kind(), childCluster().Name)
			again := c.reconcileOnce()
			if waits := !ptr.Deref(c.rayCluster(c.target).Spec.Suspend, false); waits != row.wait || waits && again.RequeueAfter <= 0 {
				t.Fatalf("it waits: %t, and looks again after %v", waits, again.RequeueAfter)
			}
			c.clock.Step(time.Minute)
			c.reconcileAll()
			if !ptr.Deref(c.rayCluster(c.target).Spec.Suspend, false) {
				t.Error("it is not suspended though nobody else has done so for a minute")
			}
		})
	}
}
