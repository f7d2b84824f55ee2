package job

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/workload"
)

const (
	// conflictDelay is how long to let the cache catch up after a conflict with another writer.
	conflictDelay = 100 * time.Millisecond
	// firstPoll and lastPoll are how long to wait before looking once more for a kind that the cluster does not serve yet (contract:
	// job-kinds.md 1.11).
	firstPoll, lastPoll = time.Second, 2 * time.Minute
)

// Setup implements Integration.
func (i integration[T]) Setup(mgr ctrl.Manager, o Options) error {
	needed, err := i.watchedKinds(mgr.GetScheme())
	if err != nil {
		return err
	}
	return StartWhenServed(mgr, i.kind.Name, needed, func() error { return i.start(mgr, o) })
}

// StartWhenServed starts the controllers of an integration, at once if the cluster serves the kinds that they need, else as soon as it
// does.
func StartWhenServed(mgr ctrl.Manager, integration string, needed []schema.GroupVersionKind, start func() error) error {
	served, err := areServed(mgr.GetRESTMapper(), needed)
	if err != nil {
		return err
	}
	if served {
		return start()
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		log.FromContext(ctx).Info("Waiting for the API of an integration", "integration", integration, "needs", needed)
		backoff := wait.Backoff{Duration: firstPoll, Factor: 2, Cap: lastPoll, Steps: math.MaxInt32}
		err := backoff.DelayFunc().Until(ctx, false, true, func(context.Context) (bool, error) {
			served, err := areServed(mgr.GetRESTMapper(), needed)
			return served && err == nil, nil
		})
		if err != nil {
			return nil //nolint:nilerr // the manager stops before the API has come
		}
		return start()
	}))
}

// watchedKinds are all kinds that the kind's reconciler watches besides ours: its own, those of children that wake it, and of inputs.
func (i integration[T]) watchedKinds(scheme *runtime.Scheme) ([]schema.GroupVersionKind, error) {
	kinds := []schema.GroupVersionKind{i.kind.GVK}
	for _, obj := range slices.Concat(i.kind.watchedChildren(), i.kind.watchedInputs()) {
		gvk, err := apiutil.GVKForObject(obj, scheme)
		if err != nil {
			return nil, fmt.Errorf("kind of a %T that %s watches: %w", obj, i.kind.Name, err)
		}
		kinds = append(kinds, gvk)
	}
	return kinds, nil
}

// watchedChildren returns an empty object of each kind of children that wake their job.
func (k *Kind[T]) watchedChildren() []client.Object {
	if k.Children == nil || k.Children.Watched == nil {
		return nil
	}
	return k.Children.Watched()
}

// watchedInputs returns an empty object of each kind of the job's inputs.
func (k *Kind[T]) watchedInputs() []client.Object {
	if k.Inputs == nil {
		return nil
	}
	return k.Inputs.Kinds()
}

// areServed reports whether the API server serves all of the kinds. An error is one of asking.
func areServed(mapper meta.RESTMapper, kinds []schema.GroupVersionKind) (bool, error) {
	for _, gvk := range kinds {
		if served, err := isServed(mapper, gvk); !served || err != nil {
			return false, err
		}
	}
	return true, nil
}

// isServed reports whether the API server serves a kind. An error is one of asking.
func isServed(mapper meta.RESTMapper, gvk schema.GroupVersionKind) (bool, error) {
	_, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the API of %s: %w", gvk.Kind, err)
	}
	return true, nil
}

