package servingtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/jobtest"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

// Cluster is an API server in memory with the reconciler of one kind, driven by hand.
type Cluster struct {
	*testing.T
	client.Client
	Clock *testclock.FakeClock
	// Options are those of the reconciler.
	Options job.Options
	// Hidden hides an object from the reconciler's cache, but not from its reads of the API server.
	Hidden func(client.Object) bool

	reconciler reconcile.Reconciler
	recorder   *events.FakeRecorder
	// writes are the API calls of the reconciler that changed something, in order; made counts what it has made.
	writes []string
	made   int
}

// Reconcilable is a kind with a reconciler.
type Reconcilable struct {
	// Types registers the kind.
	Types func(*runtime.Scheme) error
	// Index adds the reconciler's indexes.
	Index func(*fake.ClientBuilder)
	// New returns a reconciler: its client, its cache, what reads from the API server, and who hears of events.
	New func(o job.Options, c client.Client, cache, live client.Reader, recorder events.EventRecorder) reconcile.Reconciler
	// WithStatus are empty objects, besides Workloads, with a status of their own.
	WithStatus []client.Object
}

// NewCluster returns a cluster with these objects. configure, optional, changes the reconciler's options.
func NewCluster(t *testing.T, k Reconcilable, configure func(*job.Options), objects ...client.Object) *Cluster {
	t.Helper()
	c := &Cluster{
		T: t, Clock: testclock.NewFakeClock(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)), recorder: events.NewFakeRecorder(1000),
	}
	c.Options = Options()
	c.Options.WaitForPodsReady, c.Options.Clock = true, c.Clock
	if configure != nil {
		configure(&c.Options)
	}
	s := NewScheme(t, k.Types)
	builder := fake.NewClientBuilder().WithScheme(s).WithTypeConverters(jobtest.Converters(t)...).
		WithStatusSubresource(append(k.WithStatus, &kueue.Workload{})...).WithObjects(append(objects, newNamespace())...)
	k.Index(builder)
	stored := builder.Build()
	c.Client = stored
	cached := c.observe(stored)
	c.reconciler = k.New(c.Options, refusePods(cached), cached, stored, c.recorder)
	return c
}

// refusePods is a client that reads no pods: that of a manager would read them from the API server, which knows no indexes.
func refusePods(cached client.WithWatch) client.Client {
	return interceptor.NewClient(cached, interceptor.Funcs{
		Get: func(ctx context.Context, w client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if _, pod := obj.(*corev1.Pod); pod {
				return errPods
			}
			return w.Get(ctx, key, obj, opts...)
		},
		List: func(ctx context.Context, w client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, pods := list.(*corev1.PodList); pods {
				return errPods
			}
			return w.List(ctx, list, opts...)
		},
	})
}

var errPods = errors.New("pods are read from the cache")

// observe notes every write, and hides what is hidden.
func (c *Cluster) observe(inner client.WithWatch) client.WithWatch {
	note := func(verb string, obj client.Object, sub string) {
		kind := fmt.Sprintf("%T", obj)
		text := verb + " " + kind[strings.LastIndex(kind, ".")+1:] + " " + obj.GetName()
		c.writes = append(c.writes, strings.TrimSuffix(text+" "+sub, " "))
	}
	return interceptor.NewClient(inner, interceptor.Funcs{
		Get: func(ctx context.Context, w client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			err := w.Get(ctx, key, obj, opts...)
			if err == nil && c.Hidden != nil && c.Hidden(obj) {
				return notFound(obj)
			}
			return err
		},
		List: func(ctx context.Context, w client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if err := w.List(ctx, list, opts...); err != nil || c.Hidden == nil {
				return err
			}
			return c.hide(list)
		},
		Create: func(ctx context.Context, w client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			note("create", obj, "")
			c.made++ // the fake server gives no UIDs
			obj.SetUID(types.UID(fmt.Sprintf("uid-%d", c.made)))
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
			note("patch", obj, sub)
			return w.SubResource(sub).Patch(ctx, obj, p, opts...)
		},
	})
}

// hide takes out of a list what the cache does not show.
func (c *Cluster) hide(list client.ObjectList) error {
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	var shown []runtime.Object
	for _, item := range items {
		if obj, ok := item.(client.Object); ok && !c.Hidden(obj) {
			shown = append(shown, item)
		}
	}
	return meta.SetList(list, shown)
}

