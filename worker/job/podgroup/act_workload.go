package podgroup

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/podgroup/plan"
	"switchyard.dev/worker/job/podgroup/podmeta"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

// changeWorkload carries out what the plan says about the Workload.
func (r *reconciler) changeWorkload(ctx context.Context, s *snapshot, p plan.Plan) error {
	switch p.Do {
	case plan.DoNothing:
		return nil
	case plan.DoCreate:
		return r.create(ctx, s)
	case plan.DoAdopt:
		return r.adopt(ctx, s)
	case plan.DoUpdate:
		events := s.updateEvents()
		err := r.writer.Patch(ctx, s.wl, s.desired)
		return r.tellSpeaker(s, err, events...)
	case plan.DoDiscard:
		return r.discard(ctx, s)
	case plan.DoForget:
		return r.forget(ctx, s)
	case plan.DoFinish:
		return r.finish(ctx, s, p)
	case plan.DoRemoveFinalizer:
		return r.writer.Patch(ctx, s.wl, job.WithoutFinalizer(s.wl))
	case plan.DoRelease:
		return r.release(ctx, s, p)
	case plan.DoUpdateStatus:
		return r.updateStatus(ctx, s, p)
	}
	panic(fmt.Sprintf("plan without action: %d", p.Do))
}

// tellSpeaker records events about the pod that speaks for all, unless the write that they speak of failed.
func (r *reconciler) tellSpeaker(s *snapshot, err error, events ...kube.Event) error {
	if speaker := s.speaker(); err == nil && speaker != nil {
		kube.RecordEvents(r.recorder, speaker, events...)
	}
	return err
}

func nameOf(wl *kueue.Workload) string { return wl.Namespace + "/" + wl.Name }

// create makes the Workload. One that exists already and is the pods' was made a moment ago, and the cache is behind.
func (r *reconciler) create(ctx context.Context, s *snapshot) error {
	err := r.client.Create(ctx, s.desired.DeepCopy())
	if apierrors.IsAlreadyExists(err) {
		existing := &kueue.Workload{}
		found := r.live.Get(ctx, client.ObjectKeyFromObject(s.desired), existing)
		if found == nil && s.isOwnedByPods(existing) {
			r.pending.recordCreation(s.unit, s.facts.Now)
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("create workload %s: %w", nameOf(s.desired), err)
	}
	r.pending.recordCreation(s.unit, s.facts.Now)
	speaker := s.speaker()
	if r.opts.Created != nil && speaker.Generation <= 1 {
		r.opts.Created(podmeta.GVK().Kind, s.facts.Now.Sub(speaker.CreationTimestamp.Time))
	}
	return r.tellSpeaker(s, nil, kube.Event{Reason: kueue.EventCreatedWorkload, Note: "Created Workload: " + nameOf(s.desired)})
}

// isOwnedByPods tells whether one of the pods is among the owners of a Workload.
func (s *snapshot) isOwnedByPods(wl *kueue.Workload) bool {
	for i := range wl.OwnerReferences {
		for _, pod := range s.pods {
			if wl.OwnerReferences[i].UID == pod.UID {
				return true
			}
		}
	}
	return false
}

// adopt makes the pods owners of their Workload.
func (r *reconciler) adopt(ctx context.Context, s *snapshot) error {
	if !s.unit.group {
		return r.writer.Patch(ctx, s.wl, r.composer.Adopt(s.pods[0], s.wl))
	}
	next := s.wl.DeepCopy()
	added := addOwners(next, s)
	if err := r.writer.Patch(ctx, s.wl, next); err != nil {
		return err
	}
	kube.RecordEvents(r.recorder, s.wl, kube.Event{
		Reason: kueue.EventOwnerReferencesAdded, Note: fmt.Sprintf("Added %d owner reference(s)", added),
	})
	return nil
}

// discard deletes a Workload that no pod needs, as it was seen.
func (r *reconciler) discard(ctx context.Context, s *snapshot) error {
	if freed := job.WithoutFinalizer(s.wl); len(freed.Finalizers) < len(s.wl.Finalizers) {
		return r.writer.Patch(ctx, s.wl, freed) // the next look deletes it
	}
	uid, version := s.wl.UID, s.wl.ResourceVersion
	err := r.client.Delete(ctx, s.wl.DeepCopy(), client.Preconditions{UID: &uid, ResourceVersion: &version})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete workload %s: %w", nameOf(s.wl), err)
	}
	return nil
}

