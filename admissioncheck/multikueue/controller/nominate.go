package controller

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// NominateClusters adds to a reservation that is about to be written what the dispatcher would store next: as a rule, the clusters
// to offer to. State first still holds, in one write instead of two: the copies are created once the cache shows it. The
// write has to demand the version that wl was read at, as that of a reservation does. Where anything but a nomination is
// called for, or something cannot be read, wl is left to the reconciler. Only caches are read.
func (r *WorkloadReconciler) NominateClusters(ctx context.Context, wl *kueue.Workload, now time.Time) {
	s, err := r.observeWorkload(ctx, wl)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Could not nominate clusters together with the reservation", "workload", wl.Name)
	}
	if s == nil || err != nil {
		return
	}
	plan := dispatch.Step(s.state, s.observed, s.policy)
	if plan.FitsReservationWrite(s.state, s.observed.Local) {
		hubworkload.SetState(wl, plan.Next, now)
		r.assumeNominations(s, plan)
	}
}
