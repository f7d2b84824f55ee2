package scheduler

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube/polltest"
	"switchyard.dev/worker/metrics"
	"switchyard.dev/worker/view"
)

var baseTime = time.Date(2026, time.November, 21, 9, 0, 0, 0, time.UTC)

// testEnv is a loop on an API server in memory. Informers deliver only what a test tells them to.
type testEnv struct {
	*testing.T
	scheduler *Scheduler
	view      *view.View
	client    client.Client
	clock     *clocktesting.FakeClock
	events    *events.FakeRecorder
	registry  *prometheus.Registry
	informers *informertest.FakeInformers
	// refuse, when not nil, answers the next writes of a status instead of the server, first come first served; a nil
	// entry lets one through.
	mu          sync.Mutex
	writeErrors []error
	writes      atomic.Int64
	// onPatch, when not nil, is called before each write is answered.
	onPatch func()
}

func newTestEnv(t *testing.T) *testEnv {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kueue.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	s := &testEnv{
		T: t, view: view.New(view.Options{ElasticJobs: true}), clock: clocktesting.NewFakeClock(baseTime),
		events: events.NewFakeRecorder(100), registry: prometheus.NewRegistry(), informers: &informertest.FakeInformers{Scheme: scheme},
	}
	s.client = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&kueue.Workload{}).
		WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: s.patch}).Build()
	if err := s.view.Register(s.Context(), s.informers); err != nil {
		t.Fatal(err)
	}
	metrics, err := metrics.New(s.registry, metrics.Options{LocalQueues: func(types.NamespacedName) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	s.scheduler = NewScheduler(Config{View: s.view, Client: s.client, Recorder: s.events, Metrics: metrics, Clock: s.clock})
	s.deliver(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}},
		&kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "red"}},
		testClusterQueue(),
		&kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lq"}, Spec: kueue.LocalQueueSpec{ClusterQueue: "cq"}},
	)
	return s
}

func (s *testEnv) patch(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	s.writes.Add(1)
	s.mu.Lock()
	var refusal error
	if len(s.writeErrors) > 0 {
		refusal, s.writeErrors = s.writeErrors[0], s.writeErrors[1:]
	}
	s.mu.Unlock()
	if s.onPatch != nil {
		s.onPatch()
	}
	if refusal != nil {
		return refusal
	}
	return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
}

// testClusterQueue has 4 gpus.
func testClusterQueue(checks ...kueue.AdmissionCheckReference) *kueue.ClusterQueue {
	cq := &kueue.ClusterQueue{
		ObjectMeta: metav1.ObjectMeta{Name: "cq"},
		Spec: kueue.ClusterQueueSpec{
			NamespaceSelector: &metav1.LabelSelector{},
			ResourceGroups: []kueue.ResourceGroup{{
				CoveredResources: []corev1.ResourceName{"gpu"},
				Flavors: []kueue.FlavorQuotas{{Name: "red", Resources: []kueue.ResourceQuota{
					{Name: "gpu", NominalQuota: resource.MustParse("4")},
				}}},
			}},
		},
	}
	for _, name := range checks {
		if cq.Spec.AdmissionChecksStrategy == nil {
			cq.Spec.AdmissionChecksStrategy = &kueue.AdmissionChecksStrategy{}
		}
		rules := &cq.Spec.AdmissionChecksStrategy.AdmissionChecks
		*rules = append(*rules, kueue.AdmissionCheckStrategyRule{Name: name})
	}
	return cq
}

func activeCheck(name string) *kueue.AdmissionCheck {
	ac := &kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: name}}
	meta.SetStatusCondition(&ac.Status.Conditions, metav1.Condition{Type: kueue.AdmissionCheckActive, Status: metav1.ConditionTrue})
	return ac
}

// deliver has the informers say that the objects are as given.
func (s *testEnv) deliver(objects ...client.Object) {
	s.Helper()
	for _, o := range objects {
		informer, err := s.informers.FakeInformerFor(s.Context(), o)
		if err != nil {
			s.Fatal(err)
		}
		informer.Add(o)
	}
}

// submitWorkload stores a workload that asks for gpus and has the informers say so.
func (s *testEnv) submitWorkload(name string, gpus int32) {
	s.Helper()
	wl := &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(baseTime.Add(-time.Minute))},
		Spec: kueue.WorkloadSpec{QueueName: "lq", PodSets: []kueue.PodSet{{
			Name: "main", Count: gpus,
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"gpu": resource.MustParse("1")}},
			}}}},
		}}},
	}
	if err := s.client.Create(s.Context(), wl); err != nil {
		s.Fatal(err)
	}
	s.deliver(s.getWorkload(name))
}

// getWorkload reads a workload from the server.
func (s *testEnv) getWorkload(name string) *kueue.Workload {
	s.Helper()
	wl := &kueue.Workload{}
	if err := s.client.Get(s.Context(), types.NamespacedName{Namespace: "ns", Name: name}, wl); err != nil {
		s.Fatal(err)
	}
	return wl
}

// runCycle runs the loop once and waits for its writes.
func (s *testEnv) runCycle() view.CycleResult {
	s.Helper()
	batch := s.scheduler.runCycle(s.Context())
	s.scheduler.writePool.wait()
	return batch
}

// recordedEvents returns the events so far.
func (s *testEnv) recordedEvents() []string {
	for s.scheduler.eventQueue.sendNext(s.Context()) > 0 {
	}
	var list []string
	for {
		select {
		case e := <-s.events.Events:
			list = append(list, e)
		default:
			return list
		}
	}
}

func (s *testEnv) conditionOf(name, kind string) string {
	s.Helper()
	c := meta.FindStatusCondition(s.getWorkload(name).Status.Conditions, kind)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason
}

// waitFor polls until another goroutine has got there.
func waitFor(t *testing.T, ready func() bool) {
	t.Helper()
	if !polltest.Holds(t, ready) {
		t.Fatal("it does not come about")
	}
}
