package queue

import (
	"context"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/metrics"
	"switchyard.dev/worker/podrequests"
	"switchyard.dev/worker/view"
)

var baseTime = time.Date(2026, time.November, 21, 9, 0, 0, 0, time.UTC)

func TestDesiredClusterQueue(t *testing.T) {
	flavor := func(name string, total, borrowed int64) admission.FlavorStatus {
		s := admission.FlavorStatus{}
		s.Flavor, s.Resource = name, "memory"
		s.Total, s.Borrowed = podrequests.ToAmount("memory", *resource.NewQuantity(total, resource.BinarySI)), podrequests.ToAmount("memory", *resource.NewQuantity(borrowed, resource.BinarySI))
		return s
	}
	standing := view.ClusterQueueStatus{
		Pending:  5,
		Activity: view.Activity{Active: true, Reason: kueue.ReasonReady, Message: "fine"},
		QueueStatus: admission.QueueStatus{
			Active: 3, Inadmissible: 4, Reserving: 4, Admitted: 1,
			Reserved: []admission.FlavorStatus{flavor("b", 3<<30, 1<<30), flavor("a", 0, 0)},
			Used:     []admission.FlavorStatus{flavor("b", 1<<30, 0), flavor("a", 0, 0)},
		},
	}
	usage := func(name, total, borrowed string) kueue.FlavorUsage {
		return kueue.FlavorUsage{Name: kueue.ResourceFlavorReference(name), Resources: []kueue.ResourceUsage{
			{Name: corev1.ResourceMemory, Total: resource.MustParse(total), Borrowed: resource.MustParse(borrowed)},
		}}
	}
	want := kueue.ClusterQueueStatus{
		PendingWorkloads: 5, ReservingWorkloads: 4, AdmittedWorkloads: 1,
		FlavorsReservation: []kueue.FlavorUsage{usage("b", "3Gi", "1Gi"), usage("a", "0", "0")},
		FlavorsUsage:       []kueue.FlavorUsage{usage("b", "1Gi", "0"), usage("a", "0", "0")},
		Conditions: []metav1.Condition{{
			Type: kueue.ClusterQueueActive, Status: metav1.ConditionTrue, Reason: "Ready", Message: "fine",
			ObservedGeneration: 7, LastTransitionTime: metav1.NewTime(baseTime),
		}},
	}
	cq := &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: "cq", Generation: 7}}
	if diff := cmp.Diff(want, desiredClusterQueue(cq, standing, baseTime).Status); diff != "" {
		t.Error(diff)
	}
}

// clusterQueueEnv is a reconciler on an API server in memory; informers deliver only what a test tells them to.
type clusterQueueEnv struct {
	*testing.T
	*StatusReconciler[*kueue.ClusterQueue]
	clock     *clocktesting.FakeClock
	informers *informertest.FakeInformers
	writes    int
}

func newClusterQueueEnv(t *testing.T, objects ...client.Object) *clusterQueueEnv {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kueue.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	s := &clusterQueueEnv{T: t, informers: &informertest.FakeInformers{Scheme: scheme}}
	count := func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
		s.writes++
		return c.SubResource(sub).Patch(ctx, obj, p, opts...)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&kueue.ClusterQueue{}).
		WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: count}).Build()
	s.clock = clocktesting.NewFakeClock(baseTime)
	metrics, err := metrics.New(prometheus.NewRegistry(), metrics.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.StatusReconciler = newClusterQueueReconciler(Config{
		Client: c, View: view.New(view.Options{}), Metrics: metrics, Clock: s.clock, RateLimiter: NewRateLimiter(), FairSharing: true,
	})
	if err := s.View.Register(t.Context(), s.informers); err != nil {
		t.Fatal(err)
	}
	s.deliver(objects...)
	return s
}

func (s *clusterQueueEnv) deliver(objects ...client.Object) {
	s.Helper()
	for _, o := range objects {
		informer, err := s.informers.FakeInformerFor(s.Context(), o)
		if err != nil {
			s.Fatal(err)
		}
		informer.Add(o.DeepCopyObject().(client.Object))
	}
}

func (s *clusterQueueEnv) reconcile() time.Duration {
	s.Helper()
	request := ctrl.Request{NamespacedName: types.NamespacedName{Name: "cq"}}
	result, err := s.Reconcile(s.Context(), request)
	if err != nil {
		s.Fatal(err)
	}
	return result.RequeueAfter
}

