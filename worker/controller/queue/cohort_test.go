package queue

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
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

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/metrics"
	"switchyard.dev/worker/view"
)

// cohortEnv has the cohorts low and lends below top; the queue cq in low, with 4 gpus of its own, uses 6.
type cohortEnv struct {
	*testing.T
	*StatusReconciler[*kueue.Cohort]
	informers *informertest.FakeInformers
}

func newCohortEnv(t *testing.T, fairSharing bool) *cohortEnv {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kueue.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	metrics, err := metrics.New(prometheus.NewRegistry(), metrics.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cohorts := []client.Object{testCohort("low"), testCohort("lends")}
	s := &cohortEnv{T: t, informers: &informertest.FakeInformers{Scheme: scheme}}
	s.StatusReconciler = newCohortReconciler(Config{
		Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(cohorts...).WithStatusSubresource(&kueue.Cohort{}).Build(),
		View:   view.New(view.Options{}), Metrics: metrics, Clock: clocktesting.NewFakePassiveClock(metav1.Now().Time),
		RateLimiter: NewRateLimiter(), FairSharing: fairSharing,
	})
	if err := s.View.Register(t.Context(), s.informers); err != nil {
		t.Fatal(err)
	}
	s.deliver(append(cohorts, cohortClusterQueue("cq", "low"), cohortClusterQueue("other", "lends"), newCohortWorkload())...)
	return s
}

func (s *cohortEnv) deliver(objects ...client.Object) {
	s.Helper()
	for _, o := range objects {
		informer, err := s.informers.FakeInformerFor(s.Context(), o)
		if err != nil {
			s.Fatal(err)
		}
		informer.Add(o)
	}
}

func (s *cohortEnv) reconcile(name string) {
	s.Helper()
	if _, err := s.Reconcile(s.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}}); err != nil {
		s.Fatal(err)
	}
}

func (s *cohortEnv) getFairSharing(name string) *kueue.FairSharingStatus {
	s.Helper()
	c := &kueue.Cohort{}
	if err := s.Client.Get(s.Context(), types.NamespacedName{Name: name}, c); err != nil {
		s.Fatal(err)
	}
	return c.Status.FairSharing
}

func testCohort(name string) *kueue.Cohort {
	return &kueue.Cohort{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: kueue.CohortSpec{ParentName: "top"}}
}

func cohortClusterQueue(name, cohort string) *kueue.ClusterQueue {
	cq := &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: name}}
	cq.Spec.CohortName = kueue.CohortReference(cohort)
	cq.Spec.ResourceGroups = []kueue.ResourceGroup{{
		CoveredResources: []corev1.ResourceName{"gpu"},
		Flavors: []kueue.FlavorQuotas{{Name: "red", Resources: []kueue.ResourceQuota{
			{Name: "gpu", NominalQuota: resource.MustParse("4")},
		}}},
	}}
	return cq
}

func newCohortWorkload() *kueue.Workload {
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "w", UID: "u", ResourceVersion: "1"}}
	wl.Spec.PodSets = []kueue.PodSet{{Name: "main", Count: 6}}
	wl.Status.Admission = &kueue.Admission{ClusterQueue: "cq", PodSetAssignments: []kueue.PodSetAssignment{{
		Name: "main", Count: ptr.To[int32](6), ResourceUsage: corev1.ResourceList{"gpu": resource.MustParse("6")},
		Flavors: map[corev1.ResourceName]kueue.ResourceFlavorReference{"gpu": "red"},
	}}}
	meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionTrue})
	return wl
}

func TestTheShareOfACohortIsWrittenUnderFairSharing(t *testing.T) {
	s := newCohortEnv(t, true)
	s.reconcile("low")
	if got := s.getFairSharing("low"); got == nil || got.WeightedShare != 250 { // 2 borrowed of 8.
		t.Errorf("the share of low is %+v", got)
	}
	s.reconcile("lends")
	if got := s.getFairSharing("lends"); got == nil || got.WeightedShare != 0 {
		t.Errorf("the share of the cohort that lends is %+v", got)
	}
}

func TestWithoutFairSharingThereIsNoShare(t *testing.T) {
	s := newCohortEnv(t, false)
	s.reconcile("low")
	if got := s.getFairSharing("low"); got != nil {
		t.Errorf("the share is %+v", got)
	}
}

func TestACohortThatNobodyNamesAnyMoreLosesItsSeries(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := newCohortEnv(t, true)
	metrics, err := metrics.New(registry, metrics.Options{CohortsAbove: s.View.CohortsAbove})
	if err != nil {
		t.Fatal(err)
	}
	s.Metrics = metrics
	s.StatusReconciler.Kind = newCohortReconciler(s.Config).Kind
	runs := newCohortWorkload()
	meta.SetStatusCondition(&runs.Status.Conditions, metav1.Condition{Type: kueue.WorkloadAdmitted, Status: metav1.ConditionTrue})
	metrics.ObserveChange(newCohortWorkload(), runs)
	series := func() int {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, f := range families {
			if f.GetName() == "kueue_cohort_subtree_admitted_workloads_total" {
				n += len(f.Metric)
			}
		}
		return n
	}
	s.reconcile("top") // It has no object, but is named.
	if got := series(); got != 2 {
		t.Fatalf("%d series of cohorts, want those of low and top", got)
	}
	informer, err := s.informers.FakeInformerFor(t.Context(), &kueue.Cohort{})
	if err != nil {
		t.Fatal(err)
	}
	informer.Delete(testCohort("low"))
	informer.Delete(testCohort("lends"))
	s.reconcile("top")
	if got := series(); got != 1 {
		t.Errorf("%d series of cohorts are left, want that of low, which a queue still names", got)
	}
}
