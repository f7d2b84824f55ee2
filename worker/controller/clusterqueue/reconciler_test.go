package clusterqueue

import (
	"context"
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
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/act"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/view"
)

var epoch = time.Date(2026, time.November, 21, 9, 0, 0, 0, time.UTC)

func TestTheStatusIsWhatTheViewSays(t *testing.T) {
	flavor := func(name string, total, borrowed int64) admission.FlavorStatus {
		s := admission.FlavorStatus{}
		s.Flavor, s.Resource = name, "memory"
		s.Total, s.Borrowed = view.AmountOf("memory", *resource.NewQuantity(total, resource.BinarySI)), view.AmountOf("memory", *resource.NewQuantity(borrowed, resource.BinarySI))
		return s
	}
	standing := view.ClusterQueueStanding{
		Activity: view.Activity{Active: true, Reason: kueue.ReasonReady, Message: "fine"},
		QueueStatus: admission.QueueStatus{
			Active: 2, Inadmissible: 3, Reserving: 4, Admitted: 1,
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
			ObservedGeneration: 7, LastTransitionTime: metav1.NewTime(epoch),
		}},
	}
	cq := &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: "cq", Generation: 7}}
	if diff := cmp.Diff(want, step(cq, standing, epoch).Status); diff != "" {
		t.Error(diff)
	}
}

// stage is a reconciler on an API server in memory; informers deliver only what a test tells them to.
type stage struct {
	*testing.T
	Reconciler
	informers *informertest.FakeInformers
	writes    int
}

func newStage(t *testing.T, objects ...client.Object) *stage {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, kueue.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	s := &stage{T: t, informers: &informertest.FakeInformers{Scheme: scheme}}
	count := func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
		s.writes++
		return c.SubResource(sub).Patch(ctx, obj, p, opts...)
	}
	s.Client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&kueue.ClusterQueue{}).
		WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: count}).Build()
	s.View = view.New(view.Options{})
	s.Clock = clocktesting.NewFakePassiveClock(epoch)
	if err := s.View.Register(t.Context(), s.informers); err != nil {
		t.Fatal(err)
	}
	metrics, err := act.NewMetrics(prometheus.NewRegistry(), act.MetricsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.Metrics = metrics
	s.deliver(objects...)
	return s
}

func (s *stage) deliver(objects ...client.Object) {
	s.Helper()
	for _, o := range objects {
		informer, err := s.informers.FakeInformerFor(s.Context(), o)
		if err != nil {
			s.Fatal(err)
		}
		informer.Add(o.DeepCopyObject().(client.Object))
	}
}

func (s *stage) reconcile() {
	s.Helper()
	request := ctrl.Request{NamespacedName: types.NamespacedName{Name: "cq"}}
	if _, err := s.Reconcile(s.Context(), request); err != nil {
		s.Fatal(err)
	}
}

func queue() *kueue.ClusterQueue {
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

// holder is a workload that holds 2 gpus of the queue.
func holder() *kueue.Workload {
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
	s := newStage(t, queue(), &kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "red"}})
	s.reconcile()
	s.reconcile()
	if s.writes != 1 {
		t.Errorf("%d writes, want 1", s.writes)
	}
	s.deliver(holder())
	s.reconcile()
	s.reconcile()
	if s.writes != 2 {
		t.Errorf("%d writes after a reservation, want 2", s.writes)
	}
	cq := &kueue.ClusterQueue{}
	if err := s.Client.Get(t.Context(), types.NamespacedName{Name: "cq"}, cq); err != nil {
		t.Fatal(err)
	}
	total := cq.Status.FlavorsReservation[0].Resources[0].Total
	if cq.Status.ReservingWorkloads != 1 || total.String() != "2" || !meta.IsStatusConditionTrue(cq.Status.Conditions, kueue.ClusterQueueActive) {
		t.Errorf("status is %+v", cq.Status)
	}
}

func TestAQueueThatIsDeletedStaysUntilNobodyHoldsItsQuota(t *testing.T) {
	cq := queue()
	s := newStage(t, cq, holder())
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
	if got := meta.FindStatusCondition(cq.Status.Conditions, kueue.ClusterQueueActive); got == nil || got.Reason != string(kueue.ReasonTerminating) {
		t.Errorf("Active is %+v, want Terminating", got)
	}
	released := holder()
	released.ResourceVersion, released.Status = "2", kueue.WorkloadStatus{}
	s.deliver(released)
	s.reconcile()
	if exists() {
		t.Error("it stayed though nobody holds its quota")
	}
}
