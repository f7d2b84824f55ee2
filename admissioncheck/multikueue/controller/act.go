package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	if plan.Writes(s.state, s.observed.Local) {
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
		workload.SetCheck(next, s.check, kueue.CheckState(plan.Verdict.Check), plan.Verdict.Message, now)
	}
	if plan.Verdict.Check == dispatch.Ready {
		r.settleTopology(next, plan.Next.Bound)
	}
	d := done{wl: next, events: workload.Derive(next, now)}
	if e := plan.Event; e != nil {
		d.events = append([]kube.Event{{Warning: e.Warning, Reason: kueue.EventMultiKueue, Note: e.Message}}, d.events...)
	}
	if err := kube.ApplyAdmission(ctx, r.Client, next); err != nil {
		return done{}, err
	}
	r.written.note(next)
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

// settleTopology records that the worker has placed the pods whose places the hub left to it (contract: multikueue.md 4
// case 6b).
func (r *Resolver) settleTopology(wl *kueue.Workload, cluster string) {
	obj, _ := r.Fleet.Get(cluster, workloadGVK(), client.ObjectKeyFromObject(wl))
	remote, ok := obj.(*kueue.Workload)
	if !ok || remote.Status.Admission == nil || wl.Status.Admission == nil {
		return
	}
	for i := range wl.Status.Admission.PodSetAssignments {
		mine := &wl.Status.Admission.PodSetAssignments[i]
		placed := slices.ContainsFunc(remote.Status.Admission.PodSetAssignments, func(a kueue.PodSetAssignment) bool {
			return a.Name == mine.Name && a.TopologyAssignment != nil
		})
		if placed && mine.DelayedTopologyRequest == kueue.DelayedTopologyRequestStatePending {
			mine.DelayedTopologyRequest = kueue.DelayedTopologyRequestStateReady
		}
	}
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
	return !slices.ContainsFunc(r.Fleet.Answers(a.Cluster, s.key()), func(answer fleet.Answer) bool {
		return answer.Err != nil && answer.ID == actionID(a)
	})
}

// submit hands each cluster its part of the actions, in order. A cluster without a part has nothing left to do, also if it
// is not looked at any more.
func (r *Resolver) submit(s *subject, actions []dispatch.Action) {
	parts := map[string][]fleet.Action{}
	for _, a := range actions {
		if a.Remote() {
			parts[a.Cluster] = append(parts[a.Cluster], r.remote(s, a))
		}
	}
	for _, state := range r.Fleet.States() {
		if !slices.ContainsFunc(s.observed.Clusters, func(v dispatch.ClusterView) bool { return v.Name == state.Cluster }) {
			r.Fleet.Do(state.Cluster, s.key(), nil)
		}
	}
	for _, v := range s.observed.Clusters {
		part := parts[v.Name]
		if len(part) == 0 {
			part = r.lookAgain(s, v)
		}
		r.Fleet.Do(v.Name, s.key(), part)
	}
}

// runLocal runs the actions for the hub and stops at the first failure.
func (r *Resolver) runLocal(ctx context.Context, s *subject, actions []dispatch.Action) (done, error) {
	for _, a := range actions {
		var d done
		var err error
		switch a.Verb {
		case dispatch.CopyStatus:
			err = r.copyStatus(ctx, s, r.lastJob(s, a.Cluster))
		case dispatch.DrainStatus:
			err = r.drainStatus(ctx, s)
		case dispatch.Finish:
			d, err = r.finish(ctx, s, a)
		case dispatch.CreateOffer, dispatch.UpdateOffer, dispatch.CreateJob, dispatch.Retract, dispatch.EvictRemote, dispatch.LiveRead:
		}
		if err != nil || d.wl != nil {
			return d, err
		}
	}
	return done{}, nil
}

// finish copies the last status of the job to the hub's and then records the outcome; never the other way round, because
// a finished Workload is cleaned up and its remote job gone for good.
func (r *Resolver) finish(ctx context.Context, s *subject, a dispatch.Action) (done, error) {
	if err := r.copyStatus(ctx, s, r.lastJob(s, a.Cluster)); err != nil {
		return done{}, err
	}
	next := s.original.Workload.DeepCopy()
	if !workload.Finish(next, kueue.Reason(a.Outcome.Reason), a.Outcome.Message, s.observed.Now) {
		return done{}, nil
	}
	if err := kube.ApplyAdmission(ctx, r.Client, next); err != nil {
		return done{}, err
	}
	r.written.note(next)
	return done{wl: next}, nil
}

// lastJob returns the job on a cluster as it was last seen: by a live read, in the cache, or before it went.
func (r *Resolver) lastJob(s *subject, cluster string) client.Object {
	o := s.original
	for _, answer := range r.Fleet.Answers(cluster, o.Key()) {
		if f, ok := answer.Value.(found); ok && f.Job != nil {
			return f.Job
		}
	}
	if job := r.seen(cluster, o).Job; job != nil || o.Kind == nil {
		return job
	}
	gone, _ := r.Fleet.Gone(cluster, o.Kind.GVK(), o.Key())
	return gone.Last
}

// copyStatus writes the status of a remote job to the hub's job if that changes it.
func (r *Resolver) copyStatus(ctx context.Context, s *subject, remote client.Object) error {
	o := s.original
	if o.Job == nil || remote == nil || o.JobFacts(remote).Holder != dispatch.Ours {
		return nil
	}
	next, changed, deferred := o.WithStatus(remote)
	if deferred {
		s.retryAt = kube.Earliest(s.retryAt, s.observed.Now.Add(deferral))
	}
	if !changed || deferred && !s.observed.Local.Evicted {
		return nil
	}
	return r.patchJob(ctx, s, next)
}

// deferral is when a status that the hub's job could not take is tried again (contract: multikueue.md 6). While a job is
// about to start this needs no write: it is resumed in a moment, and a write now would only meet that one. While it is
// being stopped, what can be said is said.
const deferral = 2 * time.Second

func (r *Resolver) patchJob(ctx context.Context, s *subject, next client.Object) error {
	wrote, err := kube.PatchStatus(ctx, r.Client, s.original.Job, next)
	if err != nil {
		return fmt.Errorf("copy the status of job %s: %w", s.original.JobKey(), err)
	}
	if wrote {
		r.written.note(next)
	}
	return nil
}

// drainStatus makes the hub's job show no active pods, because no cluster will ever report on them again.
func (r *Resolver) drainStatus(ctx context.Context, s *subject) error {
	o := s.original
	if o.Job == nil {
		return nil
	}
	next, changed, _ := o.WithStatus(o.JobCopy(s.state.Epoch, false))
	if !changed {
		return nil
	}
	return r.patchJob(ctx, s, next)
}
