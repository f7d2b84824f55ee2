package job

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/workload"
)

// What a hub's Workload says of a job that runs on other clusters.

// observeDispatch reads where the job may run, and whether its eviction has to be carried out there first. What the job's status says
// here is no evidence: pods that are about to start over there are not in it yet.
func (r *reconciler[T]) observeDispatch(ctx context.Context, s *snapshot[T]) error {
	if !r.opts.Dispatches || !r.runsElsewhere(s.job) {
		return nil
	}
	err := r.releaseUndispatched(ctx, s)
	if err == nil && !s.facts.Finished {
		s.facts.Bound = s.wl.Status.ClusterName != nil
		s.facts.HasDebt = meta.IsStatusConditionTrue(s.wl.Status.Conditions, switchyard.DispatchCondition) || s.slices.recordAwaited
		if !s.facts.HasDebt {
			s.facts.HasDebt, err = r.lacksRecord(ctx, s.wl)
		}
	}
	if err == nil && s.facts.Evicted && !r.drainedElsewhere(s.job, s.wl) {
		s.facts.Dispatched, err = r.isDispatched(ctx, s.wl)
	}
	return err
}

// releaseUndispatched lets slices go that wait for the next one to take over, if no dispatcher looks at that: its check was taken away.
func (r *reconciler[T]) releaseUndispatched(ctx context.Context, s *snapshot[T]) error {
	checksUnknown := len(s.wl.Status.AdmissionChecks) == 0 && !workload.IsAdmitted(s.wl)
	if len(s.slices.kept) == 0 && !s.slices.recordAwaited || checksUnknown {
		return nil
	}
	dispatched, err := r.isDispatched(ctx, s.wl)
	if err != nil || dispatched {
		return err
	}
	for _, wl := range s.slices.kept {
		if workload.IsFinished(wl) {
			s.slices.released = append(s.slices.released, wl)
		}
	}
	s.slices.kept, s.slices.recordAwaited = nil, false
	return nil
}

// observeExtras tells whether all Workloads that the job does not need are on their way out and wait for their dispatcher.
func (r *reconciler[T]) observeExtras(ctx context.Context, s *snapshot[T]) error {
	s.facts.ExtrasRunElsewhere = len(s.extras) > 0
	for _, wl := range s.extras {
		away, err := r.mayRunElsewhere(ctx, wl)
		if err != nil {
			return err
		}
		s.facts.ExtrasRunElsewhere = s.facts.ExtrasRunElsewhere && away && !wl.DeletionTimestamp.IsZero()
	}
	return nil
}

// mayRunElsewhere tells whether another cluster may run the job of a Workload, so that something is lost with it.
func (r *reconciler[T]) mayRunElsewhere(ctx context.Context, wl *kueue.Workload) (bool, error) {
	switch {
	case !r.opts.Dispatches || workload.IsFinished(wl):
		return false, nil
	case wl.Status.ClusterName != nil || meta.IsStatusConditionTrue(wl.Status.Conditions, switchyard.DispatchCondition):
		return true, nil
	}
	return r.lacksRecord(ctx, wl)
}

// lacksRecord reports whether a Workload that is being deleted has no dispatcher's record although it was evicted: it was
// dropped, or the dispatcher has not looked since. Then the dispatcher has to write one before the Workload may go.
func (r *reconciler[T]) lacksRecord(ctx context.Context, wl *kueue.Workload) (bool, error) {
	recorded := meta.FindStatusCondition(wl.Status.Conditions, switchyard.DispatchCondition) != nil
	over := workload.CountEvictions(wl)
	if workload.HasQuota(wl) && workload.IsEvicted(wl) {
		over-- // under way
	}
	if !r.opts.Dispatches || recorded || wl.DeletionTimestamp.IsZero() || over <= 0 {
		return false, nil
	}
	return r.isDispatched(ctx, wl)
}

// isDispatched tells whether a Workload has a check of the dispatcher's.
func (r *reconciler[T]) isDispatched(ctx context.Context, wl *kueue.Workload) (bool, error) {
	return IsDispatched(ctx, r.client, wl)
}

// IsDispatched tells whether a Workload has a check of the dispatcher's: what it is for runs on another cluster, and not here.
func IsDispatched(ctx context.Context, c client.Reader, wl *kueue.Workload) (bool, error) {
	for _, entry := range wl.Status.AdmissionChecks {
		check := &kueue.AdmissionCheck{}
		err := c.Get(ctx, client.ObjectKey{Name: string(entry.Name)}, check)
		if client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("get admission check %s: %w", entry.Name, err)
		}
		if err == nil && check.Spec.ControllerName == kueue.MultiKueueControllerName {
			return true, nil
		}
	}
	return false, nil
}
