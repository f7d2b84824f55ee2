package controller

import (
	"context"
	"slices"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	"switchyard.dev/admissioncheck/multikueue/tracker"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

// hubChange is what an act has changed on the hub.
type hubChange struct {
	// wl is the Workload as written, nil if it was not.
	wl *kueue.Workload
	// events that the write has made true.
	events []kube.Event
}

// executePlan carries out a plan: it either writes the Workload's status, once, and does nothing else, or hands the actions for
// the workers to the fleet and runs those for the hub.
func (r *WorkloadReconciler) executePlan(ctx context.Context, s *workloadScope, plan dispatch.Plan) (hubChange, error) {
	if plan.Stores || r.remote.hasUnrecordedTopology(s, plan) {
		r.submitActions(s, nil)
		return r.writeStatus(ctx, s, plan)
	}
	r.submitActions(s, r.deferJobCreation(s, plan.Actions))
	return r.runHubActions(ctx, s, plan.Actions)
}

// writeStatus writes state and check result, with everything that follows from them, in one apply.
func (r *WorkloadReconciler) writeStatus(ctx context.Context, s *workloadScope, plan dispatch.Plan) (hubChange, error) {
	next := s.original.Workload.DeepCopy()
	now := s.observed.Now
	hubworkload.SetState(next, plan.Next, now)
	if s.checkName != "" {
		workload.SetAdmissionCheck(next, s.checkName, kueue.CheckState(plan.CheckResult.State), plan.CheckResult.Message, now)
	}
	if plan.CheckResult.State == dispatch.Ready {
		r.remote.recordTopology(next, plan.Next)
	}
	d := hubChange{wl: next, events: workload.DeriveConditions(next, now)}
	if e := plan.Event; e != nil {
		d.events = append([]kube.Event{{Warning: e.Warning, Reason: kueue.EventMultiKueue, Note: e.Message}}, d.events...)
	}
	if err := kube.ApplyAdmission(ctx, r.Client, next); err != nil {
		return hubChange{}, err
	}
	r.writes.Record(next, r.Clock.Now())
	return d, nil
}

// deferJobCreation leaves out the creation of the winner's job while the removal of losers is under way.
func (r *WorkloadReconciler) deferJobCreation(s *workloadScope, actions []dispatch.Action) []dispatch.Action {
	pending := map[string]bool{}
	for _, a := range actions {
		pending[a.Cluster] = pending[a.Cluster] || r.isRemovalPending(s, a)
	}
	var until time.Time
	r.tracker.do(func(t *tracker.Tracker) {
		isPending := func(a dispatch.Action) bool { return pending[a.Cluster] }
		actions, until = t.DeferJobCreation(trackedWorkload(s.original), actions, isPending, s.observed.Now)
	})
	s.retryAt = kube.Earliest(s.retryAt, until)
	return actions
}

// isRemovalPending reports whether an action is a removal that has not failed yet.
func (r *WorkloadReconciler) isRemovalPending(s *workloadScope, a dispatch.Action) bool {
	if a.Verb != dispatch.Retract {
		return false
	}
	ids := actionIDs(a, s.original, r.remote.lookupRemote(a.Cluster, s.original))
	return !slices.ContainsFunc(r.Fleet.ActionResults(a.Cluster, s.key()), func(answer fleet.ActionResult) bool {
		return answer.Err != nil && slices.Contains(ids, answer.ID)
	})
}

// submitActions hands each cluster its part of the actions, in order. A cluster without a part has nothing left to do, also if it
// is not looked at any more.
func (r *WorkloadReconciler) submitActions(s *workloadScope, actions []dispatch.Action) {
	parts := map[string][]fleet.Action{}
	r.tracker.do(func(t *tracker.Tracker) {
		for _, a := range actions {
			t.Submitted(trackedWorkload(s.original), a, s.observed.Now)
		}
	})
	for _, a := range actions {
		if a.Remote() {
			parts[a.Cluster] = append(parts[a.Cluster], r.buildFleetAction(s, a))
		}
	}
	r.Fleet.ClearActions(s.key(), func(cluster string) bool {
		return slices.ContainsFunc(s.observed.Clusters, func(v dispatch.ClusterView) bool { return v.Name == cluster })
	})
	for _, v := range s.observed.Clusters {
		part := parts[v.Name]
		if len(part) == 0 {
			part = append(r.recheckCollision(s, v), r.syncMembers(s, v)...)
		}
		r.Fleet.SetActions(v.Name, s.key(), part)
	}
}

// runHubActions runs the actions for the hub and stops at the first failure.
func (r *WorkloadReconciler) runHubActions(ctx context.Context, s *workloadScope, actions []dispatch.Action) (hubChange, error) {
	for _, a := range actions {
		var d hubChange
		var err error
		switch a.Verb {
		case dispatch.CopyStatus:
			err = r.statuses.copyDueStatus(ctx, s, r.remote.lastKnownJob(s, a.Cluster))
		case dispatch.DrainStatus:
			err = r.statuses.clearActivePods(ctx, s)
		case dispatch.Finish:
			d, err = r.finishWorkload(ctx, s, a)
		case dispatch.CreateOffer, dispatch.UpdateOffer, dispatch.CreateJob, dispatch.Retract, dispatch.OpenGate,
			dispatch.EvictRemote, dispatch.LiveRead, dispatch.SyncSpec, dispatch.ResizeJob:
		}
		if err != nil || d.wl != nil {
			return d, err
		}
	}
	return hubChange{}, nil
}

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
	if s.observed.Local.Slice.Replacement { // what it takes over from is read once it has its quota for certain
		return
	}
	plan := dispatch.Step(s.state, s.observed, s.policy)
	if plan.FitsReservationWrite(s.state, s.observed.Local) {
		hubworkload.SetState(wl, plan.Next, now)
		r.ranker.assumeNominations(s, plan)
	}
}
