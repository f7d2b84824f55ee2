package serving

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/worker/job"
)

// Kind declares one kind of objects whose pods wait one by one. Functions that change an object are given the caller's own.
type Kind[T client.Object] struct {
	// Name is the name in the configuration's integrations.frameworks. Pod templates carry it, too (see [MarkTemplate]).
	Name string
	// GVK is the served version that this kind speaks.
	GVK schema.GroupVersionKind
	// AddToScheme registers the Go types.
	AddToScheme func(*runtime.Scheme) error
	// New returns an empty object.
	New func() T
	// NewList returns an empty list of objects.
	NewList func() client.ObjectList

	// ReadyReplicas is how many replicas serve, by the status. While there are any the object keeps its queue.
	ReadyReplicas func(T) int32
	// Ignores, optional, tells of objects that are none of ours although they may name a queue.
	Ignores func(T) bool
	// Mark makes the pods of a managed object wait, by its pod templates. Marking once more changes nothing.
	Mark func(T, job.Gates)
	// Validate, optional, checks what only this kind knows, on create (old is the zero T) and update.
	Validate func(ctx context.Context, w World, old, obj T) (field.ErrorList, error)
	// Start, optional, adds the kind's reconciler to the manager, whose cluster serves the kind.
	Start func(ctrl.Manager, job.Options) error
}

// World is what the rules of one kind may ask for besides the object.
type World struct {
	// Live reads what is stored now.
	Live client.Reader
	// Gates are the feature gates.
	Gates job.Gates
}

// Framework is a [Kind] whose type has been forgotten: what one cluster needs of the kind.
type Framework[T client.Object] struct {
	kind Kind[T]
}

// NewFramework forgets the type of a kind.
func NewFramework[T client.Object](kind Kind[T]) Framework[T] { return Framework[T]{kind: kind} }

var _ job.Framework = Framework[client.Object]{}

// Name is the name in the configuration, such as "deployment".
func (f Framework[T]) Name() string { return f.kind.Name }

// GVK is the kind's group, version and kind.
func (f Framework[T]) GVK() schema.GroupVersionKind { return f.kind.GVK }

// AddToScheme registers the Go types of the kind.
func (f Framework[T]) AddToScheme(s *runtime.Scheme) error { return f.kind.AddToScheme(s) }

// New returns an empty object.
func (f Framework[T]) New() client.Object { return f.kind.New() }

// NewList returns an empty list of objects.
func (f Framework[T]) NewList() client.ObjectList { return f.kind.NewList() }

// Setup adds the kind's reconciler, if it has one, to the manager; when the cluster does not serve the kind yet, as soon as it does.
func (f Framework[T]) Setup(mgr ctrl.Manager, o job.Options) error {
	if f.kind.Start == nil {
		return nil
	}
	return job.StartWhenServed(mgr, f.kind.Name, []schema.GroupVersionKind{f.kind.GVK}, func() error { return f.kind.Start(mgr, o) })
}

// SetupWebhook adds the kind's defaulting and validating handlers to the manager's webhook server. With enabled false the handlers
// accept everything unchanged, so that a static webhook configuration keeps working.
func (f Framework[T]) SetupWebhook(mgr ctrl.Manager, o job.Options, enabled bool) error {
	h := NewWebhook(f.kind, o, mgr.GetClient(), mgr.GetAPIReader(), enabled)
	if err := ctrl.NewWebhookManagedBy(mgr, f.kind.New()).WithDefaulter(h).WithValidator(h).Complete(); err != nil {
		return fmt.Errorf("set up webhooks of %s: %w", f.kind.GVK.Kind, err)
	}
	return nil
}
