package logtail

import (
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

// SetupWithManager adds the Keeper to the manager of a hub, whose cache must have the indexes of the dispatcher.
func (k *Keeper) SetupWithManager(mgr ctrl.Manager) error {
	if err := mgr.Add(k); err != nil {
		return fmt.Errorf("add what keeps the logs of failed jobs: %w", err)
	}
	hasFailed := predicate.NewPredicateFuncs(func(obj client.Object) bool {
		wl, ok := obj.(*kueue.Workload)
		return ok && !failedAt(wl).IsZero()
	})
	options := kube.ControllerOptions()
	options.MaxConcurrentReconciles = 1 // it asks nobody
	err := ctrl.NewControllerManagedBy(mgr).Named("log-tail").
		For(&kueue.Workload{}, builder.WithPredicates(hasFailed)).WithOptions(options).Complete(k)
	if err != nil {
		return fmt.Errorf("set up the controller that keeps the logs of failed jobs: %w", err)
	}
	return nil
}
