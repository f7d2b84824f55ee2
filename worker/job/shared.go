package job

import (
	"context"
	"errors"
	"time"

	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

// What is here serves integrations that have a reconciler of their own, because their objects are no [Kind]: pods and groups of pods.

// NewReader returns a reader that asks the cache, and the API server for what the cache does not have.
func NewReader(cached, live client.Reader) client.Reader {
	return fallbackReader{Reader: cached, live: live}
}

// Composer makes Workloads out of objects of one kind, and keeps them in step.
type Composer[T client.Object] struct{ composer composer[T] }

// NewComposer returns a composer for objects of the kind, of which it needs the GVK only.
func NewComposer[T client.Object](kind *Kind[T], o *Options, reader client.Reader) Composer[T] {
	return Composer[T]{composer[T]{kind: kind, opts: o, reader: reader}}
}

// Build returns the Workload that the object should have, with the object as its controller. Errors that [MissingClass] knows go away
// when the class comes; other errors that are not of the API are for the user to solve.
func (c Composer[T]) Build(ctx context.Context, obj T, podSets []kueue.PodSet) (*kueue.Workload, error) {
	return c.composer.buildWorkload(ctx, obj, podSets)
}

// Sync returns the Workload with the queue, priority, gates and time limit of the object as far as it can still follow, and whether
// that differs from what it was. If it does, it is a copy.
func (c Composer[T]) Sync(ctx context.Context, obj T, wl *kueue.Workload) (synced *kueue.Workload, changed bool, err error) {
	return c.composer.syncWorkload(ctx, obj, wl)
}

// Adopt returns a copy of the Workload with the object as its controller.
func (c Composer[T]) Adopt(obj T, wl *kueue.Workload) *kueue.Workload {
	return c.composer.adoptWorkload(obj, wl)
}

// Placements returns what the Workload's admission adds to pods, one entry per pod set, in order. A [ConflictError] is for good.
func Placements(ctx context.Context, r client.Reader, wl *kueue.Workload, gates Gates) ([]Placement, error) {
	flavors, err := assignedFlavors(ctx, r, wl)
	if err != nil {
		return nil, err
	}
	return buildPlacements(wl, flavors, gates.AssignQueueLabelsForPods)
}

// PodsReadyCondition returns the condition PodsReady to write, nil if the present one is right.
func PodsReadyCondition(wl *kueue.Workload, ready bool, now time.Time) *metav1.Condition {
	return podsReady(wl, ready, now)
}

// ReclaimablePods returns the list of reclaimable pods to write, and whether it differs from the present one.
func ReclaimablePods(wl *kueue.Workload, free []kueue.ReclaimablePod) ([]kueue.ReclaimablePod, bool) {
	return reclaimablePods(wl, free)
}

// WithoutFinalizer returns a copy of the Workload that the API server may let go.
func WithoutFinalizer(wl *kueue.Workload) *kueue.Workload { return withoutFinalizer(wl) }

// Writer writes Workloads and other objects in the version that was seen, and remembers its writes until the cache shows them.
type Writer struct{ writer }

// NewWriter returns a writer that has written nothing.
func NewWriter(c client.Client, clock clock.PassiveClock) *Writer {
	return &Writer{writer{client: c, clock: clock}}
}

// Patch writes metadata and spec. An object that is gone needs no change any more.
func (w *Writer) Patch(ctx context.Context, before, after client.Object) error {
	return w.patchObject(ctx, before, after)
}

// ApplyAdmission writes the admission part of the Workload's status.
func (w *Writer) ApplyAdmission(ctx context.Context, wl *kueue.Workload) error {
	return w.applyAdmission(ctx, wl)
}

// ApplyStatus applies a part of the Workload's status as a field manager of its own.
func (w *Writer) ApplyStatus(ctx context.Context, wl *kueue.Workload, manager string, status map[string]any) error {
	return w.applyStatus(ctx, wl, manager, status)
}

// Record remembers an object as the server returned it from a write that was made without the writer.
func (w *Writer) Record(obj client.Object) { w.written.Record(obj, w.clock.Now()) }

// IsNewerThan tells whether a write of ours is newer than a cached object.
func (w *Writer) IsNewerThan(cached client.Object) bool {
	return w.written.IsNewerThan(cached, w.clock.Now())
}

// Class is a priority class of either kind that an object waits for.
type Class struct{ class class }

// MissingClass tells whether an error says that a priority class does not exist. Telling tells whether the user is to hear of it.
func MissingClass(err error) (missing Class, telling, found bool) {
	var e *missingClassError
	if !errors.As(err, &e) {
		return Class{}, false, false
	}
	return Class{e.class}, e.class.kind == kueue.WorkloadPriorityClassKind, true
}

// ClassWaiters remembers which requests wait for a priority class to come. The zero value remembers none.
type ClassWaiters struct{ waiting jobsByClass }

// Remove forgets a request.
func (w *ClassWaiters) Remove(request types.NamespacedName) { w.waiting.remove(request) }

// Await remembers that a request waits for a class, and reports whether the class has come since it was looked for.
func (w *ClassWaiters) Await(ctx context.Context, reader client.Reader, request types.NamespacedName, c Class) (came bool, err error) {
	return w.waiting.await(ctx, reader, request, c.class)
}

// Watch has a controller look at requests whose class has come.
func (w *ClassWaiters) Watch(b *builder.Builder) *builder.Builder {
	requests := func(_ context.Context, object client.Object) []reconcile.Request {
		return requestsForClass(&w.waiting, object)
	}
	for _, object := range []client.Object{&kueue.WorkloadPriorityClass{}, &schedulingv1.PriorityClass{}} {
		b = b.Watches(object, handler.EnqueueRequestsFromMapFunc(requests), builder.WithPredicates(creationPredicate()))
	}
	return b
}

// WebhookRules are the rules of webhooks that hold for objects of every kind.
type WebhookRules[T client.Object] struct{ webhook[T] }

// NewWebhookRules returns the handlers for objects of a kind, of which they need GVK, Suspended and Validate.
func NewWebhookRules[T client.Object](kind Kind[T], o Options, reader, live client.Reader) *WebhookRules[T] {
	return &WebhookRules[T]{webhook[T]{kind: kind, opts: o, reader: reader, live: live, enabled: true}}
}

// IsNamespaceManaged tells whether the namespace is one whose jobs are managed.
func (h *WebhookRules[T]) IsNamespaceManaged(ctx context.Context, namespace string) (bool, error) {
	return isNamespaceManaged(ctx, h.newReader(), h.opts.Namespaces, namespace)
}

// IsManaged tells whether an object in such a namespace is managed.
func (h *WebhookRules[T]) IsManaged(obj T) bool { return h.isManaged(obj) }

// DefaultQueue names the default LocalQueue if the object names none and the namespace has it.
func (h *WebhookRules[T]) DefaultQueue(ctx context.Context, obj T) error {
	return h.defaultQueue(ctx, obj)
}

// DefaultPriorityClass names the default WorkloadPriorityClass, if there is one, for an object that names none.
func (h *WebhookRules[T]) DefaultPriorityClass(ctx context.Context, obj T) error {
	return h.defaultPriorityClass(ctx, obj)
}

// ValidatePodAnnotations judges what the annotations of a pod say about topology, whatever the gate. It stands for pods like it.
func ValidatePodAnnotations(path *field.Path, annotations map[string]string, pods int32, gates Gates) field.ErrorList {
	t := templateMetadata{path: path, values: annotations, pods: pods}
	errs := append(t.validateLevels(), t.validateSlices()...)
	errs = append(errs, t.validateLayers(gates.MultiLayerTopology)...)
	return append(errs, t.validateGroupName()...)
}

// NewErrors leaves out what was wrong before a change: an object from before a rule must be allowed to end.
func NewErrors(now, before field.ErrorList) field.ErrorList { return newErrors(now, before) }

// PrebuiltPath is where the object names its prebuilt Workload.
func PrebuiltPath(obj client.Object) *field.Path { return prebuiltPath(obj) }

// RetireAt is when objects are to be deleted whose Workload the system has deactivated; zero for never.
func RetireAt(o *Options, wl *kueue.Workload) time.Time {
	return (&reconciler[client.Object]{opts: *o}).retireAt(wl)
}

// AdmissionCheckEvents tells what the checks say, all at once, that a job waits for; none if that was said before.
func AdmissionCheckEvents(was, is *kueue.Workload) []kube.Event { return checkMessageEvents(was, is) }

// OutOfSyncMessage is what a prebuilt Workload is told that does not ask for what its job asks for.
const OutOfSyncMessage = messageOutOfSync

// ConflictDelay is how long to let the cache catch up after a conflict with another writer.
const ConflictDelay = conflictDelay
