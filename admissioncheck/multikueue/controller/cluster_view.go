package controller

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	"switchyard.dev/admissioncheck/multikueue/runpolicy"
	"switchyard.dev/admissioncheck/multikueue/tracker"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func workloadGVK() schema.GroupVersionKind { return kueue.GroupVersion.WithKind("Workload") }

func asStatus(err error, status *apierrors.APIStatus) bool { return errors.As(err, status) }

// liveRead is what an action has read from a worker's API server.
type liveRead struct {
	mirror.Found
	// epoch of the state that the action belongs to, and when the read began.
	epoch     int64
	startedAt time.Time
}

// lookupRemote returns what the informers of a cluster show of an Original. Objects of another origin are never seen there.
func (r *WorkloadReconciler) lookupRemote(cluster string, o mirror.Original) mirror.Found {
	var f mirror.Found
	if obj, _ := r.Fleet.Get(cluster, workloadGVK(), o.Key()); obj != nil {
		f.Workload, _ = obj.(*kueue.Workload)
	}
	if o.Kind != nil && o.JobName != "" {
		f.Job, _ = r.Fleet.Get(cluster, o.Kind.GVK(), o.JobKey())
	}
	return f
}

// buildView is what is known of one cluster and of the Workload's objects there.
func (r *WorkloadReconciler) buildView(ctx context.Context, s *workloadScope, name string, inConfig bool) dispatch.ClusterView {
	o := s.original
	seen := r.lookupRemote(name, o)
	r.recordObserved(o, seen)
	state, known := r.Fleet.State(name)
	v := dispatch.ClusterView{
		Name: name, Link: r.clusterLink(ctx, name, state, known), Copy: o.ObserveWorkload(seen.Workload), Job: o.ObserveJob(seen.Job),
		InConfig: inConfig,
	}
	if known && !servesJobKind(state, o) {
		v.Health.Trouble = "it does not serve " + o.Kind.GVK().GroupKind().String()
		v.InConfig = inConfig && s.state.Bound == name // it can be given nothing, but keeps what it has
	}
	r.addDeletedObjects(&v, s)
	v.Ended.StoppedEpoch = stoppedEpoch(o, r.lookupDeletedObjects(name, o), state.ServesSwitchyard)
	notes := r.lookupClusterInfo(ctx, s, name)
	v.Health.Degraded, v.Health.OnTrial = state.DegradedReason, state.AllowTrial
	if known {
		setFenceStatus(&v, state.Fencing, notes)
		r.setLeaseState(&v, o.Kind, state.Fencing, s.observed.Now)
	}
	m := notes.Annotations
	v.Operator.DeclaredGone, v.Operator.Cordoned = m.DeclaredGone, m.Cordoned || m.Draining || m.DeclaredGone
	v.Operator.BeingDrained = m.Draining
	r.tracker.do(func(t *tracker.Tracker) { t.AddTo(trackedWorkload(o), s.state.Epoch, &v) })
	v.Copy = o.Plausible(v.Copy)
	if since, is := replacedSince(notes, state, s.observed.Now); is && runpolicy.ForbidsOverlap(s.policy) && !o.Deleted {
		return unreachableView(v, since)
	}
	addActionResults(&v, o, r.Fleet.ActionResults(name, o.Key()))
	if v.Job.StatusBehind && r.writes.IsNewerThan(o.Job, r.Clock.Now()) {
		v.Job.StatusBehind = false
		s.retryAt = s.observed.Now.Add(cacheEchoDelay)
	}
	return v
}

// addActionResults adds what came of the actions on a cluster: the first failure, and what was read there last. A removal that has spared what it
// found may have left an older answer than the read that followed it.
func addActionResults(v *dispatch.ClusterView, o mirror.Original, answers []fleet.ActionResult) {
	for _, answer := range answers {
		if answer.Err != nil && v.Health.Trouble == "" {
			v.Health.Trouble = answer.Err.Error()
		}
	}
	newest := newestRead(answers, func(liveRead) bool { return true })
	if newest == nil {
		return
	}
	live := o.ObserveLive(newest.epoch, newest.Found)
	live.At = newest.startedAt
	v.Live = &live
	if v.Copy.Holder == dispatch.Absent && live.Copy.Holder == dispatch.Foreign {
		v.Copy = live.Copy
	}
	if v.Job.Holder == dispatch.Absent && live.Job.Holder == dispatch.Foreign {
		v.Job = live.Job
	}
}

// newestRead is what was read last of what counts; nil if nothing does.
func newestRead(answers []fleet.ActionResult, counts func(liveRead) bool) (newest *liveRead) {
	for _, answer := range answers {
		if f, ok := answer.Value.(liveRead); ok && counts(f) && (newest == nil || f.isNewerThan(*newest)) {
			newest = &f
		}
	}
	return newest
}

