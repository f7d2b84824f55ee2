package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	"switchyard.dev/admissioncheck/multikueue/tracker"
	"switchyard.dev/worker/kube"
)

// actionIDs name the effects of an action, see fleet.Action. A removal is one of the very objects that are seen: what comes
// after them is another's.
func actionIDs(a dispatch.Action, o mirror.Original, seen mirror.Found) []string {
	id := fmt.Sprintf("%s/%d/%t/%t", a.Verb, a.Epoch, a.SpareFinished, a.Foreground)
	var of []string
	switch a.Verb {
	case dispatch.Retract:
		if seen.Workload != nil {
			of = append(of, id+"/"+string(seen.Workload.UID))
		}
		if seen.Job != nil && !a.OnlyCopy {
			of = append(of, id+"/"+string(seen.Job.GetUID()))
		}
	case dispatch.UpdateOffer:
		class := ""
		if ref := o.Workload.Spec.PriorityClassRef; ref != nil {
			class = ref.Name
		}
		of = append(of, fmt.Sprintf("%s/%d/%s/%v", id, ptr.Deref(o.Workload.Spec.Priority, 0), class, mirror.Counts(o.Workload)))
	case dispatch.ResizeJob:
		of = append(of, fmt.Sprintf("%s/%t/%v", id, a.OnlyShrink, mirror.Counts(o.Workload)))
	default:
	}
	if len(of) == 0 {
		return []string{id}
	}
	return of
}

// buildFleetAction turns an action for a worker into one for the fleet. It captures what it needs, because it runs later.
func (r *WorkloadReconciler) buildFleetAction(s *workloadScope, a dispatch.Action) fleet.Action {
	o, epoch, seen := s.originalOn(a.Cluster), s.state.Epoch, r.remote.lookupRemote(a.Cluster, s.original)
	o.Slice.Replaced = r.remote.lookupEarlier(a.Cluster, o).Running
	o.Stops, o.PreemptionGated = a.StopsOnHubLost && supportsFencing(o.Kind) && r.mayStampStop(a.Cluster), a.GateClosed
	ids := actionIDs(a, o, seen)
	action := fleet.Action{
		ID: ids[0], CoveredIDs: ids[1:], ReadOnly: a.Verb == dispatch.LiveRead,
		CreatesObjects: a.Verb == dispatch.CreateOffer || a.Verb == dispatch.CreateJob,
	}
	read := func(began time.Time, f *mirror.Found, err error) (any, error) {
		if f == nil || err != nil {
			return nil, err
		}
		return liveRead{Found: *f, epoch: epoch, startedAt: began}, nil
	}
	evidence := func(f *mirror.Found, err error) (any, error) { return read(r.Clock.Now(), f, err) }
	switch a.Verb {
	case dispatch.CreateOffer:
		current := r.guard.newOfferGuard(o)
		action.Run = func(ctx context.Context, c client.Client) (any, error) {
			if err := current(ctx); err != nil {
				return nil, err
			}
			r.tracker.recordSent(o, a, r.Clock.Now())
			created, other, err := o.CreateOffer(ctx, c, a.Epoch)
			if created {
				countDispatched(o.Workload, a.Cluster)
				r.tracker.recordAnswer(o, a, tracker.Answer{Created: true}, r.Clock.Now())
			}
			return evidence(other, err)
		}
	case dispatch.UpdateOffer:
		current := r.guard.newOfferGuard(o)
		action.Run = func(ctx context.Context, c client.Client) (any, error) {
			if seen.Workload == nil {
				return nil, nil
			}
			if err := current(ctx); err != nil {
				return nil, err
			}
			return nil, o.UpdateOffer(ctx, c, seen.Workload)
		}
	case dispatch.CreateJob:
		current := r.guard.newOfferGuard(o)
		action.Run = func(ctx context.Context, c client.Client) (any, error) {
			if s.observed.Local.Slice.Elastic { // another slice may have the job by now
				if err := current(ctx); err != nil {
					return nil, err
				}
			}
			return evidence(o.CreateJob(ctx, c, a.Epoch, r.NameInLabel))
		}
	case dispatch.Retract:
		sure, connection := r.guard.newRemovalGuard(s, seen), r.remote.connectionNumber(a.Cluster)
		action.Run = func(ctx context.Context, c client.Client) (any, error) {
			left := r.tracker.withoutRemoved(seen, connection, r.Clock.Now())
			if left == (mirror.Found{}) && seen != left {
				return nil, nil // it was answered, and is not seen yet
			}
			spared, err := o.Retract(ctx, c, mirror.Removal{
				BelowEpoch: a.Epoch, KeepJob: a.OnlyCopy, SpareJob: a.SpareFinished, Foreground: a.Foreground, Seen: left, Confirm: sure,
			})
			if err == nil && spared == nil {
				r.tracker.recordAnswer(o, a, tracker.Answer{Removed: removedUIDs(o, left, a.Epoch), Connection: connection}, r.Clock.Now())
			}
			return evidence(spared, err)
		}
	case dispatch.OpenGate:
		action.Run = func(ctx context.Context, c client.Client) (any, error) {
			r.tracker.recordSent(o, a, r.Clock.Now())
			err := o.OpenPreemptionGate(ctx, c, a.Epoch, r.Clock.Now())
			r.tracker.recordAnswer(o, a, tracker.Answer{Refused: isDefiniteRefusal(err)}, r.Clock.Now())
			return nil, err
		}
	case dispatch.EvictRemote:
		action.Run = func(ctx context.Context, c client.Client) (any, error) {
			return nil, o.Evict(ctx, c, a.Epoch, a.Message, r.Clock.Now())
		}
	case dispatch.SyncSpec:
		action.Run = func(ctx context.Context, c client.Client) (any, error) { return nil, o.SyncSpec(ctx, c, a.Epoch) }
	case dispatch.ResizeJob:
		current := r.guard.newOfferGuard(o)
		action.Run = func(ctx context.Context, c client.Client) (any, error) {
			if err := current(ctx); err != nil {
				return nil, err
			}
			if a.OnlyShrink {
				return nil, o.ShrinkJob(ctx, c, a.Epoch)
			}
			return nil, o.ResizeJob(ctx, c, a.Epoch, r.NameInLabel)
		}
	case dispatch.LiveRead:
		action.Run = func(ctx context.Context, c client.Client) (any, error) {
			began := r.Clock.Now()
			f, err := o.Read(ctx, c)
			return read(began, &f, err)
		}
	case dispatch.CopyStatus, dispatch.DrainStatus, dispatch.Finish:
		panic("controller: " + string(a.Verb) + " is not for a worker")
	}
	return action
}

