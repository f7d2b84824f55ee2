// Package admissioncheck puts the engine of a worker and the admission checks of a single cluster together: all that workers
// and hubs have in common. The multikueue check, which makes a hub of it, is added by package hub.
//
// A check costs nothing but a glance at each Workload with checks as long as no AdmissionCheck names its controller.
package admissioncheck

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	"switchyard.dev/admissioncheck/resourcequota"
	"switchyard.dev/worker"
	"switchyard.dev/worker/manager"
)

// Compose returns the composition of a worker: the engine, and the checks that every cluster serves. An error says what is wrong
// with the settings.
func Compose(s manager.Settings) (*worker.Composition, error) {
	c, err := worker.Compose(s)
	if err != nil {
		return nil, err
	}
	c.Parts = append(c.Parts, manager.Part{Name: "resourcequota", Add: func(ctx context.Context, mgr ctrl.Manager) error {
		return resourcequota.Setup(ctx, mgr, s.Gates)
	}})
	return c, nil
}
