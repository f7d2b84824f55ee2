package queue

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

	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/metrics"
	"switchyard.dev/worker/view"
)

// maxConcurrentReconciles write statuses of one kind at the same time.
const maxConcurrentReconciles = 5

// Config are what all controllers of figures need.
type Config struct {
	Client      client.Client
	View        *view.View
	Metrics     *metrics.Metrics
	Clock       clock.PassiveClock
	RateLimiter *RateLimiter
	// FairSharing has the weighted shares written (fairSharing in the configuration).
	FairSharing bool
}

// KindHandler is what one kind of object brings along.
type KindHandler[T client.Object] struct {
	// Name of the kind, for errors; in lower case it is the controller's.
	Name string
	New  func() T
	// Source are the objects to look at.
	Source source.Source
	// Desired returns the object as it should be; false if the view does not know it yet and will say when it does.
	Desired func(was T, now time.Time) (is T, known bool)
	// IsUrgent tells whether the change must not wait for its turn.
	IsUrgent func(was, is T) bool
	// OnDeleted is told about objects that do not exist.
	OnDeleted func(types.NamespacedName)
}

// StatusReconciler keeps the status, and the finalizer, of one kind of object.
type StatusReconciler[T client.Object] struct {
	Config
	Kind KindHandler[T]

	writeTracker kube.WriteTracker
}

// Setup adds the controller to the manager. The view says which objects to look at.
func (r *StatusReconciler[T]) Setup(mgr ctrl.Manager, name string) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WatchesRawSource(r.Kind.Source).
		WithOptions(controller.Options{MaxConcurrentReconciles: maxConcurrentReconciles}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the %s controller: %w", r.Kind.Name, err)
	}
	return nil
}

// objectKey is what the pace knows an object by.
type objectKey struct {
	kind string
	name types.NamespacedName
}

// Reconcile writes the status of one object, or lets go of it.
func (r *StatusReconciler[T]) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	was, id := r.Kind.New(), objectKey{r.Kind.Name, req.NamespacedName}
	if err := r.Client.Get(ctx, req.NamespacedName, was); apierrors.IsNotFound(err) {
		r.RateLimiter.Forget(id)
		r.Kind.OnDeleted(req.NamespacedName)
		return ctrl.Result{}, nil
	} else if err != nil {
		return ctrl.Result{}, fmt.Errorf("read %s %s: %w", r.Kind.Name, id.name, err)
	}
	now := r.Clock.Now()
	if r.writeTracker.IsNewerThan(was, now) {
		return ctrl.Result{RequeueAfter: view.StatusInterval}, nil // The view may have taken back what we wrote last.
	}
	is, known := r.Kind.Desired(was, now)
	if !known || equality.Semantic.DeepEqual(was, is) {
		return ctrl.Result{}, nil
	}
	if !r.Kind.IsUrgent(was, is) {
		if wait := r.RateLimiter.Delay(id, now); wait > 0 {
			return ctrl.Result{RequeueAfter: wait}, nil
		}
	}
	err := r.writeObject(ctx, was, is)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return ctrl.Result{RequeueAfter: view.StatusInterval}, nil // Our copy was old.
	}
	r.RateLimiter.RecordWrite(id, now)
	return ctrl.Result{}, err
}

// writeObject lets go of the object if it should no longer have the finalizer; otherwise it writes the status if that differs.
func (r *StatusReconciler[T]) writeObject(ctx context.Context, was, is T) error {
	letGo, ok := is.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("deep copy of %T is not an object", is)
	}
	wrote, err := r.writeTracker.Patch(ctx, r.Client, was, letGo, r.Clock.Now())
	if err != nil {
		return fmt.Errorf("let go of %s %s: %w", r.Kind.Name, was.GetName(), err)
	}
	if wrote {
		return nil
	}
	if _, err := r.writeTracker.PatchStatus(ctx, r.Client, was, is, r.Clock.Now()); err != nil {
		return fmt.Errorf("write status of %s %s: %w", r.Kind.Name, was.GetName(), err)
	}
	return nil
}
