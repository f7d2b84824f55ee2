package logtail

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/hub/access"
)

const (
	team   = "team"
	hubUID = "hub-uid"
	system = "kueue-system"
)

// fakeWorker is the API server of a worker, as far as it is asked.
type fakeWorker struct {
	*httptest.Server

	mu      sync.Mutex
	pods    []*corev1.Pod
	objects map[string]any
	// asked are the paths and queries of all requests.
	asked []string
	// log, if set, answers requests for logs.
	log http.HandlerFunc
}

func newFakeWorker(tb testing.TB) *fakeWorker {
	tb.Helper()
	w := &fakeWorker{objects: map[string]any{}}
	w.Server = httptest.NewTLSServer(w)
	tb.Cleanup(func() {
		w.CloseClientConnections()
		w.Close()
	})
	return w
}

// ServeHTTP implements http.Handler.
func (w *fakeWorker) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.asked = append(w.asked, strings.TrimSuffix(r.URL.Path+"?"+r.URL.RawQuery, "?"))
	log, object := w.log, w.objects[r.URL.Path]
	w.mu.Unlock()
	switch {
	case strings.HasSuffix(r.URL.Path, "/log") && log != nil:
		log(out, r)
	case strings.HasSuffix(r.URL.Path, "/log"):
		_, _ = io.WriteString(out, strings.Split(r.URL.Path, "/")[6]+"/"+r.URL.Query().Get("container")+" says why\n")
	case strings.HasSuffix(r.URL.Path, "/pods"):
		w.list(out, r.URL.Query().Get("fieldSelector"))
	case object != nil:
		_ = json.NewEncoder(out).Encode(object)
	default:
		out.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(out, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"not found","reason":"NotFound","code":404}`)
	}
}

func (w *fakeWorker) list(out http.ResponseWriter, selector string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := corev1.PodList{}
	for _, pod := range w.pods {
		if selector == "status.phase="+string(pod.Status.Phase) {
			list.Items = append(list.Items, *pod)
		}
	}
	_ = json.NewEncoder(out).Encode(list)
}

func (w *fakeWorker) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.asked)
}

func (w *fakeWorker) kubeconfig(tb testing.TB) []byte {
	tb.Helper()
	c := clientcmdapi.NewConfig()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.Certificate().Raw})
	c.Clusters["w"] = &clientcmdapi.Cluster{Server: w.URL, CertificateAuthorityData: ca}
	c.AuthInfos["w"] = &clientcmdapi.AuthInfo{Token: "the-hubs-own"}
	c.Contexts["w"] = &clientcmdapi.Context{Cluster: "w", AuthInfo: "w"}
	c.CurrentContext = "w"
	raw, err := clientcmd.Write(*c)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

// fakeHub is a Keeper with all around it.
type fakeHub struct {
	*Keeper

	client  client.Client
	clock   *clocktesting.FakeClock
	workers map[string]*fakeWorker
}

func newHub(tb testing.TB, names ...string) *fakeHub {
	tb.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, kueue.AddToScheme, switchyard.AddToScheme} {
		if err := add(scheme); err != nil {
			tb.Fatal(err)
		}
	}
	h := &fakeHub{workers: map[string]*fakeWorker{}, clock: clocktesting.NewFakeClock(start)}
	h.client = fakeclient.NewClientBuilder().WithScheme(scheme).WithIndex(&kueue.Workload{}, hubworkload.ByOwner, func(o client.Object) []string {
		return hubworkload.OwnerIndexValues(o.(*kueue.Workload))
	}).WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: hubUID}}).Build()
	for _, name := range names {
		w := newFakeWorker(tb)
		h.workers[name] = w
		h.create(tb, &kueue.MultiKueueCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: workeraccess.ViewerSecretName(name)},
			Data:       map[string][]byte{kueue.MultiKueueConfigSecretKey: w.kubeconfig(tb)},
		})
	}
	h.restart()
	return h
}

// restart makes a Keeper that remembers nothing.
func (h *fakeHub) restart() {
	h.Keeper = New(Config{
		Client: h.client, Live: h.client, Retention: time.Minute, MaxJobs: 3, MaxAge: time.Hour, Log: logr.Discard(), Clock: h.clock,
		Workers: access.NewPods(access.Config{
			Reader: h.client, Live: h.client, Namespace: system, Origin: "multikueue",
			Jobs: []schema.GroupVersionKind{batchv1.SchemeGroupVersion.WithKind("Job")},
		}),
	})
	h.sweep(context.Background())
}

func (h *fakeHub) create(tb testing.TB, objects ...client.Object) {
	tb.Helper()
	for _, obj := range objects {
		if err := h.client.Create(context.Background(), obj); err != nil {
			tb.Fatal(err)
		}
	}
}

// fail makes a job that has ended on a worker now, with those pods, and returns its Workload. The Workload is called as the job, its UID begins
// with "workload-".
func (h *fakeHub) fail(tb testing.TB, name, cluster string, reason kueue.Reason, pods ...*corev1.Pod) *kueue.Workload {
	tb.Helper()
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
		Namespace: team, Name: name, UID: types.UID("workload-" + name),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: name, UID: "hub-job", Controller: ptr.To(true)}},
	}}
	wl.Status.ClusterName = ptr.To(cluster)
	wl.Status.Conditions = []metav1.Condition{{Type: kueue.WorkloadFinished, Status: metav1.ConditionTrue, Reason: string(reason), LastTransitionTime: metav1.NewTime(h.clock.Now())}}
	h.create(tb, wl)
	w := h.workers[cluster]
	if w == nil {
		return wl
	}
	marks := metav1.ObjectMeta{
		Namespace: team, Name: name, UID: types.UID("remote-" + name), Labels: map[string]string{kueue.MultiKueueOriginLabel: "multikueue"},
		Annotations: map[string]string{switchyard.HubUIDAnnotation: hubUID, switchyard.OwnerUIDAnnotation: string(wl.UID)},
	}
	copied := &kueue.Workload{ObjectMeta: *marks.DeepCopy()}
	copied.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: name, UID: marks.UID, Controller: ptr.To(true)}}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.objects["/apis/batch/v1/namespaces/team/jobs/"+name] = &batchv1.Job{ObjectMeta: marks}
	w.objects["/apis/kueue.x-k8s.io/v1beta2/namespaces/team/workloads/"+name] = copied
	for _, pod := range pods {
		pod.OwnerReferences = copied.OwnerReferences
		w.pods = append(w.pods, pod)
	}
	return wl
}

// aPod has containers that have ended with those codes; -1 is one that runs.
func aPod(name string, phase corev1.PodPhase, codes ...int32) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name, UID: types.UID("pod-" + name)}}
	pod.Status.Phase = phase
	for i, code := range codes {
		c := corev1.ContainerStatus{Name: string(rune('a' + i))}
		if code < 0 {
			c.State.Running = &corev1.ContainerStateRunning{}
		} else {
			c.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: code}
		}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, c)
	}
	return pod
}

func (h *fakeHub) tails(tb testing.TB) []corev1.ConfigMap {
	tb.Helper()
	list := &corev1.ConfigMapList{}
	if err := h.client.List(context.Background(), list); err != nil {
		tb.Fatal(err)
	}
	return list.Items
}
