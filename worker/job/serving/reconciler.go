package serving

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/kube"
)

// Base is what the reconcilers have in common of kinds whose objects have Workloads: by what they read, write and tell.
type Base struct {
	Options job.Options
	Client  client.Client
	// Cache shows pods, which the manager's client reads from the API server.
	Cache    client.Reader
	Groups   Groups
	Writer   *Writer
	Recorder events.EventRecorder

	kind, podIndex, workloadIndex, classIndex string
	newList                                   func() client.ObjectList
}

// NewBase returns what the reconciler of a kind begins with: its client, its cache, what reads from the API server, and who hears of events.
func NewBase[T client.Object](k Kind[T], o job.Options, c client.Client, cache, live client.Reader, recorder events.EventRecorder) Base {
	return Base{
		Options: o, Client: c, Cache: cache, Groups: NewGroups(k.GVK, o, c, live), Recorder: recorder,
		Writer: &Writer{Client: c, Live: live, Clock: o.Clock},
		kind:   k.GVK.Kind, podIndex: k.index("pods"), workloadIndex: k.index("workloads"), classIndex: k.index("classes"),
		newList: k.NewList,
	}
}

// index is the name of an index.
func (k Kind[T]) index(of string) string {
	return "switchyard." + strings.ToLower(k.GVK.Kind) + "." + of
}

// Indexes are those that [Base] reads: pods and Workloads by the name of their object, objects by the priority classes that they name.
func Indexes[T client.Object](k Kind[T], podOwner Owner, templates func(T) []*corev1.PodTemplateSpec) []Index {
	return []Index{
		{Of: &corev1.Pod{}, Name: k.index("pods"), By: ByName(podOwner)},
		{Of: &kueue.Workload{}, Name: k.index("workloads"), By: ByName(WorkloadOwner(k.GVK))},
		{Of: k.New(), Name: k.index("classes"), By: kube.TypedIndexer(func(obj T) []string { return ClassKeys(obj, templates(obj)...) })},
	}
}

// Controller declares the controller of a kind.
type Controller[T client.Object] struct {
	Kind    Kind[T]
	Indexes []Index
	// New returns the reconciler.
	New func(Base) reconcile.Reconciler
	// Watch adds what is watched besides the objects and priority classes.
	Watch func(*builder.Builder) *builder.Builder
}

// Start adds indexes and controller to a manager that may be running already.
func (c Controller[T]) Start(mgr ctrl.Manager, o job.Options) error {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if err := AddIndexes(mgr.GetFieldIndexer(), c.Indexes); err != nil {
		return err
	}
	k := c.Kind
	base := NewBase(k, o, mgr.GetClient(), mgr.GetCache(), mgr.GetAPIReader(), mgr.GetEventRecorder(k.Name+"-kueue-controller"))
	options := kube.ControllerOptions()
	options.MaxConcurrentReconciles = o.Workers(k.GVK.GroupKind())
	classes := handler.EnqueueRequestsFromMapFunc(base.RequestsForClass)
	err := c.Watch(ctrl.NewControllerManagedBy(mgr).Named("job_"+strings.ToLower(k.GVK.Kind)).For(k.New())).
		Watches(&kueue.WorkloadPriorityClass{}, classes, builder.WithPredicates(Creations())).
		Watches(&schedulingv1.PriorityClass{}, classes, builder.WithPredicates(Creations())).
		WithOptions(options).
		Complete(c.New(base))
	if err != nil {
		return fmt.Errorf("start controller of %s: %w", k.GVK.Kind, err)
	}
	return nil
}

// RequestsForClass are the objects that name a priority class that is new.
func (b *Base) RequestsForClass(ctx context.Context, class client.Object) []reconcile.Request {
	list := b.newList()
	var requests []reconcile.Request
	err := b.Client.List(ctx, list, client.MatchingFields{b.classIndex: ClassKey(class)}, client.UnsafeDisableDeepCopy)
	if err == nil {
		err = meta.EachListItem(list, func(item runtime.Object) error {
			obj, err := meta.Accessor(item)
			if err == nil {
				requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}})
			}
			return err
		})
	}
	if err != nil {
		log.FromContext(ctx).Error(err, "List the sets that name a priority class", "class", class.GetName())
	}
	return requests
}

// ListPods lists the pods of objects of the name. They are the cache's own.
func (b *Base) ListPods(ctx context.Context, of types.NamespacedName) ([]*corev1.Pod, error) {
	var list corev1.PodList
	err := b.Cache.List(ctx, &list, client.InNamespace(of.Namespace), client.MatchingFields{b.podIndex: of.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list pods of %s %s: %w", b.kind, of.Name, err)
	}
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	return pods, nil
}

// ListWorkloads lists the Workloads of objects of the name. They are the cache's own.
func (b *Base) ListWorkloads(ctx context.Context, of types.NamespacedName) ([]kueue.Workload, error) {
	var list kueue.WorkloadList
	err := b.Client.List(ctx, &list, client.InNamespace(of.Namespace), client.MatchingFields{b.workloadIndex: of.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list workloads of %s %s: %w", b.kind, of.Name, err)
	}
	return list.Items, nil
}