// forget lets go of a Workload whose pod is gone, if a live read says so too. It is finished first, unless it has ended or is a hub's,
// which wants to see no end that the pod did not have.
func (r *reconciler) forget(ctx context.Context, s *snapshot) error {
	wl, ref := s.wl, metav1.GetControllerOfNoCopy(s.wl)
	if wl.DeletionTimestamp.IsZero() && !workload.IsFinished(wl) {
		pod := &corev1.Pod{}
		err := r.live.Get(ctx, client.ObjectKey{Namespace: wl.Namespace, Name: ref.Name}, pod)
		switch {
		case client.IgnoreNotFound(err) != nil:
			return fmt.Errorf("get pod %s/%s: %w", wl.Namespace, ref.Name, err)
		case err == nil && pod.UID == ref.UID:
			return nil // out of sight, but there
		}
		if r.opts.Gates.FinishOrphanedWorkloads && !workload.IsRemoteCopy(wl) {
			wl = wl.DeepCopy()
			workload.Finish(wl, kueue.ReasonOwnerNotFound, "The workload's owner no longer exists", s.facts.Now)
			if err := r.writer.ApplyAdmission(ctx, wl); err != nil {
				return client.IgnoreNotFound(err)
			}
		}
	}
	return r.writer.Patch(ctx, wl, job.WithoutFinalizer(wl))
}

// finish records the end, then lets the Workload go.
func (r *reconciler) finish(ctx context.Context, s *snapshot, p plan.Plan) error {
	wl := s.wl.DeepCopy()
	reason, message := s.end(p)
	workload.Finish(wl, reason, message, s.facts.Now)
	if err := r.writer.ApplyAdmission(ctx, wl); err != nil {
		return err
	}
	err := r.writer.Patch(ctx, wl, job.WithoutFinalizer(wl))
	return r.tellSpeaker(s, err, kube.Event{
		Reason: kueue.EventFinishedWorkload, Note: fmt.Sprintf("Workload '%s' is declared finished", nameOf(wl)),
	})
}

// end is how the Workload ends, and in which words.
func (s *snapshot) end(p plan.Plan) (kueue.Reason, string) {
	switch {
	case p.Outcome == nil && p.Reason == plan.OutOfSync:
		return kueue.ReasonOutOfSync, job.OutOfSyncMessage
	case p.Outcome == nil:
		return kueue.ReasonFailedToStart, s.message
	}
	outcome := job.Outcome{Success: p.Outcome.Success, Message: p.Outcome.Message}
	if outcome.Success {
		return kueue.ReasonSucceeded, outcome.FinishedMessage()
	}
	return kueue.ReasonFailed, outcome.FinishedMessage()
}

// release gives the quota back. In the same write it says whether pods have to be replaced before the Workload is queued again: a moment
// later it might be admitted.
func (r *reconciler) release(ctx context.Context, s *snapshot, p plan.Plan) error {
	wl := s.wl.DeepCopy()
	give := workload.ReleaseQuota
	if r.opts.Gates.ReleasesPodsForGood && (s.facts.Single || s.facts.Copy) && s.facts.HaveStarted() {
		give = workload.ReleaseForGood
	}
	released := give(wl, s.facts.Now)
	if !s.setWaiting(wl, p.Waiting) && !released {
		return nil
	}
	if r.opts.WaitForPodsReady {
		workload.SetPodsNotReady(wl, s.facts.Now)
	}
	return r.writer.ApplyAdmission(ctx, wl)
}

// setWaiting says in the condition WaitingForReplacementPods whether pods have to be replaced, and reports whether that is new.
func (s *snapshot) setWaiting(wl *kueue.Workload, waiting bool) bool {
	if waiting == s.facts.Waiting {
		return false
	}
	c := metav1.Condition{
		Type: kueue.WorkloadWaitingForReplacementPods, Status: metav1.ConditionFalse, Reason: string(kueue.ReasonPodsReady),
		Message: "No pods need replacement", LastTransitionTime: metav1.NewTime(s.facts.Now), ObservedGeneration: wl.Generation,
	}
	if waiting {
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, string(kueue.ReasonPodsFailed), "Some Failed pods need replacement"
		if e := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted); e != nil && e.Status == metav1.ConditionTrue {
			c.Reason, c.Message = e.Reason, e.Message
		}
	}
	return meta.SetStatusCondition(&wl.Status.Conditions, c)
}

// updateStatus writes what the pods say: whether they have to be replaced, whether they are ready, and how many need no quota any more.
// Each has a field manager of its own, and so is a write of its own.
func (r *reconciler) updateStatus(ctx context.Context, s *snapshot, p plan.Plan) error {
	if wl := s.wl.DeepCopy(); s.setWaiting(wl, p.Waiting) {
		if err := r.writer.ApplyAdmission(ctx, wl); err != nil {
			return err
		}
	}
	if s.ready != nil {
		manager := kueue.JobControllerManagerPrefix + s.ready.Type
		if err := r.writer.ApplyStatus(ctx, s.wl, manager, map[string]any{"conditions": []metav1.Condition{*s.ready}}); err != nil {
			return err
		}
	}
	if !s.reclaimableStale {
		return nil
	}
	list := append([]kueue.ReclaimablePod{}, s.reclaimable...) // none is [], not null
	return r.writer.ApplyStatus(ctx, s.wl, kueue.ReclaimablePodsManager, map[string]any{"reclaimablePods": list})
}