// start adds indexes and controller to a manager that may be running already.
func (i integration[T]) start(mgr ctrl.Manager, o Options) error {
	r := newReconciler(i.kind, o, mgr.GetClient(), mgr.GetAPIReader())
	r.recorder = mgr.GetEventRecorder(i.kind.Name + "-kueue-controller")
	r.watches.recorder = r.recorder
	indexer := mgr.GetFieldIndexer()
	for _, index := range Indexes(i.kind, o.Gates, mgr.GetScheme()) {
		if err := indexer.IndexField(context.Background(), index.Of, index.Field, index.Keys); err != nil {
			return fmt.Errorf("index %T by %s for %s: %w", index.Of, index.Field, i.kind.GVK.Kind, err)
		}
	}
	if o.Follow != nil {
		if err := o.Follow(indexer, i); err != nil {
			return err
		}
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named("job_"+strings.ToLower(i.kind.GVK.Kind)).
		For(i.kind.New()).
		Watches(&kueue.Workload{}, handler.EnqueueRequestsFromMapFunc(r.watches.requestsForWorkload), builder.WithPredicates(r.watches.checkMessagePredicate())).
		Watches(&kueue.WorkloadPriorityClass{}, handler.EnqueueRequestsFromMapFunc(r.watches.requestsForClass), builder.WithPredicates(creationPredicate())).
		Watches(&schedulingv1.PriorityClass{}, handler.EnqueueRequestsFromMapFunc(r.watches.requestsForClass), builder.WithPredicates(creationPredicate())).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: o.Workers(i.kind.GVK.GroupKind()),
			SkipNameValidation:      ptr.To(true), // several clusters may be served by one process
		})
	for _, child := range i.kind.watchedChildren() {
		b = b.Owns(child)
	}
	for _, input := range i.kind.watchedInputs() {
		b = b.Watches(input, handler.EnqueueRequestsFromMapFunc(r.watches.requestsForInput))
	}
	if err := b.Complete(r); err != nil {
		return fmt.Errorf("start controller of %s: %w", i.kind.GVK.Kind, err)
	}
	return nil
}

// newReconciler returns a reconciler with its parts; the recorder is set by its caller. Without a clock it goes by the real
// one.
func newReconciler[T client.Object](kind Kind[T], o Options, c client.Client, live client.Reader) *reconciler[T] {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	r := &reconciler[T]{kind: kind, opts: o, client: c, live: live}
	r.writer = &writer{client: c, clock: o.Clock}
	r.watches = &watches[T]{kind: &r.kind, client: c, waitingForClass: &r.waitingForClass}
	r.orphans = &orphanFinisher[T]{kind: &r.kind, opts: &r.opts, live: live, writer: r.writer}
	r.composer = composer[T]{kind: &r.kind, opts: &r.opts, reader: r.newReader()}
	return r
}

// watches maps events to the jobs of one kind.
type watches[T client.Object] struct {
	kind     *Kind[T]
	client   client.Client
	recorder events.EventRecorder
	// waitingForClass are the jobs whose priority class does not exist yet.
	waitingForClass *jobsByClass
}

const (
	// prebuiltIndex finds jobs by the name of their prebuilt Workload.
	prebuiltIndex = "switchyard.prebuilt-workload"
	// controllerIndex finds jobs by the UID of the object that controls them.
	controllerIndex = "switchyard.controller"
)

// controllerUID is the key of a job in the index by its controller.
func controllerUID(obj client.Object) []string {
	if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		return []string{string(ref.UID)}
	}
	return nil
}

// prebuiltName is the key of jobs in the index by the prebuilt Workload that they name.
func (g Gates) prebuiltName(obj client.Object) []string {
	if name := g.PrebuiltWorkloadName(obj); name != "" {
		return []string{name}
	}
	return nil
}

// ownerIndex finds Workloads by the name of the job that controls them; every kind has its own.
func (w *watches[T]) ownerIndex() string {
	return ownerIndexOf(w.kind.GVK.GroupKind())
}

func ownerIndexOf(kind schema.GroupKind) string { return "switchyard.owner." + kind.String() }

// ownerName is the key of Workloads in the index by the job of this kind that controls them.
func (w *watches[T]) ownerName(wl client.Object) []string {
	if ref := metav1.GetControllerOfNoCopy(wl); ref != nil && w.ownsReference(ref) {
		return []string{ref.Name}
	}
	return nil
}

