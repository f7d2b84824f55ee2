package podgroup

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/podgroup/podmeta"
	"switchyard.dev/worker/job/podgroup/podwebhook"
)

// Name is the name in the configuration's integrations.frameworks.
const Name = "pod"

// IsServed tells whether pods are served for the integrations of these names: for themselves, or because another integration has pods wait
// in place of what made them (contract: job-kinds.md 1.11).
func IsServed(names []string) bool {
	return slices.Contains(names, Name) || slices.Contains(names, "deployment") || NeedsUnmarked(names)
}

// NeedsUnmarked tells whether one of the integrations marks the pods of its objects only after those were created (see [CacheOptions]).
func NeedsUnmarked(names []string) bool {
	return slices.Contains(names, "statefulset") || slices.Contains(names, "leaderworkerset.x-k8s.io/leaderworkerset")
}

// Framework is what one cluster needs of pods. The manager's cache must show pods as [CacheOptions] says.
type Framework struct{}

// New returns the framework.
func New() Framework { return Framework{} }

// Name is the name in the configuration.
func (Framework) Name() string { return Name }

// GVK is that of pods.
func (Framework) GVK() schema.GroupVersionKind { return podmeta.GVK() }

// AddToScheme registers the types of pods.
func (Framework) AddToScheme(s *runtime.Scheme) error { return corev1.AddToScheme(s) }

// New returns an empty pod.
func (Framework) New() client.Object { return &corev1.Pod{} }

// NewList returns an empty list of pods.
func (Framework) NewList() client.ObjectList { return &corev1.PodList{} }

// SetupWebhook adds the handlers to the manager's webhook server. With enabled false they accept everything unchanged.
func (Framework) SetupWebhook(mgr ctrl.Manager, o job.Options, enabled bool) error {
	h := podwebhook.New(o, mgr.GetClient(), mgr.GetAPIReader(), enabled)
	if err := ctrl.NewWebhookManagedBy(mgr, &corev1.Pod{}).WithDefaulter(h).WithValidator(h).Complete(); err != nil {
		return fmt.Errorf("set up webhooks of pods: %w", err)
	}
	return nil
}

// Setup adds the reconciler and its indexes to the manager. Every cluster serves pods.
func (Framework) Setup(mgr ctrl.Manager, o job.Options) error {
	r := newReconciler(o, mgr.GetClient(), mgr.GetCache(), mgr.GetAPIReader())
	r.recorder = mgr.GetEventRecorder(Name + "-kueue-controller")
	indexer := mgr.GetFieldIndexer()
	if err := indexer.IndexField(context.Background(), &kueue.Workload{}, ownerIndex, ownerIndexValues); err != nil {
		return fmt.Errorf("index workloads by their pod: %w", err)
	}
	if err := indexer.IndexField(context.Background(), &corev1.Pod{}, workloadIndex, workloadIndexValues(o.Gates)); err != nil {
		return fmt.Errorf("index pods by their workload: %w", err)
	}
	skip := true // several clusters may be served by one process
	b := ctrl.NewControllerManagedBy(mgr).
		Named("job_pod").
		Watches(&corev1.Pod{}, r.podEvents()).
		Watches(&kueue.Workload{}, handler.EnqueueRequestsFromMapFunc(r.requestsForWorkload), builder.WithPredicates(r.checkMessages())).
		WithOptions(controller.Options{MaxConcurrentReconciles: o.Workers(podmeta.GVK().GroupKind()), SkipNameValidation: &skip})
	if err := r.waiting.Watch(b).Complete(r); err != nil {
		return fmt.Errorf("start controller of pods: %w", err)
	}
	return nil
}
