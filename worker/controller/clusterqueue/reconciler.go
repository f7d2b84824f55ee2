package clusterqueue

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

// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=clusterqueues,verbs=get;list;watch;update;patch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=clusterqueues/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=clusterqueues/finalizers,verbs=update

// workers write statuses at the same time.
const workers = 5

// Reconciler keeps the status and the finalizer of ClusterQueues.
type Reconciler struct {
	Client  client.Client
	View    *view.View
	Metrics *act.Metrics
	Clock   clock.PassiveClock
}

// Setup adds the controller to the manager. The view says which queues to look at.
func Setup(mgr ctrl.Manager, r *Reconciler) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("clusterqueue").
		WatchesRawSource(r.View.ClusterQueues()).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the ClusterQueue controller: %w", err)
	}
	return nil
}

// Reconcile writes the status of one queue, or lets go of it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	cq := &kueue.ClusterQueue{}
	if err := r.Client.Get(ctx, req.NamespacedName, cq); apierrors.IsNotFound(err) {
		r.Metrics.DropClusterQueue(req.Name)
		return ctrl.Result{}, nil
	} else if err != nil {
		return ctrl.Result{}, fmt.Errorf("read ClusterQueue %s: %w", req.Name, err)
	}
	standing, known := r.View.ClusterQueue(req.Name)
	if !known {
		return ctrl.Result{}, nil // The view has not seen it yet and will say when it has.
	}
	err := r.act(ctx, cq, step(cq, standing, r.Clock.Now()))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return ctrl.Result{RequeueAfter: view.StatusInterval}, nil // Our copy was old.
	}
	return ctrl.Result{}, err
}

// act lets go of the queue if the plan no longer has the finalizer; otherwise it writes the status if that differs.
func (r *Reconciler) act(ctx context.Context, cq, plan *kueue.ClusterQueue) error {
	wrote, err := kube.Patch(ctx, r.Client, cq, plan.DeepCopy())
	if err != nil {
		return fmt.Errorf("let go of ClusterQueue %s: %w", cq.Name, err)
	}
	if wrote {
		return nil
	}
	if _, err := kube.PatchStatus(ctx, r.Client, cq, plan); err != nil {
		return fmt.Errorf("write status of ClusterQueue %s: %w", cq.Name, err)
	}
	return nil
}
