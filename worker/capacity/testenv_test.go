package capacity

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/view"
)

var baseTime = time.Date(2026, time.November, 21, 9, 0, 0, 0, time.UTC)

// testEnv is a reconciler on a real view and an API server in memory; informers deliver what a test tells them to.
type testEnv struct {
	testing.TB
	*Reconciler
	clock     *clocktesting.FakeClock
	informers *informertest.FakeInformers
	writes    int
	// nextError is what the next write ends with.
	nextError error
}

func newTestEnv(tb testing.TB, objects ...client.Object) *testEnv {
	tb.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kueue.AddToScheme, switchyard.AddToScheme} {
		if err := add(scheme); err != nil {
			tb.Fatal(err)
		}
	}
	s := &testEnv{TB: tb, informers: &informertest.FakeInformers{Scheme: scheme}, clock: clocktesting.NewFakeClock(baseTime)}
	patch := func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
		s.writes++
		if err := s.nextError; err != nil {
			s.nextError = nil
			return err
		}
		return c.Patch(ctx, obj, p, opts...)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{Patch: patch}).Build()
	s.Reconciler = New(c, view.New(view.Options{}), s.clock, Options{JobKinds: []string{"Job.v1.batch"}})
	if err := s.view.Register(tb.Context(), s.informers); err != nil {
		tb.Fatal(err)
	}
	s.deliver(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}})
	s.deliver(objects...)
	return s
}

// deliver hands objects to the view, and names to the reconciler as the view's sources do, without their delay.
func (s *testEnv) deliver(objects ...client.Object) {
	s.Helper()
	for _, o := range objects {
		informer, err := s.informers.FakeInformerFor(s.Context(), o)
		if err != nil {
			s.Fatal(err)
		}
		informer.Add(o.DeepCopyObject().(client.Object))
		s.markChanged(o)
	}
}

func (s *testEnv) remove(o client.Object) {
	s.Helper()
	informer, err := s.informers.FakeInformerFor(s.Context(), o)
	if err != nil {
		s.Fatal(err)
	}
	informer.Delete(o)
	s.markChanged(o)
}

func (s *testEnv) markChanged(o client.Object) {
	switch o := o.(type) {
	case *kueue.ClusterQueue:
		s.changed.clusterQueues[o.Name] = true
	case *kueue.LocalQueue:
		s.changed.localQueues[namespacedNameOf(o)] = true
	case *kueue.Workload:
		s.changed.localQueues[types.NamespacedName{Namespace: o.Namespace, Name: string(o.Spec.QueueName)}] = true
	}
}

// reconcile returns when the reconciler wants to look again.
func (s *testEnv) reconcile() time.Duration {
	s.Helper()
	result, err := s.Reconcile(s.Context(), ctrl.Request{})
	if err != nil {
		s.Fatal(err)
	}
	return result.RequeueAfter
}

func (s *testEnv) getReport() *switchyard.CapacityReport {
	s.Helper()
	report := &switchyard.CapacityReport{}
	if err := s.client.Get(s.Context(), types.NamespacedName{Name: switchyard.CapacityReportName}, report); err != nil {
		s.Fatal(err)
	}
	return report
}

// describeReport renders what is published, a line a queue and flavor:
//
//	team: red own 2 free 6 largest 8, from 5: 8; waiting 0: 3 since 60
func (s *testEnv) describeReport() string {
	s.Helper()
	var lines []string
	for _, q := range s.getReport().ClusterQueues {
		line := q.Name + ":"
		for _, g := range q.Groups {
			for _, f := range g.Flavors {
				line += fmt.Sprintf(" %s own %s free %s largest %s", f.Flavor, formatFigures(f.Own), formatFigures(f.Free), formatFigures(f.Largest))
				for _, step := range f.Preempting {
					line += fmt.Sprintf(", from %d: %s", step.Priority, formatFigures(step.Free))
				}
			}
		}
		for _, w := range q.Waiting {
			line += fmt.Sprintf("; waiting %d: %d since %v", w.Priority, w.Count, w.Since.Sub(baseTime).Seconds())
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func namespacedNameOf(o client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

func formatFigures(figures []int64) string {
	var texts []string
	for _, f := range figures {
		texts = append(texts, fmt.Sprint(f))
	}
	return strings.Join(texts, "/")
}

func testFlavor(name string) *kueue.ResourceFlavor {
	return &kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// testClusterQueue has that many gpus of the flavor red, and the given preemption policy.
func testClusterQueue(name, cohort string, gpus int64, within, reclaim kueue.PreemptionPolicy) *kueue.ClusterQueue {
	return &kueue.ClusterQueue{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Spec: kueue.ClusterQueueSpec{
			NamespaceSelector: &metav1.LabelSelector{}, CohortName: kueue.CohortReference(cohort),
			Preemption: &kueue.ClusterQueuePreemption{WithinClusterQueue: within, ReclaimWithinCohort: reclaim},
			ResourceGroups: []kueue.ResourceGroup{{
				CoveredResources: []corev1.ResourceName{"gpu"},
				Flavors: []kueue.FlavorQuotas{{Name: "red", Resources: []kueue.ResourceQuota{
					{Name: "gpu", NominalQuota: *resource.NewQuantity(gpus, resource.DecimalSI)},
				}}},
			}},
		},
	}
}

func testLocalQueue(name, queue string) *kueue.LocalQueue {
	return &kueue.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)},
		Spec:       kueue.LocalQueueSpec{ClusterQueue: kueue.ClusterQueueReference(queue)},
	}
}

// pendingWorkload asks for gpus in a LocalQueue, one a pod, since some seconds after the epoch.
func pendingWorkload(name, local string, gpus, priority int32, since int) *kueue.Workload {
	return &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID(name), ResourceVersion: "1",
			CreationTimestamp: metav1.NewTime(baseTime.Add(time.Duration(since) * time.Second)),
		},
		Spec: kueue.WorkloadSpec{
			QueueName: kueue.LocalQueueName(local), Priority: ptr.To(priority),
			PodSets: []kueue.PodSet{{Name: "main", Count: gpus, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{"gpu": resource.MustParse("1")},
				}}},
			}}}},
		},
	}
}

// setReservation has got what it asked for through a ClusterQueue.
func setReservation(wl *kueue.Workload, queue string) *kueue.Workload {
	count := wl.Spec.PodSets[0].Count
	wl.Status.Admission = &kueue.Admission{
		ClusterQueue: kueue.ClusterQueueReference(queue),
		PodSetAssignments: []kueue.PodSetAssignment{{
			Name: "main", Count: ptr.To(count),
			Flavors:       map[corev1.ResourceName]kueue.ResourceFlavorReference{"gpu": "red"},
			ResourceUsage: corev1.ResourceList{"gpu": *resource.NewQuantity(int64(count), resource.DecimalSI)},
		}},
	}
	meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{
		Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionTrue, Reason: "QuotaReserved", LastTransitionTime: metav1.NewTime(baseTime),
	})
	return wl
}

// newNotInstalledError is what the client says of a kind that the API server does not know.
func newNotInstalledError() error {
	return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: switchyard.GroupName, Kind: "CapacityReport"}}
}
