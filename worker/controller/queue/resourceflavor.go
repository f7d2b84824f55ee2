package queue

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/view"
)

// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=resourceflavors,verbs=list;watch;patch

// FlavorReconciler keeps the finalizer of ResourceFlavors. The webhook puts it on; here it is only taken off.
type FlavorReconciler struct {
	Client client.Client
	View   *view.View
}

// SetupResourceFlavors adds the controller to the manager. The view says which flavors changed or came into or out of use.
func SetupResourceFlavors(mgr ctrl.Manager, r *FlavorReconciler) error {
	err := ctrl.NewControllerManagedBy(mgr).Named("resourceflavor").WatchesRawSource(r.View.FlavorRequests()).Complete(r)
	if err != nil {
		return fmt.Errorf("set up the ResourceFlavor controller: %w", err)
	}
	return nil
}

// Reconcile lets go of one flavor if it is being deleted and no queue uses it.
func (r *FlavorReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	rf := &kueue.ResourceFlavor{}
	if err := r.Client.Get(ctx, req.NamespacedName, rf); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	plan := desiredFlavor(rf, r.View.ClusterQueuesWithFlavor(req.Name))
	if _, err := kube.Patch(ctx, r.Client, rf, plan); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return ctrl.Result{}, fmt.Errorf("let go of ResourceFlavor %s: %w", req.Name, err)
	}
	return ctrl.Result{}, nil
}

// desiredFlavor returns the flavor as it should be.
func desiredFlavor(rf *kueue.ResourceFlavor, users []string) *kueue.ResourceFlavor {
	out := rf.DeepCopy()
	if !rf.DeletionTimestamp.IsZero() && len(users) == 0 {
		controllerutil.RemoveFinalizer(out, kueue.ResourceInUseFinalizer)
	}
	return out
}
