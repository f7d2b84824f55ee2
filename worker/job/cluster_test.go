package job_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	jobsetv1 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/all"
	"switchyard.dev/worker/job/batchjob"
	"switchyard.dev/worker/job/jobset"
	"switchyard.dev/worker/job/jobtest"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

const (
	namespace = "team"
	jobName   = "train"
)

// cluster is an API server in memory with the reconciler of batch Jobs, driven by hand.
type cluster struct {
	*testing.T
	client.Client
	reconciler reconcile.Reconciler
	// restart makes the reconciler forget what it has written.
	restart func()
	// jobSets is the reconciler of JobSets; make it the reconciler to drive that one.
	jobSets  reconcile.Reconciler
	clock    *testclock.FakeClock
	recorder *events.FakeRecorder
	options  job.Options
	// failingReads makes the reconciler's cache forget all Workloads, hidden all Jobs; stale makes it return this job, and
	// staleWorkload this Workload.
	failingReads, hidden bool
	stale                *batchv1.Job
	staleWorkload        *kueue.Workload
	// target is the name of the job that is reconciled.
	target string
	// writes are the API calls of the reconciler that changed something, in order.
	writes []string
	// listed is how many Workloads the reconciler's lists had.
	listed int
}

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	return newClusterWith(t, func(*job.Options) {}, objects...)
}

func newClusterWith(t *testing.T, configure func(*job.Options), objects ...client.Object) *cluster {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, kueue.AddToScheme, jobsetv1.AddToScheme, rayv1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	c := &cluster{
		T: t, target: jobName, clock: testclock.NewFakeClock(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)),
		recorder: events.NewFakeRecorder(100),
	}
	c.options = job.Options{WaitForPodsReady: true, Kinds: all.Kinds(), Gates: job.DefaultGates(), Clock: c.clock}
	configure(&c.options)
	objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{"managed": "yes"}}})
	builder := withRayKinds(fake.NewClientBuilder().WithScheme(s), s)
	for _, index := range slices.Concat(job.Indexes(batchjob.Kind(), job.DefaultGates(), s), job.Indexes(jobset.Kind(), job.DefaultGates(), s)) {
		builder = builder.WithIndex(index.Of, index.Field, index.Keys)
	}
	inner := builder.WithTypeConverters(jobtest.Converters(t)...).WithStatusSubresource(&kueue.Workload{}, &batchv1.Job{}, &jobsetv1.JobSet{}).WithObjects(objects...).Build()
	c.Client = inner
	c.restart = func() {
		c.reconciler = job.NewReconciler(batchjob.Kind(), c.options, c.countWrites(inner), inner, c.recorder)
	}
	c.restart()
	c.jobSets = job.NewReconciler(jobset.Kind(), c.options, c.countWrites(inner), inner, c.recorder)
	return c
}

// countWrites notes every write.
func (c *cluster) countWrites(inner client.WithWatch) client.Client {
	note := func(verb string, obj any, sub string) {
		kind := strings.TrimPrefix(fmt.Sprintf("%T", obj), "*")
		kind = kind[strings.LastIndex(kind, ".")+1:]
		c.writes = append(c.writes, strings.TrimSuffix(verb+" "+kind+"/"+sub, "/"))
	}
	return interceptor.NewClient(inner, interceptor.Funcs{
		List: func(ctx context.Context, w client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if c.failingReads {
				return nil
			}
			if workloads, ok := list.(*kueue.WorkloadList); ok && c.staleWorkload != nil {
				workloads.Items = []kueue.Workload{*c.staleWorkload.DeepCopy()}
				return nil
			}
			err := w.List(ctx, list, opts...)
			if workloads, ok := list.(*kueue.WorkloadList); ok {
				c.listed += len(workloads.Items)
			}
			return err
		},
		Get: func(ctx context.Context, w client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if j, ok := obj.(*batchv1.Job); ok && c.stale != nil {
				c.stale.DeepCopyInto(j)
				return nil
			}
			if _, ok := obj.(*batchv1.Job); ok && c.hidden {
				return apierrors.NewNotFound(batchv1.Resource("jobs"), key.Name)
			}
			return w.Get(ctx, key, obj, opts...)
		},
		Create: func(ctx context.Context, w client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			note("create", obj, "")
			obj.SetUID(types.UID("uid-of-" + obj.GetName())) // the fake server gives none
			return w.Create(ctx, obj, opts...)
		},
		Delete: func(ctx context.Context, w client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			note("delete", obj, "")
			return w.Delete(ctx, obj, opts...)
		},
		Patch: func(ctx context.Context, w client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
			note("patch", obj, "")
			return w.Patch(ctx, obj, p, opts...)
		},
		SubResourcePatch: func(ctx context.Context, w client.Client, sub string, obj client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			verb := "patch"
			if p.Type() == types.ApplyPatchType {
				verb = "apply"
			}
			note(verb, obj, sub)
			return w.SubResource(sub).Patch(ctx, obj, p, opts...)
		},
	})
}

