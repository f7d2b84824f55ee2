package controller

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/cluster"
	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fencing"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	"switchyard.dev/admissioncheck/multikueue/placement"
	"switchyard.dev/admissioncheck/multikueue/runpolicy"
	"switchyard.dev/admissioncheck/multikueue/tracker"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
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

// buildView is what is known of one cluster and of the Workload's objects there.
func (r *WorkloadReconciler) buildView(ctx context.Context, s *workloadScope, name string, inConfig bool) dispatch.ClusterView {
	o := s.originalOn(name)
	seen := r.remote.lookupRemote(name, o)
	r.orphans.recordObserved(o, seen)
	state, known := r.Fleet.State(name)
	v := dispatch.ClusterView{
		Name: name, Link: r.links.clusterLink(ctx, name, state, known), Copy: o.ObserveWorkload(seen.Workload), Job: o.ObserveJob(seen.Job),
		InConfig: inConfig,
	}
	if o.Kind != nil && state.Connected && r.Kinds.lookup(o.Kind.GVK().GroupKind()) == nil && !r.Fleet.KnowsKind(name, o.Kind.GVK()) {
		v.Link = dispatch.Link{State: dispatch.Unknown} // the kind was added since, and absence means nothing yet
	}
	earlier := r.remote.lookupEarlier(name, o)
	v.Replaced, v.EarlierWaits = earlier.Replaced, earlier.Waits
	if trouble := unservedKind(state, o); known && trouble != "" {
		v.Health.Trouble = trouble
		v.InConfig = inConfig && s.state.Bound == name // it can be given nothing, but keeps what it has
	}
	r.remote.addDeletedObjects(&v, s)
	gone := r.remote.lookupDeletedObjects(name, o)
	gone.ofTakeover = gone.workload.LastState != nil && s.observed.Local.Slice.HadJobOn(name, max(mirror.Epoch(gone.workload.LastState), 1))
	v.Ended.StoppedEpoch = stoppedEpoch(o, gone, state.ServesSwitchyard)
	notes := lookupClusterInfo(ctx, r.Client, s, name)
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

// unservedKind is why a cluster cannot be given the job: it does not serve the job's kind to us. Empty if it does.
func unservedKind(state fleet.State, o mirror.Original) string {
	if o.Kind == nil {
		return ""
	}
	i := slices.IndexFunc(state.Unserved, func(u fleet.Unserved) bool { return u.GVK == o.Kind.GVK() })
	switch kind := o.Kind.GVK().GroupKind().String(); {
	case i < 0:
		return ""
	case state.Unserved[i].IsDenied():
		return "the hub may not see " + kind + " there"
	default:
		return "it does not serve " + kind
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

// clusterInfo are what the hub's cache has on a cluster: the marks, and whether its fence was found to work, see fencing.Condition.
type clusterInfo struct {
	cluster.Annotations
	fenced bool
	// identity is that of the cluster that jobs were sent to, empty if not known; exchangedAt is since when another is known to be in
	// its place, zero while none is.
	identity   types.UID
	replacedAt time.Time
}

// lookupClusterInfo reads them, once for each scope; a cluster that is not there has none.
func lookupClusterInfo(ctx context.Context, c client.Reader, s *workloadScope, name string) clusterInfo {
	if read, ok := s.clusterInfos[name]; ok {
		return read
	}
	found, read := &kueue.MultiKueueCluster{}, clusterInfo{Annotations: cluster.Annotations{Weight: placement.DefaultWeight}}
	if err := c.Get(ctx, client.ObjectKey{Name: name}, found, client.UnsafeDisableDeepCopy); err == nil {
		read = clusterInfo{Annotations: cluster.ParseAnnotations(found), fenced: meta.IsStatusConditionTrue(found.Status.Conditions, fencing.Condition), identity: recordedIdentity(found)}
		if c := meta.FindStatusCondition(found.Status.Conditions, switchyard.IdentityCondition); c != nil && c.Status == metav1.ConditionFalse {
			read.replacedAt = c.LastTransitionTime.Time
		}
	}
	if s.clusterInfos == nil {
		s.clusterInfos = map[string]clusterInfo{}
	}
	s.clusterInfos[name] = read
	return read
}
