package job

import (
	"context"
	"fmt"

	"github.com/hashicorp/go-multierror"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

// messageOutOfSync is the contract's (contract: multikueue.md 6).
const messageOutOfSync = "The prebuilt workload is out of sync with its user job"

// act carries the plan out and returns the events to record about the job.
func (r *reconciler[T]) act(ctx context.Context, s *sight[T], plan Plan) ([]kube.Event, error) {
	switch plan.Do {
	case DoNothing:
		return s.waiting(plan), nil
	case DoCreate:
		return r.create(ctx, s)
	case DoAdopt:
		return nil, r.patch(ctx, s.wl, r.compose.adopted(s.job, s.wl))
	case DoUpdate:
		return s.updated(), r.patch(ctx, s.wl, s.desired)
	case DoDelete:
		return r.delete(ctx, s.wl)
	case DoDeleteExtras:
		return r.deleteExtras(ctx, s)
	case DoForget:
		return nil, r.forget(ctx, s)
	case DoRetire:
		return r.retire(ctx, s)
	case DoFinish:
		return r.finish(ctx, s, plan)
	case DoLetGo:
		return nil, r.patch(ctx, s.wl, withoutFinalizer(s.wl))
	case DoReport:
		return nil, r.report(ctx, s)
	case DoRelease:
		return nil, r.release(ctx, s)
	case DoStart:
		note := fmt.Sprintf("Admitted by clusterQueue %s", s.wl.Status.Admission.ClusterQueue)
		return tell(kueue.EventStarted, note), r.patch(ctx, s.job, s.started)
	case DoStop:
		return r.stop(ctx, s, plan)
	case DoSuspend:
		suspended := copyOf(s.job)
		r.kind.SetSuspend(suspended, true)
		return tell(kueue.EventSuspended, "Kueue managed child job suspended"), r.patch(ctx, s.job, suspended)
	}
	panic(fmt.Sprintf("plan without action: %d", plan.Do))
}

func nameOf(wl *kueue.Workload) string { return wl.Namespace + "/" + wl.Name }

// create makes the Workload. One that exists already and is the job's was made a moment ago, and the cache is behind.
func (r *reconciler[T]) create(ctx context.Context, s *sight[T]) ([]kube.Event, error) {
	err := r.client.Create(ctx, s.desired.DeepCopy())
	if err == nil {
		r.measureCreation(s.job)
		return tell(kueue.EventCreatedWorkload, "Created Workload: "+nameOf(s.desired)), nil
	}
	if apierrors.IsAlreadyExists(err) {
		existing := &kueue.Workload{}
		if r.live.Get(ctx, client.ObjectKeyFromObject(s.desired), existing) == nil && metav1.IsControlledBy(existing, s.job) {
			return nil, nil
		}
	}
	return nil, fmt.Errorf("create workload %s: %w", nameOf(s.desired), err)
}

// measureCreation leaves out jobs that have changed since: what they waited for is not known (contract: kueue-api.md 5).
func (r *reconciler[T]) measureCreation(job client.Object) {
	if r.opts.Created != nil && job.GetGeneration() <= 1 {
		r.opts.Created(r.kind.GVK.Kind, r.opts.Clock.Since(job.GetCreationTimestamp().Time))
	}
}

// patch writes metadata and spec. An object that is gone needs no change any more.
func (r *reconciler[T]) patch(ctx context.Context, before, after client.Object) error {
	_, err := kube.Patch(ctx, r.client, before, after)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("patch %T %s/%s: %w", before, before.GetNamespace(), before.GetName(), err)
	}
	if err == nil {
		r.written.Record(after, r.opts.Clock.Now())
	}
	return nil
}

// delete deletes Workloads, provided that they are those that were seen.
func (r *reconciler[T]) delete(ctx context.Context, workloads ...*kueue.Workload) ([]kube.Event, error) {
	var events []kube.Event
	var failed *multierror.Error
	for _, wl := range workloads {
		uid, version := wl.GetUID(), wl.GetResourceVersion()
		err := r.client.Delete(ctx, wl.DeepCopy(), client.Preconditions{UID: &uid, ResourceVersion: &version})
		if client.IgnoreNotFound(err) != nil {
			failed = multierror.Append(failed, fmt.Errorf("delete workload %s: %w", nameOf(wl), err))
			continue
		}
		events = append(events, tell(kueue.EventDeletedWorkload, "Deleted not matching Workload: "+nameOf(wl))...)
	}
	return events, failed.ErrorOrNil()
}

// finish records the end, then lets the Workload go.
func (r *reconciler[T]) finish(ctx context.Context, s *sight[T], plan Plan) ([]kube.Event, error) {
	wl := s.wl.DeepCopy()
	workload.Finish(wl, plan.Finish, s.ending(plan), s.facts.Now)
	if err := r.applyAdmission(ctx, wl); err != nil {
		return nil, err
	}
	events := tell(kueue.EventFinishedWorkload, fmt.Sprintf("Workload '%s' is declared finished", nameOf(wl)))
	return events, r.patch(ctx, wl, withoutFinalizer(wl))
}

// ending is the message of Finished.
func (s *sight[T]) ending(plan Plan) string {
	switch {
	case plan.Because == OutOfSync:
		return messageOutOfSync
	case s.facts.Ended == nil:
		return s.note
	}
	return s.facts.Ended.Words()
}

// release gives the reservation back once the evicted job has no pods left.
func (r *reconciler[T]) release(ctx context.Context, s *sight[T]) error {
	wl := s.wl.DeepCopy()
	if !workload.ReleaseQuota(wl, s.facts.Now) {
		return nil
	}
	if r.opts.WaitForPodsReady {
		workload.SetPodsNotReady(wl, s.facts.Now)
	}
	return r.applyAdmission(ctx, wl)
}

// applyAdmission writes the admission part of the Workload's status.
func (r *reconciler[T]) applyAdmission(ctx context.Context, wl *kueue.Workload) error {
	if err := kube.ApplyAdmission(ctx, r.client, wl); err != nil {
		return err
	}
	r.written.Record(wl, r.opts.Clock.Now())
	return nil
}

// stop takes one step; the event is for the first.
func (r *reconciler[T]) stop(ctx context.Context, s *sight[T], plan Plan) ([]kube.Event, error) {
	var original []kueue.PodSet
	if s.wl != nil {
		original = s.wl.Spec.PodSets
	}
	next := copyOf(s.job)
	switch r.kind.stop(next, original) {
	case StopDone, StopWait:
		return nil, nil
	case StopStatus:
		_, err := kube.PatchStatus(ctx, r.client, s.job, next)
		if apierrors.IsInvalid(err) {
			return nil, nil // its own controller has to act first, whose write brings us back
		}
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("patch status of %s %s: %w", r.kind.GVK.Kind, s.job.GetName(), err)
		}
		r.written.Record(next, s.facts.Now)
		return nil, nil
	case StopSpec:
	}
	if err := r.patch(ctx, s.job, next); err != nil || s.facts.Suspended {
		return nil, err
	}
	return tell(kueue.EventStopped, s.stopMessage(plan)), nil
}