// Look reconciles the object of that name one time.
func (c *Cluster) Look(name string) ctrl.Result {
	c.Helper()
	result, err := c.TryLook(name)
	if err != nil {
		c.Fatalf("reconcile: %v", err)
	}
	return result
}

// TryLook is Look for what may fail.
func (c *Cluster) TryLook(name string) (ctrl.Result, error) {
	c.Helper()
	return c.reconciler.Reconcile(context.Background(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: Namespace, Name: name}})
}

// Settle reconciles until nothing is written any more, and returns what was written.
func (c *Cluster) Settle(name string) []string {
	c.Helper()
	c.writes = nil
	for range 20 {
		before := len(c.writes)
		c.Look(name)
		if len(c.writes) == before {
			return c.writes
		}
	}
	c.Fatalf("the reconciler does not come to rest: %v", c.writes)
	return nil
}

// WantWrites settles, and compares what was written.
func (c *Cluster) WantWrites(name string, want ...string) {
	c.Helper()
	if diff := cmp.Diff(want, c.Settle(name)); diff != "" {
		c.Errorf("writes differ (-want +got):\n%s", diff)
	}
}

// Events returns the events since the last call.
func (c *Cluster) Events() []string {
	var list []string
	for {
		select {
		case e := <-c.recorder.Events:
			list = append(list, e)
		default:
			return list
		}
	}
}

// WantEvents compares the events since the last time.
func (c *Cluster) WantEvents(want ...string) {
	c.Helper()
	if diff := cmp.Diff(want, c.Events()); diff != "" {
		c.Errorf("events differ (-want +got):\n%s", diff)
	}
}

// Find reads an object by the name that it has.
func Find[T client.Object](c *Cluster, obj T, name string) T {
	c.Helper()
	c.NoError(c.Get(context.Background(), client.ObjectKey{Namespace: Namespace, Name: name}, obj))
	return obj
}

// Change changes metadata and spec of an object as a user would.
func Change[T client.Object](c *Cluster, obj T, name string, change func(T)) {
	c.Helper()
	Find(c, obj, name)
	change(obj)
	c.NoError(c.Update(context.Background(), obj))
}

// ChangeStatus changes the status of an object as the controller of its kind would.
func ChangeStatus[T client.Object](c *Cluster, obj T, name string, change func(T)) {
	c.Helper()
	Find(c, obj, name)
	change(obj)
	c.NoError(c.Status().Update(context.Background(), obj))
}

// Workloads lists all Workloads, by name.
func (c *Cluster) Workloads() []kueue.Workload {
	c.Helper()
	var list kueue.WorkloadList
	c.NoError(c.List(context.Background(), &list))
	return list.Items
}

// Workload returns the only Workload.
func (c *Cluster) Workload() *kueue.Workload {
	c.Helper()
	list := c.Workloads()
	if len(list) != 1 {
		c.Fatalf("%d workloads", len(list))
	}
	return &list[0]
}

// ApplyStatus changes the admission part of a Workload's status as its other writers do.
func (c *Cluster) ApplyStatus(wl *kueue.Workload, change func(*kueue.Workload)) {
	c.Helper()
	change(wl)
	c.NoError(kube.ApplyAdmission(context.Background(), c.Client, wl))
}

// Admit gives a Workload quota for all that it asks for.
func (c *Cluster) Admit(wl *kueue.Workload) {
	c.Helper()
	c.ApplyStatus(wl, func(wl *kueue.Workload) {
		a := &kueue.Admission{ClusterQueue: "cq"}
		for i := range wl.Spec.PodSets {
			a.PodSetAssignments = append(a.PodSetAssignments, kueue.PodSetAssignment{
				Name: wl.Spec.PodSets[i].Name, Count: new(wl.Spec.PodSets[i].Count),
			})
		}
		workload.ReserveQuota(wl, a, nil, "Quota reserved", c.Clock.Now())
	})
}

// Condition is what a condition of a Workload says.
func (c *Cluster) Condition(wl *kueue.Workload, kind string) string {
	found := meta.FindStatusCondition(wl.Status.Conditions, kind)
	if found == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", found.Status, found.Reason, found.Message)
}

// NoError ends the test if there is an error.
func (c *Cluster) NoError(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func notFound(obj client.Object) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: reflect.TypeOf(obj).Elem().Name()}, obj.GetName())
}
