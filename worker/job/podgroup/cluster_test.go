package podgroup_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
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
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/jobtest"
	"switchyard.dev/worker/job/podgroup"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

const (
	namespace = "team"
	group     = "train"
)

// cluster is an API server in memory with the reconciler of pods, driven by hand. No kubelet runs there: tests play it.
type cluster struct {
	testing.TB
	client.Client
	reconciler reconcile.Reconciler
	// restart makes the reconciler forget what it has written.
	restart  func()
	clock    *testclock.FakeClock
	recorder *events.FakeRecorder
	// target is what is reconciled: the group by default.
	target reconcile.Request
	// frozen makes the cache show pods as they were.
	frozen []corev1.Pod
	// refuse, if set, is asked before a pod is patched.
	refuse func(pod client.Object) error
	// writes are the API calls of the reconciler that changed something, in no order where it makes several at a time.
	mu     sync.Mutex
	writes []string
	// ungated are the gates that were taken off, by Workload.
	ungated []string
}

func newCluster(tb testing.TB, objects ...client.Object) *cluster {
	tb.Helper()
	return newClusterWith(tb, func(*job.Options) {}, objects...)
}

func newClusterWith(tb testing.TB, configure func(*job.Options), objects ...client.Object) *cluster {
	tb.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, kueue.AddToScheme} {
		if err := add(s); err != nil {
			tb.Fatal(err)
		}
	}
	// The API server in memory dates deletions by the machine's clock: all of them lie an hour ahead.
	c := &cluster{TB: tb, clock: testclock.NewFakeClock(time.Now().Add(-time.Hour)), recorder: events.NewFakeRecorder(100_000), target: podgroup.Group(namespace, group)}
	o := job.Options{WaitForPodsReady: true, Gates: job.DefaultGates(), Clock: c.clock, Ungated: func(wl *kueue.Workload, gate string, _ time.Time) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ungated = append(c.ungated, wl.Name+" "+gate)
	}}
	configure(&o)
	objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, newFlavor())
	inner := podgroup.WithIndexes(fake.NewClientBuilder().WithScheme(s), o.Gates).WithTypeConverters(jobtest.Converters(tb)...).
		WithStatusSubresource(&kueue.Workload{}, &corev1.Pod{}).WithObjects(objects...).Build()
	c.Client = inner
	c.restart = func() {
		c.reconciler, _, _ = podgroup.NewReconciler(o, c.countWrites(inner), c.stripped(inner), inner, c.recorder)
	}
	c.restart()
	return c
}

// stripped is what the reconciler's cache shows of pods.
func (c *cluster) stripped(inner client.WithWatch) client.Reader {
	return interceptor.NewClient(inner, interceptor.Funcs{
		List: func(ctx context.Context, w client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := w.List(ctx, list, opts...)
			if pods, ok := list.(*corev1.PodList); ok {
				if c.frozen != nil {
					pods.Items = slices.Clone(c.frozen)
				}
				for i := range pods.Items {
					podgroup.Strip(&pods.Items[i])
				}
			}
			return err
		},
		Get: func(ctx context.Context, w client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			err := w.Get(ctx, key, obj, opts...)
			if pod, ok := obj.(*corev1.Pod); ok {
				podgroup.Strip(pod)
			}
			return err
		},
	})
}

// countWrites notes every write.
func (c *cluster) countWrites(inner client.WithWatch) client.Client {
	note := func(verb string, obj client.Object, sub string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		kind := fmt.Sprintf("%T", obj)
		name := obj.GetName()
		if _, is := obj.(*kueue.Workload); is {
			name = ""
		}
		c.writes = append(c.writes, strings.TrimSuffix(verb+" "+kind[strings.LastIndex(kind, ".")+1:]+"/"+name+sub, "/"))
	}
	return interceptor.NewClient(inner, interceptor.Funcs{
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
			if c.refuse != nil {
				if err := c.refuse(obj); err != nil {
					return err
				}
			}
			note("patch", obj, "")
			return w.Patch(ctx, obj, p, opts...)
		},
		SubResourcePatch: func(ctx context.Context, w client.Client, sub string, obj client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			note("apply", obj, "/"+sub)
			return w.SubResource(sub).Patch(ctx, obj, p, opts...)
		},
	})
}

func (c *cluster) reconcileOnce() ctrl.Result {
	c.Helper()
	result, err := c.reconciler.Reconcile(context.Background(), c.target)
	if err != nil {
		c.Fatalf("reconcile: %v", err)
	}
	return result
}

// reconcileAll reconciles until nothing is written any more, and returns what was, sorted where calls are made at once.
func (c *cluster) reconcileAll() []string {
	c.Helper()
	var all []string
	for range 40 {
		c.writes = nil
		c.reconcileOnce()
		if len(c.writes) == 0 {
			return all
		}
		slices.Sort(c.writes)
		all = append(all, c.writes...)
	}
	c.Fatalf("the reconciler does not come to rest: %v", all)
	return nil
}

func (c *cluster) wantWrites(want ...string) {
	c.Helper()
	if diff := cmp.Diff(want, c.reconcileAll()); diff != "" {
		c.Errorf("writes differ (-want +got):\n%s", diff)
	}
}