func (s *clusterQueueEnv) getClusterQueue() *kueue.ClusterQueue {
	s.Helper()
	cq := &kueue.ClusterQueue{}
	if err := s.Client.Get(s.Context(), types.NamespacedName{Name: "cq"}, cq); err != nil {
		s.Fatal(err)
	}
	return cq
}

func clusterQueueWithGPUs() *kueue.ClusterQueue {
	return &kueue.ClusterQueue{
		ObjectMeta: metav1.ObjectMeta{Name: "cq", Finalizers: []string{kueue.ResourceInUseFinalizer}},
		Spec: kueue.ClusterQueueSpec{ResourceGroups: []kueue.ResourceGroup{{
			CoveredResources: []corev1.ResourceName{"gpu"},
			Flavors: []kueue.FlavorQuotas{{Name: "red", Resources: []kueue.ResourceQuota{
				{Name: "gpu", NominalQuota: resource.MustParse("4")},
			}}},
		}}},
	}
}

// newReservingWorkload is a workload that holds 2 gpus of the queue.
func newReservingWorkload() *kueue.Workload {
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "w", UID: "u", ResourceVersion: "1"}}
	wl.Spec.QueueName = "lq"
	wl.Spec.PodSets = []kueue.PodSet{{Name: "main", Count: 2}}
	wl.Status.Admission = &kueue.Admission{ClusterQueue: "cq", PodSetAssignments: []kueue.PodSetAssignment{{
		Name: "main", Count: ptr.To[int32](2), ResourceUsage: corev1.ResourceList{"gpu": resource.MustParse("2")},
		Flavors: map[corev1.ResourceName]kueue.ResourceFlavorReference{"gpu": "red"},
	}}}
	meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionTrue})
	return wl
}

func TestAStatusIsWrittenOnceAndOnlyWhenItDiffers(t *testing.T) {
	s := newClusterQueueEnv(t, clusterQueueWithGPUs(), &kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "red"}})
	s.reconcile()
	s.reconcile()
	if s.writes != 1 {
		t.Errorf("%d writes, want 1", s.writes)
	}
	s.deliver(newReservingWorkload())
	wait := s.reconcile()
	if s.writes != 1 || wait != time.Second {
		t.Errorf("figures that changed again were written %d times and wait %v, want 1 and a second", s.writes, wait)
	}
	s.clock.Step(wait)
	s.reconcile()
	s.reconcile()
	if s.writes != 2 {
		t.Errorf("%d writes after a reservation, want 2", s.writes)
	}
	cq := s.getClusterQueue()
	total := cq.Status.FlavorsReservation[0].Resources[0].Total
	if cq.Status.ReservingWorkloads != 1 || total.String() != "2" || !meta.IsStatusConditionTrue(cq.Status.Conditions, kueue.ClusterQueueActive) {
		t.Errorf("status is %+v", cq.Status)
	}
}

func TestNothingIsComparedWithAStatusFromBeforeOurLastWrite(t *testing.T) {
	cq := clusterQueueWithGPUs()
	cq.UID = "uid-of-cq"
	s := newClusterQueueEnv(t, cq, &kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "red"}})
	s.reconcile()
	shown, api := s.getClusterQueue(), s.Client
	s.deliver(newReservingWorkload())
	s.clock.Step(time.Second)
	s.reconcile()
	if s.writes != 2 {
		t.Fatalf("%d writes, want 2", s.writes)
	}
	informer, err := s.informers.FakeInformerFor(t.Context(), newReservingWorkload())
	if err != nil {
		t.Fatal(err)
	}
	informer.Delete(newReservingWorkload())
	s.Client = staleCache{Client: api, stale: shown}
	if wait := s.reconcile(); wait == 0 {
		t.Error("the cache shows what is wanted, the server does not have it, and nobody looks again")
	}
}

// staleCache shows the queue as it was.
type staleCache struct {
	client.Client
	stale *kueue.ClusterQueue
}

func (c staleCache) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	c.stale.DeepCopyInto(obj.(*kueue.ClusterQueue))
	return nil
}