// isNewerThan reports whether one answer was asked for after another.
func (f liveRead) isNewerThan(other liveRead) bool {
	return f.epoch > other.epoch || f.epoch == other.epoch && f.startedAt.After(other.startedAt)
}

// cacheEchoDelay is how long our own write of a job's status may take to come back from the hub's cache.
const cacheEchoDelay = 100 * time.Millisecond

// servesJobKind tells whether a cluster can be given the job: whether it serves the job's kind to us.
func servesJobKind(state fleet.State, o mirror.Original) bool {
	if o.Kind == nil {
		return true
	}
	for _, u := range state.Unserved {
		if u.GVK == o.Kind.GVK() {
			return false
		}
	}
	return true
}

// addDeletedObjects adds what is remembered of objects that are no more: how the run ended, in whatever epoch, or that those of the present
// one were seen to go unfinished.
func (r *WorkloadReconciler) addDeletedObjects(v *dispatch.ClusterView, s *workloadScope) {
	o := s.original
	current := func(obj client.Object) bool {
		epoch := mirror.Epoch(obj)
		return epoch == s.state.Epoch || epoch == 0 && s.state.Epoch == 1
	}
	if v.Copy.Holder == dispatch.Absent {
		gone, ok := r.Fleet.LastDeleted(v.Name, workloadGVK(), o.Key())
		if wl, is := gone.LastState.(*kueue.Workload); ok && is && o.ObserveWorkload(wl).Holder == dispatch.Ours {
			last := o.ObserveWorkload(wl)
			v.Copy = dispatch.Copy{Finished: last.Finished, Epoch: last.Epoch, Adopted: last.Adopted, AdoptedBy: last.AdoptedBy}
			v.Ended.Unfinished = gone.DeletionObserved && current(wl) && !last.Adopted && last.Finished == nil
		}
	}
	if o.Kind == nil || v.Job.Holder == dispatch.Ours {
		return
	}
	gone, ok := r.Fleet.LastDeleted(v.Name, o.Kind.GVK(), o.Key())
	last := deletedJobFacts(o, gone.LastState)
	switch {
	case !ok || last.Holder != dispatch.Ours || !s.state.IsWorkloadJob(v.Name, v.Copy, last):
	case last.Finished != nil && (v.Job.Holder == dispatch.Absent || current(gone.LastState)): // somebody may have taken its name since
		v.Job, v.Job.Holder, v.Ended.Unfinished = last, dispatch.Absent, false
	case v.Job.Holder == dispatch.Absent && current(gone.LastState):
		v.Job, v.Job.Holder = last, dispatch.Absent
		v.Ended.Unfinished = v.Ended.Unfinished || gone.DeletionObserved && o.Kind.ReportsOutcome() && v.Copy.Finished == nil
	}
}

// deletedJobFacts are those of a job that is no more, as far as they still matter.
func deletedJobFacts(o mirror.Original, last client.Object) dispatch.Job {
	if last == nil {
		return dispatch.Job{}
	}
	f := o.ObserveJob(last)
	return dispatch.Job{Holder: f.Holder, Epoch: f.Epoch, Finished: f.Finished, UID: f.UID, HasWorkloadUID: f.HasWorkloadUID, NamesWorkload: f.NamesWorkload}
}

// clusterLink is the connection to a cluster. A name without a supervisor is that of a MultiKueueCluster which was not looked at
// yet, or of none at all.
func (r *WorkloadReconciler) clusterLink(ctx context.Context, name string, state fleet.State, known bool) dispatch.Link {
	switch {
	case !known:
		return r.missingLink(ctx, name)
	case state.Connected:
		r.tracker.do(func(t *tracker.Tracker) { t.ClusterFound(name) })
	}
	return linkFromState(state)
}

// linkFromState is the connection as its supervisor has it.
func linkFromState(state fleet.State) dispatch.Link {
	switch {
	case state.Connected:
		return dispatch.Link{State: dispatch.Connected}
	case state.Err == nil && state.Failures == 0:
		return dispatch.Link{State: dispatch.Unknown}
	}
	return dispatch.Link{State: dispatch.Unreachable, Since: state.LostSince, NeverConnected: !state.EverConnected, Untried: state.Failures == 0}
}

// missingLink is the connection to a cluster without a supervisor: unknown if there is a MultiKueueCluster of the name, else lost since
// that was seen first.
func (r *WorkloadReconciler) missingLink(ctx context.Context, name string) dispatch.Link {
	if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, &kueue.MultiKueueCluster{}); !apierrors.IsNotFound(err) {
		r.tracker.do(func(t *tracker.Tracker) { t.ClusterFound(name) })
		return dispatch.Link{State: dispatch.Unknown}
	}
	since := readTracker(r.tracker, func(t *tracker.Tracker) time.Time { return t.MissingSince(name, r.Clock.Now()) })
	return dispatch.Link{State: dispatch.Unreachable, Since: since, NeverConnected: true}
}
