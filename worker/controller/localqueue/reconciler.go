package localqueue

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/act"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/view"
)

// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=localqueues,verbs=get;list;watch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=localqueues/status,verbs=get;update;patch

// workers write statuses at the same time.
const workers = 5

// Reconciler keeps the status of LocalQueues.
type Reconciler struct {
	Client  client.Client
	View    *view.View
	Metrics *act.Metrics
	Clock   clock.PassiveClock
}

// Setup adds the controller to the manager. The view says which queues to look at.
func Setup(mgr ctrl.Manager, r *Reconciler) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("localqueue").
		WatchesRawSource(r.View.LocalQueues()).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the LocalQueue controller: %w", err)
	}
	return nil
}

// Reconcile writes the status of one queue.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	lq := &kueue.LocalQueue{}
	if err := r.Client.Get(ctx, req.NamespacedName, lq); apierrors.IsNotFound(err) {
		r.Metrics.DropLocalQueue(req.NamespacedName)
		return ctrl.Result{}, nil
	} else if err != nil {
		return ctrl.Result{}, fmt.Errorf("read LocalQueue %s: %w", req, err)
	}
	standing, known := r.View.LocalQueue(req.NamespacedName)
	if !known {
		return ctrl.Result{}, nil // The view has not seen it yet and will say when it has.
	}
	_, err := kube.PatchStatus(ctx, r.Client, lq, step(lq, standing, r.Clock.Now()))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return ctrl.Result{RequeueAfter: view.StatusInterval}, nil // Our copy was old.
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("write status of LocalQueue %s: %w", req, err)
	}
	return ctrl.Result{}, nil
}
