package controller

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	"switchyard.dev/admissioncheck/multikueue/tracker"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

const (
	// statusRetryDelay is when a status that the hub's job could not take is tried again (contract: multikueue.md 6).
	statusRetryDelay = 2 * time.Second
	// startupQuietPeriod is how long after the check became Ready, as a timestamp of whole seconds, a remote job whose pods are not all
	// ready has nothing to tell: meanwhile both jobs are resumed, each by its own cluster, and a write of ours would only
	// meet theirs; and pods that become ready now are told of in the same write as that they exist.
	startupQuietPeriod = 3 * time.Second
	// statusCopyInterval is the time between two copies that only count pods.
	statusCopyInterval = 3 * time.Second
)

// finishWorkload copies the last status of the job to the hub's and then records the outcome; never the other way round, because
// a finished Workload is cleaned up and its remote job gone for good. If the hub's job then says the very same, its own
// controller is about to record it, and only if it does not we do.
func (r *WorkloadReconciler) finishWorkload(ctx context.Context, s *workloadScope, a dispatch.Action) (hubChange, error) {
	if o := s.original; o.Job != nil && r.writes.IsNewerThan(o.Job, r.Clock.Now()) {
		s.retryAt = kube.Earliest(s.retryAt, s.observed.Now.Add(cacheEchoDelay)) // what the hub's job shows now is not known yet
		return hubChange{}, nil
	}
	if err := r.statuses.copyStatus(ctx, s, r.remote.lastKnownJob(s, a.Cluster)); err != nil {
		return hubChange{}, err
	}
	if !workload.IsGroup(s.original.Workload) { // its only pod may be gone already
		if err := r.endMembers(ctx, s, a.Outcome.Reason == string(kueue.ReasonSucceeded), a.Outcome.Message); err != nil {
			return hubChange{}, err
		}
	}
	if o := s.original; o.Job != nil {
		said := mirror.Outcome(o.Kind, o.Job)
		until := readTracker(r.tracker, func(t *tracker.Tracker) time.Time { return t.AwaitFinish(trackedWorkload(o), s.observed.Now) })
		if said != nil && *said == a.Outcome && s.observed.Now.Before(until) {
			s.retryAt = kube.Earliest(s.retryAt, until)
			return hubChange{}, nil
		}
	}
	next := s.original.Workload.DeepCopy()
	if !workload.Finish(next, kueue.Reason(a.Outcome.Reason), a.Outcome.Message, s.observed.Now) {
		return hubChange{}, nil
	}
	if err := kube.ApplyAdmission(ctx, r.Client, next); err != nil {
		return hubChange{}, err
	}
	r.tracker.do(func(t *tracker.Tracker) { t.FinishTaken(trackedWorkload(s.original)) })
	r.writes.Record(next, r.Clock.Now())
	return hubChange{wl: next}, nil
}

// statusCopier copies the status of a job on a worker to the hub's job.
type statusCopier struct {
	client client.Client
	clock  clock.PassiveClock
	// writes are the reconciler's own.
	writes  *kube.WriteTracker
	tracker *lockedTracker
}

// copyDueStatus copies the status of a remote job while it runs: at once what decides something, the rest when it is due.
func (c *statusCopier) copyDueStatus(ctx context.Context, s *workloadScope, remote client.Object) error {
	if due := c.statusDueAt(s, remote); s.observed.Now.Before(due) {
		s.retryAt = kube.Earliest(s.retryAt, due)
		return nil
	}
	return c.copyStatus(ctx, s, remote)
}

// statusDueAt is when the status of a remote job is to be copied, zero for at once: its end, its pods all being ready, and
// everything during a retreat, because the quota is held until the pods are gone.
func (c *statusCopier) statusDueAt(s *workloadScope, remote client.Object) time.Time {
	o := s.original
	if remote == nil || o.Job == nil || s.observed.Local.Quota.Evicted || s.readyAt.IsZero() {
		return time.Time{}
	}
	was, is := o.Kind.Progress(o.Job), o.Kind.Progress(remote)
	if is.Finished != nil || is.Ready && !was.Ready {
		return time.Time{}
	}
	copied := readTracker(c.tracker, func(t *tracker.Tracker) time.Time { return t.StatusCopiedAt(trackedWorkload(s.original)) })
	due := copied.Add(statusCopyInterval)
	if until := s.readyAt.Add(startupQuietPeriod); !is.Ready && until.After(due) {
		return until
	}
	return due
}

// copyStatus writes the status of a remote job to the hub's job if that changes it. What the hub's job cannot take yet is
// written only where it helps to stop it; a job that is about to start will take all of it in a moment.
func (c *statusCopier) copyStatus(ctx context.Context, s *workloadScope, remote client.Object) error {
	o := s.original
	if o.Job == nil || remote == nil || job.HasMembers(o.Kind) || o.ObserveJob(remote).Holder != dispatch.Ours {
		return nil
	}
	next, changed, deferred := o.WithStatus(remote)
	if deferred {
		s.retryAt = kube.Earliest(s.retryAt, s.observed.Now.Add(statusRetryDelay))
	}
	if !changed || deferred && !s.observed.Local.Quota.Evicted {
		return nil
	}
	return c.patchJobStatus(ctx, s, next)
}

// patchJobStatus writes the status of the hub's job. The scope has the written job afterwards.
func (c *statusCopier) patchJobStatus(ctx context.Context, s *workloadScope, next client.Object) error {
	wrote, err := kube.PatchStatus(ctx, c.client, s.original.Job, next)
	if err != nil {
		return fmt.Errorf("copy the status of job %s: %w", s.original.JobKey(), err)
	}
	if wrote {
		c.writes.Record(next, c.clock.Now())
		c.tracker.do(func(t *tracker.Tracker) { t.StatusCopied(trackedWorkload(s.original), s.observed.Now) })
		s.original.Job = next
	}
	return nil
}

// clearActivePods makes the hub's job show no active pods, because no cluster will ever report on them again.
func (c *statusCopier) clearActivePods(ctx context.Context, s *workloadScope) error {
	o := s.original
	if o.Job == nil || job.HasMembers(o.Kind) {
		return nil
	}
	next, changed, _ := o.WithStatus(o.JobCopy(s.state.Epoch, false))
	if !changed {
		return nil
	}
	return c.patchJobStatus(ctx, s, next)
}