// reconcileOnce reconciles the job one time.
func (c *cluster) reconcileOnce() ctrl.Result {
	c.Helper()
	req := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: c.target}}
	result, err := c.reconciler.Reconcile(context.Background(), req)
	if err != nil {
		c.Fatalf("reconcile: %v", err)
	}
	return result
}

// reconcileAll reconciles the job until nothing is written any more, and returns what was.
func (c *cluster) reconcileAll() []string {
	c.Helper()
	c.writes = nil
	for range 20 {
		before := len(c.writes)
		c.reconcileOnce()
		if len(c.writes) == before {
			return c.writes
		}
	}
	c.Fatalf("the reconciler does not come to rest: %v", c.writes)
	return nil
}

func (c *cluster) wantWrites(want ...string) {
	c.Helper()
	if diff := cmp.Diff(want, c.reconcileAll()); diff != "" {
		c.Errorf("writes differ (-want +got):\n%s", diff)
	}
}

// events returns the reasons of the events since the last call.
func (c *cluster) events() []string {
	var reasons []string
	for {
		select {
		case e := <-c.recorder.Events:
			reasons = append(reasons, strings.Fields(e)[1])
		default:
			return reasons
		}
	}
}

func (c *cluster) wantEvents(want ...string) {
	c.Helper()
	if diff := cmp.Diff(want, c.events()); diff != "" {
		c.Errorf("events differ (-want +got):\n%s", diff)
	}
}

func (c *cluster) job() *batchv1.Job {
	c.Helper()
	j := &batchv1.Job{}
	c.requireNoError(c.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: c.target}, j))
	return j
}

// workload returns the only Workload.
func (c *cluster) workload() *kueue.Workload {
	c.Helper()
	list := c.workloads()
	if len(list) != 1 {
		c.Fatalf("%d workloads", len(list))
	}
	return &list[0]
}

func (c *cluster) workloads() []kueue.Workload {
	c.Helper()
	var list kueue.WorkloadList
	c.requireNoError(c.List(context.Background(), &list))
	return list.Items
}

func (c *cluster) requireNoError(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// changeJob changes metadata and spec of the job as its user would.
func (c *cluster) changeJob(change func(*batchv1.Job)) {
	c.Helper()
	j := c.job()
	change(j)
	c.requireNoError(c.Update(context.Background(), j))
}

// changeJobStatus changes the status as the kind's own controller would.
func (c *cluster) changeJobStatus(change func(*batchv1.JobStatus)) {
	c.Helper()
	j := c.job()
	change(&j.Status)
	c.requireNoError(c.Status().Update(context.Background(), j))
}

// apply changes the admission part of the Workload's status as its other writers do.
func (c *cluster) apply(change func(*kueue.Workload)) {
	c.Helper()
	wl := c.workload()
	change(wl)
	c.requireNoError(kube.ApplyAdmission(context.Background(), c.Client, wl))
}

func (c *cluster) admit(flavor string) {
	c.Helper()
	c.apply(func(wl *kueue.Workload) {
		a := &kueue.Admission{ClusterQueue: "cq"}
		for i := range wl.Spec.PodSets {
			a.PodSetAssignments = append(a.PodSetAssignments, assigned(wl.Spec.PodSets[i].Name, flavor, wl.Spec.PodSets[i].Count))
		}
		workload.ReserveQuota(wl, a, nil, "Quota reserved", c.clock.Now())
	})
}

func assigned(name kueue.PodSetReference, flavor string, count int32) kueue.PodSetAssignment {
	flavors := map[corev1.ResourceName]kueue.ResourceFlavorReference{"cpu": kueue.ResourceFlavorReference(flavor)}
	return kueue.PodSetAssignment{Name: name, Count: &count, Flavors: flavors}
}

func (c *cluster) condition(kind string) string {
	c.Helper()
	found := meta.FindStatusCondition(c.workload().Status.Conditions, kind)
	if found == nil {
		return ""
	}
	return string(found.Status) + " " + found.Reason
}

func (c *cluster) hasCondition(kind, want string) {
	c.Helper()
	if got := c.condition(kind); got != want {
		c.Errorf("condition %s is %q, want %q", kind, got, want)
	}
}

func newJob() *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: jobName, Namespace: namespace, UID: "job-uid",
			Labels: map[string]string{kueue.QueueNameLabel: "main"}, Annotations: map[string]string{},
		},
		Spec: batchv1.JobSpec{
			Suspend: ptr.To(true), Parallelism: ptr.To[int32](2), Completions: ptr.To[int32](2),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				NodeSelector: map[string]string{"arch": "arm64"},
				Containers:   []corev1.Container{{Name: "main", Image: "train:1"}},
			}},
		},
	}
}

func newFlavor(name string) *kueue.ResourceFlavor {
	return &kueue.ResourceFlavor{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: kueue.ResourceFlavorSpec{
			NodeLabels:  map[string]string{"gpu": name},
			Tolerations: []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}},
		},
	}
}
