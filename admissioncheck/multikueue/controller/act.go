package controller

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

// done is what an act has changed on the hub.
type done struct {
	// wl is the Workload as written, nil if it was not.
	wl *kueue.Workload
	// events that the write has made true.
	events []kube.Event
}

// act carries out a plan: it either writes the Workload's status, once, and does nothing else, or hands the actions for
// the workers to the fleet and runs those for the hub.
func (r *Resolver) act(ctx context.Context, s *subject, plan dispatch.Plan) (done, error) {
	if plan.Writes(s.state, s.observed.Local) || r.unsettled(s, plan) {
		r.submit(s, nil)
		return r.store(ctx, s, plan)
	}
	r.submit(s, r.inTurn(s, plan.Actions))
	return r.runLocal(ctx, s, plan.Actions)
}

// store writes state and verdict, with everything that follows from them, in one apply.
func (r *Resolver) store(ctx context.Context, s *subject, plan dispatch.Plan) (done, error) {
	next := s.original.Workload.DeepCopy()
	now := s.observed.Now
	setState(next, plan.Next, now)
	if s.check != "" {
		workload.SetAdmissionCheck(next, s.check, kueue.CheckState(plan.Verdict.Check), plan.Verdict.Message, now)
	}
	if plan.Verdict.Check == dispatch.Ready {
		r.settleTopology(next, plan.Next)
	}
	d := done{wl: next, events: workload.DeriveConditions(next, now)}
	if e := plan.Event; e != nil {
		d.events = append([]kube.Event{{Warning: e.Warning, Reason: kueue.EventMultiKueue, Note: e.Message}}, d.events...)
	}
	if err := kube.ApplyAdmission(ctx, r.Client, next); err != nil {
		return done{}, err
	}
	r.written.Record(next, r.Clock.Now())
	return d, nil
}

// setState stores a State on the Workload: nominated and bound in their fields, the rest in one condition.
func setState(wl *kueue.Workload, s dispatch.State, now time.Time) {
	wl.Status.NominatedClusterNames = s.Nominated
	wl.Status.ClusterName = nil
	if s.Bound != "" {
		wl.Status.ClusterName = ptr.To(s.Bound)
	}
	record, ok := dispatch.Encode(s)
	if !ok {
		meta.RemoveStatusCondition(&wl.Status.Conditions, dispatch.ConditionType)
		return
	}
	status := metav1.ConditionFalse
	if record.Owed {
		status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{
		Type: dispatch.ConditionType, Status: status, Reason: record.Reason, Message: record.Message,
		ObservedGeneration: record.ObservedGeneration, LastTransitionTime: metav1.NewTime(now),
	})
}

// patience is how long the winner's job waits for the losers' copies to be gone.
const patience = time.Second

// inTurn keeps the contract's order of removing the losers before the job is created (contract: multikueue.md 4 case 6b),
// as long as they are quick about it: safety does not depend on it, and a slow loser must not delay the winner.
func (r *Resolver) inTurn(s *subject, actions []dispatch.Action) []dispatch.Action {
	creates := slices.ContainsFunc(actions, isVerb(dispatch.CreateJob))
	if !creates || !slices.ContainsFunc(actions, func(a dispatch.Action) bool { return r.underway(s, a) }) {
		r.held.over(s.key())
		return actions
	}
	until := r.held.waiting(s.key(), s.observed.Now).Add(patience)
	if !s.observed.Now.Before(until) {
		return actions
	}
	s.retryAt = kube.Earliest(s.retryAt, until)
	return slices.DeleteFunc(slices.Clone(actions), isVerb(dispatch.CreateJob))
}

func isVerb(verb dispatch.Verb) func(dispatch.Action) bool {
	return func(a dispatch.Action) bool { return a.Verb == verb }
}

// underway reports whether an action is a removal that has not failed yet.
func (r *Resolver) underway(s *subject, a dispatch.Action) bool {
	if a.Verb != dispatch.Retract {
		return false
	}
	ids := actionIDs(a, s.original, r.seen(a.Cluster, s.original))
	return !slices.ContainsFunc(r.Fleet.ActionResults(a.Cluster, s.key()), func(answer fleet.ActionResult) bool {
		return answer.Err != nil && slices.Contains(ids, answer.ID)
	})
}

// submit hands each cluster its part of the actions, in order. A cluster without a part has nothing left to do, also if it
// is not looked at any more.
func (r *Resolver) submit(s *subject, actions []dispatch.Action) {
	parts := map[string][]fleet.Action{}
	for _, a := range actions {
		if a.Verb == dispatch.OpenGate {
			r.gates.ask(s.key(), a.Cluster, a.Epoch, s.observed.Now)
		}
		if a.Remote() {
			parts[a.Cluster] = append(parts[a.Cluster], r.remote(s, a))
		}
	}
	r.Fleet.ClearActions(s.key(), func(cluster string) bool {
		return slices.ContainsFunc(s.observed.Clusters, func(v dispatch.ClusterView) bool { return v.Name == cluster })
	})
	for _, v := range s.observed.Clusters {
		part := parts[v.Name]
		if len(part) == 0 {
			part = r.lookAgain(s, v)
		}
		r.Fleet.SetActions(v.Name, s.key(), part)
	}
}

// runLocal runs the actions for the hub and stops at the first failure.
func (r *Resolver) runLocal(ctx context.Context, s *subject, actions []dispatch.Action) (done, error) {
	for _, a := range actions {
		var d done
		var err error
		switch a.Verb {
		case dispatch.CopyStatus:
			err = r.follow(ctx, s, r.lastJob(s, a.Cluster))
		case dispatch.DrainStatus:
			err = r.drainStatus(ctx, s)
		case dispatch.Finish:
			d, err = r.finish(ctx, s, a)
		case dispatch.CreateOffer, dispatch.UpdateOffer, dispatch.CreateJob, dispatch.Retract, dispatch.OpenGate,
			dispatch.EvictRemote, dispatch.LiveRead:
		}
		if err != nil || d.wl != nil {
			return d, err
		}
	}
	return done{}, nil
}
