// Package admissioncheck puts the engine of a worker and the admission checks of a single cluster together: all that workers
// and hubs have in common. The multikueue check, which makes a hub of it, is added by package hub.
//
// A check costs nothing but a glance at each Workload with checks as long as no AdmissionCheck names its controller.
package admissioncheck

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"switchyard.dev/admissioncheck/resourcequota"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker"
	"switchyard.dev/worker/manager"
)

// Parts composes a worker: the engine, and the checks that every cluster serves. An error says what is wrong with the
// settings.
func Parts(s manager.Settings) ([]manager.Part, error) { return PartsWith(s) }

// PartsWith is Parts for a program that does more than a worker: see [worker.PartsWith].
func PartsWith(s manager.Settings, prepare ...func(wl *kueue.Workload, now time.Time)) ([]manager.Part, error) {
	parts, err := worker.PartsWith(s, prepare...)
	if err != nil {
		return nil, err
	}
	check := func(ctx context.Context, mgr ctrl.Manager) error { return resourcequota.Setup(ctx, mgr, s.Gates) }
	return append(parts, manager.Part{Name: "resourcequota", Add: check}), nil
}
