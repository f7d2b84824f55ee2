package queue

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/metrics"
	"switchyard.dev/worker/view"
)

func TestSeriesAreDeletedWhenAQueueIsStopped(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kueue.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	registry := prometheus.NewRegistry()
	metrics, err := metrics.New(registry, metrics.Options{LocalQueues: func(types.NamespacedName) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	lq := &kueue.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lq", UID: "u"},
		Spec:       kueue.LocalQueueSpec{ClusterQueue: "cq", StopPolicy: kueue.Hold},
	}
	informers := &informertest.FakeInformers{Scheme: scheme}
	r := newLocalQueueReconciler(Config{
		Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(lq).WithStatusSubresource(lq).Build(),
		View:   view.New(view.Options{}), Metrics: metrics, Clock: clocktesting.NewFakePassiveClock(metav1.Now().Time), RateLimiter: NewRateLimiter(),
	})
	if err := r.View.Register(t.Context(), informers); err != nil {
		t.Fatal(err)
	}
	informer, err := informers.FakeInformerFor(t.Context(), lq)
	if err != nil {
		t.Fatal(err)
	}
	informer.Add(lq)
	for _, what := range []string{"it is stopped", "it is stopped still"} {
		was := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "w"}, Spec: kueue.WorkloadSpec{QueueName: "lq"}}
		is := was.DeepCopy()
		meta.SetStatusCondition(&is.Status.Conditions, metav1.Condition{Type: kueue.WorkloadFinished, Status: metav1.ConditionTrue})
		metrics.ObserveChange(was, is)
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "lq"}}); err != nil {
			t.Fatal(err)
		}
		got, err := testutil.GatherAndCount(registry, "kueue_local_queue_finished_workloads_total")
		if want := map[string]int{"it is stopped": 0, "it is stopped still": 1}[what]; err != nil || got != want {
			t.Errorf("when %s there are %d series, want %d (%v)", what, got, want, err)
		}
	}
}
