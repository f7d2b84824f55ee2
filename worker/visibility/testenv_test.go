package visibility

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	visibility "switchyard.dev/apis/visibility/v1beta2"
	"switchyard.dev/worker/apiserver/apiservertest"
	"switchyard.dev/worker/view"
)

var baseTime = time.Date(2026, time.November, 26, 9, 0, 0, 0, time.UTC)

// testEnv is the group, served from a view to which informers deliver what a test tells them to.
type testEnv struct {
	testing.TB
	view      *view.View
	clock     *clocktesting.FakeClock
	informers *informertest.FakeInformers
	server    *httptest.Server
}

func newTestEnv(tb testing.TB, objects ...client.Object) *testEnv {
	tb.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kueue.AddToScheme} {
		if err := add(scheme); err != nil {
			tb.Fatal(err)
		}
	}
	e := &testEnv{
		TB: tb, view: view.New(view.Options{PriorityBoost: true}), clock: clocktesting.NewFakeClock(baseTime),
		informers: &informertest.FakeInformers{Scheme: scheme},
	}
	if err := e.view.Register(tb.Context(), e.informers); err != nil {
		tb.Fatal(err)
	}
	group, err := NewGroup(e.view, e.clock)(tb.Context(), nil)
	if err != nil {
		tb.Fatal(err)
	}
	e.server = apiservertest.Serve(tb, func(authorizationv1.SubjectAccessReviewSpec) bool { return true }, group)
	e.deliver(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}})
	e.deliver(objects...)
	return e
}

func (e *testEnv) deliver(objects ...client.Object) {
	e.Helper()
	for _, o := range objects {
		informer, err := e.informers.FakeInformerFor(e.Context(), o)
		if err != nil {
			e.Fatal(err)
		}
		informer.Add(o.DeepCopyObject().(client.Object))
	}
}

func (e *testEnv) remove(o client.Object) {
	e.Helper()
	informer, err := e.informers.FakeInformerFor(e.Context(), o)
	if err != nil {
		e.Fatal(err)
	}
	informer.Delete(o)
}

// get returns the status and the text of what is at a path below the group.
func (e *testEnv) get(path string, headers ...string) (int, string) {
	e.Helper()
	return apiservertest.Get(e, e.server, "alice", "/apis/visibility.kueue.x-k8s.io/"+path, headers...)
}

// summary returns what waits in a queue.
func (e *testEnv) summary(path string) visibility.PendingWorkloadsSummary {
	e.Helper()
	status, text := e.get(path)
	if status != http.StatusOK {
		e.Fatalf("%s: status %d: %s", path, status, text)
	}
	var s visibility.PendingWorkloadsSummary
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		e.Fatal(err)
	}
	return s
}

// list renders what waits in a queue: for each, its name and both positions.
func (e *testEnv) list(path string) string {
	e.Helper()
	var words []string
	for _, w := range e.summary(path).Items {
		words = append(words, fmt.Sprintf("%s/%d/%d", w.Name, w.PositionInClusterQueue, w.PositionInLocalQueue))
	}
	return strings.Join(words, " ")
}

func testClusterQueue(name string) *kueue.ClusterQueue {
	return &kueue.ClusterQueue{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Spec:       kueue.ClusterQueueSpec{NamespaceSelector: &metav1.LabelSelector{}},
	}
}

func testLocalQueue(name, queue string) *kueue.LocalQueue {
	return &kueue.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)},
		Spec:       kueue.LocalQueueSpec{ClusterQueue: kueue.ClusterQueueReference(queue)},
	}
}

// testWorkload waits in a LocalQueue since some seconds.
func testWorkload(name, local string, priority int32, since int) *kueue.Workload {
	return &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(baseTime.Add(-time.Duration(since) * time.Second)),
		},
		Spec: kueue.WorkloadSpec{
			QueueName: kueue.LocalQueueName(local), Priority: ptr.To(priority),
			PodSets: []kueue.PodSet{{Name: "main", Count: 1, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "c"}},
			}}}},
		},
	}
}
