package job

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// compareWorkload tells whether the Workload still asks for what the job asks for, and prepares what follows from the answer.
func (r *reconciler[T]) compareWorkload(ctx context.Context, s *snapshot[T]) error {
	if s.facts.Elastic && s.facts.Reserved {
		return r.compareSlices(ctx, s)
	}
	if r.kind.Inputs != nil && r.kind.Inputs.OnlyAtStart && !s.facts.Suspended {
		return r.compareSettings(ctx, s)
	}
	sets, err := r.composer.buildPodSets(ctx, s.job)
	if err != nil {
		s.facts.Link = LinkStale
		return s.cannotCompose(err)
	}
	var placement []Placement
	if s.wl.Status.Admission != nil {
		placement, err = r.buildPlacements(ctx, s)
		if err != nil {
			return err
		}
	}
	if !r.matchesWorkload(s, sets, placement) {
		return r.observeMismatch(ctx, s, sets)
	}
	if err := r.compareSettings(ctx, s); err != nil {
		return err
	}
	if s.facts.CannotCompose == "" && s.facts.Admitted && s.facts.Suspended && !s.facts.CannotPlace {
		s.prepareStart(r, placement)
	}
	return nil
}

// compareSettings tells whether the Workload has the job's queue, priority, gates and time limit.
func (r *reconciler[T]) compareSettings(ctx context.Context, s *snapshot[T]) error {
	synced, outdated, err := r.composer.syncWorkload(ctx, s.job, s.wl)
	if err != nil {
		return s.cannotCompose(err)
	}
	s.desired, s.facts.Outdated = synced, outdated
	return nil
}

// buildPlacements computes what the admission adds to the job; a contradiction becomes a fact. A job that runs elsewhere is
// placed there and not here (DESIGN.md).
func (r *reconciler[T]) buildPlacements(ctx context.Context, s *snapshot[T]) ([]Placement, error) {
	if r.runsElsewhere(s.job) {
		return nil, nil
	}
	flavors, err := assignedFlavors(ctx, r.client, s.wl)
	if apierrors.IsNotFound(err) && !s.facts.Suspended {
		return nil, nil // The job runs already; nothing is left to place.
	}
	if err != nil {
		return nil, err
	}
	placement, err := buildPlacements(s.wl, flavors, r.opts.Gates.AssignQueueLabelsForPods)
	if s.facts.Elastic {
		r.markElastic(s.job, s.wl, placement)
	}
	return placement, s.cannotPlace(err)
}

// cannotPlace turns a conflict between two sources of a placement into a fact, which the user is told of. Other errors are
// returned for a retry.
func (s *snapshot[T]) cannotPlace(err error) error {
	if isPermanent(err) {
		s.facts.CannotPlace = true
		s.message = err.Error()
		return nil
	}
	return err
}

// matchesWorkload compares by what can differ in the state that the job is in: a suspended job looks as it was written or as it
// was placed; one that runs or is being stopped cannot change but for the placement.
func (r *reconciler[T]) matchesWorkload(s *snapshot[T], sets []kueue.PodSet, placement []Placement) bool {
	want := s.wl.Spec.PodSets
	if SamePodSets(sets, want) {
		return true
	}
	if s.wl.Status.Admission == nil {
		return false
	}
	if !s.facts.Suspended || !s.facts.Stopped || s.facts.Evicted || s.facts.CannotPlace {
		return sameRequests(sets, s.wl)
	}
	if r.runsElsewhere(s.job) {
		return false
	}
	started, err := withPlacements(want, placement)
	return err == nil && SamePodSets(sets, started)
}

// runsElsewhere tells whether the job has been handed to the dispatcher.
func (r *reconciler[T]) runsElsewhere(job T) bool {
	return jobManager(&r.kind, job) == kueue.MultiKueueControllerName
}

// observeMismatch notes that the Workload does not match the job: out of sync if it is prebuilt, else stale, with the
// Workload as it should be.
func (r *reconciler[T]) observeMismatch(ctx context.Context, s *snapshot[T], sets []kueue.PodSet) error {
	if r.opts.Gates.PrebuiltWorkloadName(s.job) != "" {
		s.facts.Link = LinkOutOfSync
		return nil
	}
	s.facts.Link = LinkStale
	desired, err := r.composer.buildWorkload(ctx, s.job, sets)
	if err != nil {
		return s.cannotCompose(err)
	}
	synced := s.wl.DeepCopy()
	synced.Spec.PodSets = desired.Spec.PodSets
	synced.Spec.QueueName = desired.Spec.QueueName
	synced.Spec.MaximumExecutionTimeSeconds = desired.Spec.MaximumExecutionTimeSeconds
	synced.Spec.Priority, synced.Spec.PriorityClassRef = desired.Spec.Priority, desired.Spec.PriorityClassRef
	s.desired = synced
	return nil
}

// isPermanent tells whether an error of a placement stays whatever is tried again.
func isPermanent(err error) bool {
	var conflict *ConflictError
	var sets *PodSetsError
	return errors.As(err, &conflict) || errors.As(err, &sets)
}

// prepareStart prepares the job as it will run, or as it is placed if its kind wants that to be a write of its own.
func (s *snapshot[T]) prepareStart(r *reconciler[T], placement []Placement) {
	started := deepCopy(s.job)
	if placement != nil {
		placement, err := r.kind.completePlacements(s.wl.Spec.PodSets, placement)
		if err == nil {
			err = r.kind.Place(started, placement)
		}
		if err != nil {
			s.facts.CannotPlace = true
			s.message = err.Error()
			return
		}
	}
	s.started = started
	if r.kind.PlacesSuspended && placement != nil {
		s.facts.Placed = equality.Semantic.DeepEqual(started, s.job)
		s.facts.PlacesFirst = !s.facts.Placed
	}
	if s.facts.PlacesFirst {
		return
	}
	r.kind.SetSuspend(started, false)
}
