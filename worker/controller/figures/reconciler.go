package figures

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"switchyard.dev/worker/act"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/view"
)

// workers write statuses of one kind at the same time.
const workers = 5

// Parts are what all controllers of figures need.
type Parts struct {
	Client  client.Client
	View    *view.View
	Metrics *act.Metrics
	Clock   clock.PassiveClock
	Pace    *Pace
	// FairSharing has the weighted shares written (fairSharing in the configuration).
	FairSharing bool
}

// Kind is what one kind of object brings along.
type Kind[T client.Object] struct {
	// Name of the kind, for errors; in lower case it is the controller's.
	Name string
	New  func() T
	// Changed are the objects to look at.
	Changed source.Source
	// Step returns the object as it should be; false if the view does not know it yet and will say when it does.
	Step func(was T, now time.Time) (is T, known bool)
	// Urgent tells whether the change must not wait for its turn.
	Urgent func(was, is T) bool
	// Gone is told about objects that do not exist.
	Gone func(types.NamespacedName)
}

// Reconciler keeps the status, and the finalizer, of one kind of object.
type Reconciler[T client.Object] struct {
	Parts
	Kind Kind[T]

	written kube.Written
}

// Setup adds the controller to the manager. The view says which objects to look at.
func (r *Reconciler[T]) Setup(mgr ctrl.Manager, name string) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WatchesRawSource(r.Kind.Changed).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the %s controller: %w", r.Kind.Name, err)
	}
	return nil
}

// turn is what the pace knows an object by.
type turn struct {
	kind string
	name types.NamespacedName
}

// Reconcile writes the status of one object, or lets go of it.
func (r *Reconciler[T]) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	was, id := r.Kind.New(), turn{r.Kind.Name, req.NamespacedName}
	if err := r.Client.Get(ctx, req.NamespacedName, was); apierrors.IsNotFound(err) {
		r.Pace.Forget(id)
		r.Kind.Gone(req.NamespacedName)
		return ctrl.Result{}, nil
	} else if err != nil {
		return ctrl.Result{}, fmt.Errorf("read %s %s: %w", r.Kind.Name, id.name, err)
	}
	now := r.Clock.Now()
	if r.written.NewerThan(was, now) {
		return ctrl.Result{RequeueAfter: view.StatusInterval}, nil // The view may have taken back what we wrote last.
	}
	is, known := r.Kind.Step(was, now)
	if !known || equality.Semantic.DeepEqual(was, is) {
		return ctrl.Result{}, nil
	}
	if !r.Kind.Urgent(was, is) {
		if wait := r.Pace.Wait(id, now); wait > 0 {
			return ctrl.Result{RequeueAfter: wait}, nil
		}
	}
	err := r.act(ctx, was, is)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return ctrl.Result{RequeueAfter: view.StatusInterval}, nil // Our copy was old.
	}
	r.Pace.Wrote(id, now)
	return ctrl.Result{}, err
}

// act lets go of the object if it should no longer have the finalizer; otherwise it writes the status if that differs.
func (r *Reconciler[T]) act(ctx context.Context, was, is T) error {
	letGo, ok := is.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("deep copy of %T is not an object", is)
	}
	wrote, err := r.written.Patch(ctx, r.Client, was, letGo, r.Clock.Now())
	if err != nil {
		return fmt.Errorf("let go of %s %s: %w", r.Kind.Name, was.GetName(), err)
	}
	if wrote {
		return nil
	}
	if _, err := r.written.PatchStatus(ctx, r.Client, was, is, r.Clock.Now()); err != nil {
		return fmt.Errorf("write status of %s %s: %w", r.Kind.Name, was.GetName(), err)
	}
	return nil
}
