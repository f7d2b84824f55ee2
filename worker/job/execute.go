package job

import (
	"context"
	"fmt"

	"github.com/hashicorp/go-multierror"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

// messageOutOfSync is the contract's (contract: multikueue.md 6).
const messageOutOfSync = "The prebuilt workload is out of sync with its user job"

// executePlan carries the plan out and returns the events to record about the job.
func (r *reconciler[T]) executePlan(ctx context.Context, s *snapshot[T], plan Plan) ([]kube.Event, error) {
	switch plan.Do {
	case DoNothing:
		return s.waitingEvents(plan), nil
	case DoCreate:
		return r.createWorkload(ctx, s)
	case DoAdopt:
		return nil, r.writer.patchObject(ctx, s.wl, r.composer.adoptWorkload(s.job, s.wl))
	case DoAdoptSlice:
		next := s.slices.unadopted
		return nil, r.writer.patchObject(ctx, next, r.composer.adoptWorkload(s.job, next))
	case DoUpdate:
		return s.updateEvents(), r.writer.patchObject(ctx, s.updated(), s.desired)
	case DoResize:
		return nil, r.writer.patchObject(ctx, s.updated(), s.desired)
	case DoShrink:
		return nil, r.shrinkAdmission(ctx, s)
	case DoEndSlices:
		return nil, r.endSlices(ctx, s)
	case DoDelete:
		return r.deleteWorkload(ctx, s.wl)
	case DoDeleteExtras:
		return r.deleteExtras(ctx, s)
	case DoForgetOrphans:
		return nil, r.orphans.forgetOrphans(ctx, s.orphans)
	case DoDeleteJob:
		return r.deleteJob(ctx, s)
	case DoFinish:
		return r.finishWorkload(ctx, s, plan)
	case DoRemoveFinalizer:
		return nil, r.writer.patchObject(ctx, s.wl, withoutFinalizer(s.wl))
	case DoUpdateStatus:
		return nil, r.updateStatus(ctx, s)
	case DoRelease:
		return nil, r.changeAdmission(ctx, s, func(wl *kueue.Workload) bool { return workload.ReleaseQuota(wl, s.facts.Now) })
	case DoHold:
		return nil, r.changeAdmission(ctx, s, func(wl *kueue.Workload) bool {
			return workload.Hold(wl, r.kind.Progress(s.job).OnHold, s.facts.Now)
		})
	case DoResume:
		return nil, r.changeAdmission(ctx, s, func(wl *kueue.Workload) bool { return workload.Resume(wl, s.facts.Now) })
	case DoPlace:
		return nil, r.writer.patchObject(ctx, s.job, s.started)
	case DoStart:
		note := fmt.Sprintf("Admitted by clusterQueue %s", s.wl.Status.Admission.ClusterQueue)
		return newEvents(kueue.EventStarted, note), r.writer.patchObject(ctx, s.job, s.started)
	case DoStop:
		return r.stopJob(ctx, s, plan)
	case DoSuspend:
		suspended := deepCopy(s.job)
		r.kind.SetSuspend(suspended, true)
		return newEvents(kueue.EventSuspended, "Kueue managed child job suspended"), r.writer.patchObject(ctx, s.job, suspended)
	}
	panic(fmt.Sprintf("plan without action: %d", plan.Do))
}

// updated is the Workload that is to become the desired one.
func (s *snapshot[T]) updated() *kueue.Workload {
	if s.slices.resized != nil {
		return s.slices.resized
	}
	return s.wl
}

// shrinkAdmission has the admission say no more pods than the Workload has.
func (r *reconciler[T]) shrinkAdmission(ctx context.Context, s *snapshot[T]) error {
	wl := s.wl.DeepCopy()
	workload.ShrinkAdmission(wl)
	return r.writer.applyAdmission(ctx, wl)
}

func workloadName(wl *kueue.Workload) string { return wl.Namespace + "/" + wl.Name }

// createWorkload makes the Workload. One that exists already and is the job's was made a moment ago, and the cache is behind.
func (r *reconciler[T]) createWorkload(ctx context.Context, s *snapshot[T]) ([]kube.Event, error) {
	err := r.client.Create(ctx, s.desired.DeepCopy())
	if err == nil {
		r.measureCreation(s.job)
		return newEvents(kueue.EventCreatedWorkload, "Created Workload: "+workloadName(s.desired)), nil
	}
	if apierrors.IsAlreadyExists(err) {
		existing := &kueue.Workload{}
		if r.live.Get(ctx, client.ObjectKeyFromObject(s.desired), existing) == nil && metav1.IsControlledBy(existing, s.job) {
			return nil, nil
		}
	}
	return nil, fmt.Errorf("create workload %s: %w", workloadName(s.desired), err)
}

// measureCreation leaves out jobs that have changed since: what they waited for is not known (contract: kueue-api.md 5).
func (r *reconciler[T]) measureCreation(job client.Object) {
	if r.opts.Created != nil && job.GetGeneration() <= 1 {
		r.opts.Created(r.kind.GVK.Kind, r.opts.Clock.Since(job.GetCreationTimestamp().Time))
	}
}

// deleteWorkload deletes Workloads, provided that they are those that were seen.
func (r *reconciler[T]) deleteWorkload(ctx context.Context, workloads ...*kueue.Workload) ([]kube.Event, error) {
	var events []kube.Event
	var failed *multierror.Error
	for _, wl := range workloads {
		uid, version := wl.GetUID(), wl.GetResourceVersion()
		err := r.client.Delete(ctx, wl.DeepCopy(), client.Preconditions{UID: &uid, ResourceVersion: &version})
		if client.IgnoreNotFound(err) != nil {
			failed = multierror.Append(failed, fmt.Errorf("delete workload %s: %w", workloadName(wl), err))
			continue
		}
		events = append(events, newEvents(kueue.EventDeletedWorkload, "Deleted not matching Workload: "+workloadName(wl))...)
	}
	return events, failed.ErrorOrNil()
}

// finishWorkload records the end, then lets the Workload go.
func (r *reconciler[T]) finishWorkload(ctx context.Context, s *snapshot[T], plan Plan) ([]kube.Event, error) {
	wl := s.wl.DeepCopy()
	workload.Finish(wl, plan.Finish, s.finishedMessage(plan), s.facts.Now)
	if err := r.writer.applyAdmission(ctx, wl); err != nil {
		return nil, err
	}
	events := newEvents(kueue.EventFinishedWorkload, fmt.Sprintf("Workload '%s' is declared finished", workloadName(wl)))
	return events, r.writer.patchObject(ctx, wl, withoutFinalizer(wl))
}

// finishedMessage is the message of Finished.
func (s *snapshot[T]) finishedMessage(plan Plan) string {
	switch {
	case plan.Reason == OutOfSync:
		return messageOutOfSync
	case s.facts.Ended == nil:
		return s.message
	}
	return s.facts.Ended.FinishedMessage()
}

// changeAdmission writes what becomes of the reservation of a job that has no pods left.
func (r *reconciler[T]) changeAdmission(ctx context.Context, s *snapshot[T], change func(*kueue.Workload) bool) error {
	wl := s.wl.DeepCopy()
	if !change(wl) {
		return nil
	}
	if r.opts.WaitForPodsReady && workload.HasQuota(s.wl) {
		workload.SetPodsNotReady(wl, s.facts.Now)
	}
	return r.writer.applyAdmission(ctx, wl)
}

// stopJob takes one step; the event is for the first.
func (r *reconciler[T]) stopJob(ctx context.Context, s *snapshot[T], plan Plan) ([]kube.Event, error) {
	var original []kueue.PodSet
	if s.wl != nil {
		original = s.wl.Spec.PodSets
	}
	next := deepCopy(s.job)
	switch r.kind.stopFully(next, original) {
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
		r.writer.written.Record(next, s.facts.Now)
		return nil, nil
	case StopSpec:
	}
	if err := r.writer.patchObject(ctx, s.job, next); err != nil || s.facts.Suspended {
		return nil, err
	}
	return newEvents(kueue.EventStopped, s.stopMessage(plan)), nil
}

// writer writes Workloads and jobs, and remembers its writes until the cache shows them.
type writer struct {
	client  client.Client
	clock   clock.PassiveClock
	written kube.WriteTracker
}

// patchObject writes metadata and spec. An object that is gone needs no change any more.
func (w *writer) patchObject(ctx context.Context, before, after client.Object) error {
	_, err := kube.Patch(ctx, w.client, before, after)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("patch %T %s/%s: %w", before, before.GetNamespace(), before.GetName(), err)
	}
	if err == nil {
		w.written.Record(after, w.clock.Now())
	}
	return nil
}

// applyAdmission writes the admission part of the Workload's status.
func (w *writer) applyAdmission(ctx context.Context, wl *kueue.Workload) error {
	if err := kube.ApplyAdmission(ctx, w.client, wl); err != nil {
		return err
	}
	w.written.Record(wl, w.clock.Now())
	return nil
}