// events returns the reasons of the events since the last call, sorted.
func (c *cluster) events() []string {
	var reasons []string
	for {
		select {
		case e := <-c.recorder.Events:
			reasons = append(reasons, strings.Fields(e)[1])
		default:
			slices.Sort(reasons)
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

func (c *cluster) requireNoError(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) pod(name string) *corev1.Pod {
	c.Helper()
	pod := &corev1.Pod{}
	c.requireNoError(c.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, pod))
	return pod
}

// freeze has the cache show no later changes of pods; thaw has it catch up.
func (c *cluster) freeze() {
	c.Helper()
	var list corev1.PodList
	c.requireNoError(c.List(context.Background(), &list))
	c.frozen = list.Items
}

func (c *cluster) thaw() { c.frozen = nil }

// podNames lists the pods that there are.
func (c *cluster) podNames() string {
	c.Helper()
	var list corev1.PodList
	c.requireNoError(c.List(context.Background(), &list))
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return strings.Join(names, " ")
}

func (c *cluster) create(objects ...client.Object) {
	c.Helper()
	for _, obj := range objects {
		c.requireNoError(c.Create(context.Background(), obj))
	}
}

func (c *cluster) change(name string, change func(*corev1.Pod)) {
	c.Helper()
	pod := c.pod(name)
	change(pod)
	c.requireNoError(c.Update(context.Background(), pod))
}

func (c *cluster) delete(names ...string) {
	c.Helper()
	for _, name := range names {
		c.requireNoError(c.Delete(context.Background(), c.pod(name)))
	}
}

// phase is what the kubelet of a node reports.
func (c *cluster) phase(phase corev1.PodPhase, names ...string) {
	c.Helper()
	for _, name := range names {
		pod := c.pod(name)
		if pod.Spec.NodeName == "" {
			pod.Spec.NodeName = "node"
			c.requireNoError(c.Update(context.Background(), pod))
		}
		ready := corev1.ConditionFalse
		if phase == corev1.PodRunning {
			ready = corev1.ConditionTrue
		}
		pod.Status.Phase = phase
		pod.Status.Conditions = slices.DeleteFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: ready})
		c.requireNoError(c.Status().Update(context.Background(), pod))
	}
}

func (c *cluster) workloads() []kueue.Workload {
	c.Helper()
	var list kueue.WorkloadList
	c.requireNoError(c.List(context.Background(), &list))
	return list.Items
}

func (c *cluster) workload() *kueue.Workload {
	c.Helper()
	list := c.workloads()
	if len(list) != 1 {
		c.Fatalf("%d workloads", len(list))
	}
	return &list[0]
}

// apply changes the admission part of the Workload's status as its other writers do.
func (c *cluster) apply(change func(*kueue.Workload)) {
	c.Helper()
	wl := c.workload()
	change(wl)
	c.requireNoError(kube.ApplyAdmission(context.Background(), c.Client, wl))
}

func (c *cluster) admit() {
	c.Helper()
	c.apply(func(wl *kueue.Workload) {
		a := &kueue.Admission{ClusterQueue: "cq"}
		for i := range wl.Spec.PodSets {
			flavors := map[corev1.ResourceName]kueue.ResourceFlavorReference{"cpu": "red"}
			a.PodSetAssignments = append(a.PodSetAssignments, kueue.PodSetAssignment{Name: wl.Spec.PodSets[i].Name, Count: &wl.Spec.PodSets[i].Count, Flavors: flavors})
		}
		workload.ReserveQuota(wl, a, nil, "Quota reserved", c.clock.Now())
	})
	c.clock.Step(time.Second)
}

func (c *cluster) evict() {
	c.Helper()
	c.apply(func(wl *kueue.Workload) {
		workload.Evict(wl, lifecycle.Eviction{Reason: "Preempted", Message: "made room"}, c.clock.Now())
	})
	c.clock.Step(time.Second)
}

func (c *cluster) hasCondition(kind, want string) {
	c.Helper()
	got := ""
	if found := meta.FindStatusCondition(c.workload().Status.Conditions, kind); found != nil {
		got = string(found.Status) + " " + found.Reason
	}
	if got != want {
		c.Errorf("condition %s is %q, want %q", kind, got, want)
	}
}

func newFlavor() *kueue.ResourceFlavor {
	return &kueue.ResourceFlavor{
		ObjectMeta: metav1.ObjectMeta{Name: "red"},
		Spec: kueue.ResourceFlavorSpec{
			NodeLabels: map[string]string{"color": "red"}, Tolerations: []corev1.Toleration{{Key: "red", Operator: corev1.TolerationOpExists}},
		},
	}
}

// age orders pods: each is a second younger than the one before.
var born = time.Date(2026, 11, 21, 11, 0, 0, 0, time.UTC)

// newPod is a pod as the webhook lets it in. Its role is the letters of its name.
func newPod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	role := strings.TrimRight(name, "0123456789")
	age := 0
	_, _ = fmt.Sscanf(name[len(role):], "%d", &age)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID(name + "-uid"), CreationTimestamp: metav1.NewTime(born.Add(time.Duration(age) * time.Second)),
			Labels:      map[string]string{kueue.QueueNameLabel: "main", kueue.ManagedLabel: "true"},
			Annotations: map[string]string{kueue.RoleHashAnnotation: role}, Finalizers: []string{kueue.ManagedFinalizer},
		},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: "train:1", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
			}}},
			SchedulingGates: []corev1.PodSchedulingGate{{Name: kueue.AdmissionSchedulingGate}, {Name: kueue.TopologySchedulingGate}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	for _, apply := range change {
		apply(pod)
	}
	return pod
}

// member is a pod of a group of so many.
func member(name string, of int, change ...func(*corev1.Pod)) *corev1.Pod {
	return newPod(name, append([]func(*corev1.Pod){func(pod *corev1.Pod) {
		pod.Annotations[kueue.PodGroupNameKey] = group
		pod.Annotations[kueue.PodGroupTotalCountAnnotation] = fmt.Sprint(of)
	}}, change...)...)
}

func annotated(key, value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Annotations[key] = value }
}

func labelled(key, value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Labels[key] = value }
}

func isGated(pod *corev1.Pod) bool { return len(pod.Spec.SchedulingGates) > 0 }