// isDefiniteRefusal tells an answer of a server that has done nothing from everything else.
func isDefiniteRefusal(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError && code != http.StatusRequestTimeout
}

// collisionRecheckInterval is how often a name that a foreign object bears, or one that has lost our label, is looked at again: it is not
// watched.
const collisionRecheckInterval = time.Minute

// recheckCollision reads a cluster where a foreign object bears our name, now and then, because nothing tells when it goes. A Workload that
// has finished does not wait for that.
func (r *WorkloadReconciler) recheckCollision(s *workloadScope, v dispatch.ClusterView) []fleet.Action {
	if s.observed.Local.Finished {
		return nil
	}
	collides := (v.Copy.Holder == dispatch.Foreign || v.Job.Holder == dispatch.Foreign) && s.state.Bound != v.Name
	relabelled := v.Live != nil && v.Live.Job.Holder == dispatch.Relabelled
	if !collides && !relabelled {
		return nil
	}
	var last time.Time
	for _, answer := range r.Fleet.ActionResults(v.Name, s.key()) {
		if f, ok := answer.Value.(liveRead); ok && f.startedAt.After(last) {
			last = f.startedAt
		}
	}
	if again := last.Add(collisionRecheckInterval); s.observed.Now.Before(again) {
		s.retryAt = kube.Earliest(s.retryAt, again)
		return nil
	}
	return []fleet.Action{r.buildFleetAction(s, dispatch.Action{Verb: dispatch.LiveRead, Cluster: v.Name, Epoch: s.state.Epoch})}
}

// removedUIDs are the objects seen that a removal below an epoch removes, see mirror.Removal.
func removedUIDs(o mirror.Original, seen mirror.Found, below int64) []string {
	removable := func(h dispatch.Holder, epoch int64) bool {
		return h == dispatch.Predecessor || (h == dispatch.Ours || h == dispatch.Relabelled) && dispatch.IsBelow(epoch, below)
	}
	var uids []string
	if c := o.ObserveWorkload(seen.Workload); removable(c.Holder, c.Epoch) {
		uids = append(uids, string(seen.Workload.UID))
	}
	if seen.Job == nil {
		return uids
	}
	if j := o.ObserveJob(seen.Job); removable(j.Holder, j.Epoch) {
		uids = append(uids, string(seen.Job.GetUID()))
	}
	return uids
}
