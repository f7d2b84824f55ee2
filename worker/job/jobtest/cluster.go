package jobtest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

// cluster is an API server in memory with the reconciler and the webhooks of one kind, and one job, driven by hand.
type cluster[T client.Object] struct {
	*testing.T
	client.Client
	kind       job.Kind[T]
	key        client.ObjectKey
	options    job.Options
	reconciler reconcile.Reconciler
	webhook    job.WebhookHandlers[T]
	recorder   *events.FakeRecorder
	clock      *testclock.FakeClock
}

// newCluster has the job and what it names, a flavor, and a queue main whose ClusterQueue is cq.
func (s suite[T]) newCluster(j T, more ...client.Object) *cluster[T] {
	s.t.Helper()
	c := &cluster[T]{
		T: s.t, kind: s.kind, key: client.ObjectKeyFromObject(j), recorder: events.NewFakeRecorder(100),
		clock: testclock.NewFakeClock(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)),
	}
	c.options = job.Options{WaitForPodsReady: true, Kinds: []job.Integration{s.erased}, Gates: job.DefaultGates(), Clock: c.clock}
	objects := append(slices.Clone(more), j, queue(j.GetNamespace()), clusterQueue(), flavor(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: j.GetNamespace()}})
	if s.Inputs != nil {
		objects = append(objects, s.Inputs()...)
	}
	known := s.scheme()
	b := fake.NewClientBuilder().WithScheme(known).WithTypeConverters(Converters(s.t)...).
		WithStatusSubresource(&kueue.Workload{}, s.kind.New()).WithObjects(objects...)
	for _, index := range job.Indexes(s.kind, c.options.Gates, known) {
		b = b.WithIndex(index.Of, index.Field, index.Keys)
	}
	inner := b.Build()
	c.Client = interceptor.NewClient(inner, interceptor.Funcs{
		Create: func(ctx context.Context, w client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			obj.SetUID(types.UID("uid-of-" + obj.GetName())) // the server in memory gives none
			return w.Create(ctx, obj, opts...)
		},
	})
	c.reconciler = job.NewReconciler(s.kind, c.options, c.Client, c.Client, c.recorder)
	c.webhook = job.NewWebhook(s.kind, c.options, c.Client, true)
	return c
}

func (s suite[T]) scheme() *runtime.Scheme {
	s.t.Helper()
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, kueue.AddToScheme, s.kind.AddToScheme} {
		if err := add(known); err != nil {
			s.t.Fatal(err)
		}
	}
	return known
}

func queue(namespace string) *kueue.LocalQueue {
	return &kueue.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "main"}, Spec: kueue.LocalQueueSpec{ClusterQueue: "cq"},
	}
}

func clusterQueue(checks ...kueue.AdmissionCheckReference) *kueue.ClusterQueue {
	cq := &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: "cq"}}
	for _, name := range checks {
		cq.Spec.AdmissionChecksStrategy = &kueue.AdmissionChecksStrategy{AdmissionChecks: []kueue.AdmissionCheckStrategyRule{{Name: name}}}
	}
	return cq
}

// flavor has a node label and a toleration that no example has.
func flavor() *kueue.ResourceFlavor {
	return &kueue.ResourceFlavor{
		ObjectMeta: metav1.ObjectMeta{Name: "h100"},
		Spec: kueue.ResourceFlavorSpec{
			NodeLabels:  map[string]string{"jobtest/gpu": "h100"},
			Tolerations: []corev1.Toleration{{Key: "jobtest-gpu", Operator: corev1.TolerationOpExists}},
		},
	}
}

// reconcile looks at the job until nothing changes any more.
func (c *cluster[T]) reconcile() {
	c.Helper()
	for range 30 {
		before := c.versions()
		if _, err := c.reconciler.Reconcile(c.Context(), ctrl.Request{NamespacedName: c.key}); err != nil {
			c.Fatalf("reconcile: %v", err)
		}
		if c.versions() == before {
			return
		}
	}
	c.Fatal("the reconciler does not come to rest")
}

// versions change with each write.
func (c *cluster[T]) versions() string {
	c.Helper()
	var all []string
	for _, wl := range c.workloads() {
		all = append(all, wl.Name+"="+wl.ResourceVersion)
	}
	j := c.kind.New()
	err := c.Get(c.Context(), c.key, j)
	if client.IgnoreNotFound(err) != nil {
		c.Fatal(err)
	}
	return strings.Join(append(all, j.GetResourceVersion()), " ")
}

func (c *cluster[T]) job() T {
	c.Helper()
	j := c.kind.New()
	if err := c.Get(c.Context(), c.key, j); err != nil {
		c.Fatal(err)
	}
	return j
}

func (c *cluster[T]) workloads() []kueue.Workload {
	c.Helper()
	var list kueue.WorkloadList
	if err := c.List(c.Context(), &list); err != nil {
		c.Fatal(err)
	}
	return list.Items
}

// workload returns the only Workload.
func (c *cluster[T]) workload() *kueue.Workload {
	c.Helper()
	list := c.workloads()
	if len(list) != 1 {
		c.Fatalf("%d workloads; events: %v", len(list), c.events())
	}
	return &list[0]
}

// changeStatus changes the job's status as the kind's own controller would.
func (c *cluster[T]) changeStatus(change func(T)) {
	c.Helper()
	j := c.job()
	change(j)
	if err := c.Status().Update(c.Context(), j); err != nil {
		c.Fatal(err)
	}
}

// apply changes the admission part of the Workload's status as its other writers do.
func (c *cluster[T]) apply(change func(*kueue.Workload)) {
	c.Helper()
	wl := c.workload()
	change(wl)
	if err := kube.ApplyAdmission(c.Context(), c.Client, wl); err != nil {
		c.Fatal(err)
	}
}

// admit gives all pod sets of the Workload the one flavor.
func (c *cluster[T]) admit() {
	c.Helper()
	c.apply(func(wl *kueue.Workload) {
		a := &kueue.Admission{ClusterQueue: "cq"}
		for i := range wl.Spec.PodSets {
			a.PodSetAssignments = append(a.PodSetAssignments, kueue.PodSetAssignment{
				Name: wl.Spec.PodSets[i].Name, Count: &wl.Spec.PodSets[i].Count,
				Flavors: map[corev1.ResourceName]kueue.ResourceFlavorReference{"cpu": "h100"},
			})
		}
		workload.ReserveQuota(wl, a, nil, "Quota reserved", c.clock.Now())
	})
}

// condition is a condition's status and reason; empty if there is none.
func (c *cluster[T]) condition(kind string) string {
	c.Helper()
	found := meta.FindStatusCondition(c.workload().Status.Conditions, kind)
	if found == nil {
		return ""
	}
	return string(found.Status) + " " + found.Reason
}

func (c *cluster[T]) hasCondition(kind, want string) {
	c.Helper()
	if got := c.condition(kind); got != want {
		c.Errorf("condition %s is %q, want %q", kind, got, want)
	}
}

// events returns the reasons of the events since the last call.
func (c *cluster[T]) events() []string {
	var reasons []string
	for {
		select {
		case e := <-c.recorder.Events:
			reasons = append(reasons, e)
		default:
			return reasons
		}
	}
}