// replacedIndex finds the copies of a hub that claim to be the next slice of a job, by the slice that they claim to replace. Every kind has its own,
// since no cache takes an index twice; all have the same Workloads, which are few.
func (w *watches[T]) replacedIndex() string {
	return "switchyard.replaced-by-copy." + w.kind.GVK.GroupKind().String()
}

// replacedSliceName is the key of Workloads in the index by the slice that they claim to replace: none if a job has taken them up already.
func replacedSliceName(obj client.Object) []string {
	wl, ok := obj.(*kueue.Workload)
	if !ok || !workload.IsRemoteCopy(wl) || metav1.GetControllerOfNoCopy(wl) != nil {
		return nil
	}
	if replaced, claims := workload.ReplacedSlice(wl); claims {
		return []string{replaced.Name}
	}
	return nil
}

// ownsReference reports whether a reference leads to a job of this kind, in whatever version.
func (w *watches[T]) ownsReference(ref *metav1.OwnerReference) bool {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == w.kind.GVK.Group && ref.Kind == w.kind.GVK.Kind
}

// requestsForWorkload returns the job that controls a Workload, or those that wait for it as their prebuilt one, or those that the job
// controls: they may run only while the Workload is admitted.
func (w *watches[T]) requestsForWorkload(ctx context.Context, wl client.Object) []reconcile.Request {
	ref := metav1.GetControllerOfNoCopy(wl)
	switch {
	case ref == nil:
		if request := w.requestForReplaced(ctx, wl); request != nil {
			return []reconcile.Request{*request}
		}
		return w.listRequests(ctx, wl.GetNamespace(), client.MatchingFields{prebuiltIndex: wl.GetName()})
	case w.ownsReference(ref):
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: wl.GetNamespace(), Name: ref.Name}}}
	}
	return w.listRequests(ctx, wl.GetNamespace(), client.MatchingFields{controllerIndex: string(ref.UID)})
}

// requestForReplaced returns the job that controls the slice which a copy of a hub claims to replace; nil if there is none of the kind.
func (w *watches[T]) requestForReplaced(ctx context.Context, obj client.Object) *reconcile.Request {
	next, ok := obj.(*kueue.Workload)
	if !ok || w.kind.Elastic == nil || !workload.IsRemoteCopy(next) {
		return nil
	}
	key, claims := workload.ReplacedSlice(next)
	old := &kueue.Workload{}
	if !claims || w.client.Get(ctx, key, old) != nil {
		return nil
	}
	ref := metav1.GetControllerOfNoCopy(old)
	if ref == nil || !w.ownsReference(ref) {
		return nil
	}
	return &reconcile.Request{NamespacedName: types.NamespacedName{Namespace: key.Namespace, Name: ref.Name}}
}

// requestsForInput returns the jobs that are decided by the object.
func (w *watches[T]) requestsForInput(ctx context.Context, input client.Object) []reconcile.Request {
	kind, err := apiutil.GVKForObject(input, w.client.Scheme())
	if err != nil {
		log.FromContext(ctx).Error(err, "Kind of what jobs name", "name", input.GetName())
		return nil
	}
	return w.listRequests(ctx, input.GetNamespace(), client.MatchingFields{inputIndex: inputKey(kind, client.ObjectKeyFromObject(input))})
}

// listRequests returns the jobs that an index has; in all namespaces if none is named.
func (w *watches[T]) listRequests(ctx context.Context, namespace string, by client.MatchingFields) []reconcile.Request {
	list := w.kind.NewList()
	if err := w.client.List(ctx, list, client.InNamespace(namespace), by); err != nil {
		log.FromContext(ctx).Error(err, "List the jobs that an object concerns", "by", by)
		return nil
	}
	var requests []reconcile.Request
	_ = meta.EachListItem(list, func(item runtime.Object) error {
		if job, ok := item.(client.Object); ok {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(job)})
		}
		return nil
	})
	return requests
}