func TestAConditionIsWrittenAtOnce(t *testing.T) {
	s := newClusterQueueEnv(t, clusterQueueWithGPUs(), &kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "red"}})
	s.reconcile()
	stopped := s.getClusterQueue()
	stopped.Spec.StopPolicy = kueue.Hold
	if err := s.Client.Update(t.Context(), stopped); err != nil {
		t.Fatal(err)
	}
	s.deliver(stopped)
	s.reconcile()
	if got := meta.FindStatusCondition(s.getClusterQueue().Status.Conditions, kueue.ClusterQueueActive); got.Reason != "Stopped" {
		t.Errorf("Active is %+v right after the queue was stopped", got)
	}
}

func TestTheShareIsThatOfTheCohort(t *testing.T) {
	borrows, lends := clusterQueueWithGPUs(), clusterQueueWithGPUs()
	borrows.Spec.CohortName, lends.Spec.CohortName, lends.Name = "co", "co", "lends"
	wl := newReservingWorkload()
	wl.Status.Admission.PodSetAssignments[0].ResourceUsage["gpu"] = resource.MustParse("6")
	s := newClusterQueueEnv(t, borrows, lends, &kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "red"}})
	s.deliver(wl)
	s.reconcile()
	if got := s.getClusterQueue().Status.FairSharing; got == nil || got.WeightedShare != 250 { // 2 borrowed of 8.
		t.Errorf("the share is %+v", got)
	}
	weightless := s.getClusterQueue()
	weightless.Spec.FairSharing = &kueue.FairSharing{Weight: ptr.To(resource.MustParse("0"))}
	if err := s.Client.Update(t.Context(), weightless); err != nil {
		t.Fatal(err)
	}
	s.deliver(weightless)
	s.clock.Step(time.Minute)
	s.reconcile()
	if got := s.getClusterQueue().Status.FairSharing; got.WeightedShare != math.MaxInt64 {
		t.Errorf("the share of a queue that borrows without weight is %+v", got)
	}
}

func TestAStatusListsNoMoreFlavorsThanItMay(t *testing.T) {
	standing := view.ClusterQueueStatus{}
	for i := range 100 {
		for _, r := range []string{"cpu", "gpu"} {
			f := admission.FlavorStatus{}
			f.Flavor, f.Resource = strconv.Itoa(i), r
			standing.Reserved = append(standing.Reserved, f)
		}
	}
	got := desiredClusterQueue(clusterQueueWithGPUs(), standing, baseTime).Status.FlavorsReservation
	if len(got) != 64 || len(got[63].Resources) != 2 {
		t.Errorf("%d flavors are listed", len(got))
	}
}

func TestTheFinalizerStaysUntilTheSchedulerKnowsTheDeletion(t *testing.T) {
	cq := clusterQueueWithGPUs()
	s := newClusterQueueEnv(t, cq)
	if err := s.Client.Delete(t.Context(), cq); err != nil {
		t.Fatal(err)
	}
	s.reconcile()
	if got := s.getClusterQueue(); len(got.Finalizers) == 0 {
		t.Error("a cycle could still have admitted somebody")
	}
	s.deliver(s.getClusterQueue())
	s.reconcile()
	if err := s.Client.Get(t.Context(), types.NamespacedName{Name: "cq"}, cq); !apierrors.IsNotFound(err) {
		t.Errorf("it stayed: %v", err)
	}
}

func TestTheFinalizerStaysWhileQuotaIsReserved(t *testing.T) {
	cq := clusterQueueWithGPUs()
	s := newClusterQueueEnv(t, cq, newReservingWorkload())
	if err := s.Client.Delete(t.Context(), cq); err != nil {
		t.Fatal(err)
	}
	exists := func() bool {
		err := s.Client.Get(t.Context(), types.NamespacedName{Name: "cq"}, cq)
		if client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		return !apierrors.IsNotFound(err)
	}
	if !exists() {
		t.Fatal("the finalizer did not hold it")
	}
	s.deliver(cq)
	s.reconcile()
	if !exists() {
		t.Fatal("it went while a workload held its quota")
	}
	if got := meta.FindStatusCondition(s.getClusterQueue().Status.Conditions, kueue.ClusterQueueActive); got == nil || got.Reason != string(kueue.ReasonTerminating) {
		t.Errorf("Active is %+v, want Terminating", got)
	}
	released := newReservingWorkload()
	released.ResourceVersion, released.Status = "2", kueue.WorkloadStatus{}
	s.deliver(released)
	s.reconcile()
	if exists() {
		t.Error("it stayed though nobody holds its quota")
	}
}
