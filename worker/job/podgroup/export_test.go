package podgroup

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// WithIndexes registers the indexes that the reconciler needs with a fake client.
func WithIndexes(b *fake.ClientBuilder, gates job.Gates) *fake.ClientBuilder {
	return b.WithIndex(&kueue.Workload{}, ownerIndex, ownerIndexValues).WithIndex(&corev1.Pod{}, workloadIndex, workloadIndexValues(gates))
}

// NewReconciler returns a reconciler, and what it does on events of pods and of Workloads.
func NewReconciler(o job.Options, c client.Client, pods, live client.Reader, recorder events.EventRecorder) (reconcile.Reconciler, handler.EventHandler, handler.MapFunc) {
	r := newReconciler(o, c, pods, live)
	r.recorder = recorder
	return r, r.podEvents(), r.requestsForWorkload
}

// Group is the request for a look at a group, Single that for a single pod.
func Group(namespace, name string) reconcile.Request  { return unit{true, namespace, name}.request() }
func Single(namespace, name string) reconcile.Request { return unit{false, namespace, name}.request() }

// Strip is what the cache does with pods.
func Strip(pod *corev1.Pod) *corev1.Pod {
	stripped, _ := strip(pod)
	return stripped.(*corev1.Pod)
}

// BatchInterval is how long events of a group are collected.
const BatchInterval = batchInterval

// MaxChanges is how many pods are changed in a look.
const MaxChanges = maxChanges

// TemplateOf is what a Workload says of a pod.
func TemplateOf(pod *corev1.Pod) corev1.PodTemplateSpec { return templateOf(pod) }
