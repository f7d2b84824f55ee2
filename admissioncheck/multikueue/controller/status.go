package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

const (
	// deferral is when a status that the hub's job could not take is tried again (contract: multikueue.md 6).
	deferral = 2 * time.Second
	// overture is how long after the check became Ready, as a timestamp of whole seconds, a remote job whose pods are not all
	// ready has nothing to tell: meanwhile both jobs are resumed, each by its own cluster, and a write of ours would only
	// meet theirs; and pods that become ready now are told of in the same write as that they exist.
	overture = 3 * time.Second
	// pace is the time between two copies that only count pods.
	pace = 3 * time.Second
	// handover is how long the hub's own job controller has to record an end that it can see in its job, if it has been quick
	// about it so far; handoverMost is the longest it may ever take. As a rule it takes some milliseconds, but when many jobs
	// end at once the last ones wait for seconds, and a write of ours would meet its.
	handover, handoverMost = 2 * time.Second, 30 * time.Second
)

// follow copies the status of a remote job while it runs: at once what decides something, the rest when it is due.
func (r *Resolver) follow(ctx context.Context, s *subject, remote client.Object) error {
	if due := r.due(s, remote); s.observed.Now.Before(due) {
		s.retryAt = kube.Earliest(s.retryAt, due)
		return nil
	}
	return r.copyStatus(ctx, s, remote)
}

// due is when the status of a remote job is to be copied, zero for at once: its end, its pods all being ready, and
// everything during a retreat, because the quota is held until the pods are gone.
func (r *Resolver) due(s *subject, remote client.Object) time.Time {
	o := s.original
	if remote == nil || o.Job == nil || s.observed.Local.Evicted || s.readyAt.IsZero() {
		return time.Time{}
	}
	was, is := o.Kind.Progress(o.Job), o.Kind.Progress(remote)
	if is.Finished != nil || is.Ready && !was.Ready {
		return time.Time{}
	}
	due := r.told.last(s.key()).Add(pace)
	if until := s.readyAt.Add(overture); !is.Ready && until.After(due) {
		return until
	}
	return due
}

// finish copies the last status of the job to the hub's and then records the outcome; never the other way round, because
// a finished Workload is cleaned up and its remote job gone for good. If the hub's job then says the very same, its own
// controller is about to record it, and only if it does not we do.
func (r *Resolver) finish(ctx context.Context, s *subject, a dispatch.Action) (done, error) {
	if o := s.original; o.Job != nil && r.written.IsNewerThan(o.Job, r.Clock.Now()) {
		s.retryAt = kube.Earliest(s.retryAt, s.observed.Now.Add(echo)) // what the hub's job shows now is not known yet
		return done{}, nil
	}
	if err := r.copyStatus(ctx, s, r.lastJob(s, a.Cluster)); err != nil {
		return done{}, err
	}
	if o := s.original; o.Job != nil {
		said := mirror.Outcome(o.Kind, o.Job)
		until := r.ending.waiting(s.key(), s.observed.Now).Add(r.records.patience())
		if said != nil && *said == a.Outcome && s.observed.Now.Before(until) {
			s.retryAt = kube.Earliest(s.retryAt, until)
			return done{}, nil
		}
	}
	next := s.original.Workload.DeepCopy()
	if !workload.Finish(next, kueue.Reason(a.Outcome.Reason), a.Outcome.Message, s.observed.Now) {
		return done{}, nil
	}
	if err := kube.ApplyAdmission(ctx, r.Client, next); err != nil {
		return done{}, err
	}
	r.ending.over(s.key()) // it was not the job controller
	r.written.Record(next, r.Clock.Now())
	return done{wl: next}, nil
}

// records remember how long the hub's job controller took lately to record ends.
type records struct {
	mu    sync.Mutex
	times latencies
}

func (r *records) add(took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times.add(took)
}

// patience is how long it has for the next one: several times what nine in ten of the last ones took.
func (r *records) patience() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	const times = 4
	return min(max(times*r.times.most(), handover), handoverMost)
}

// lastJob returns the job on a cluster as it was last seen, by a live read, in the cache, or before it went, unless it is one that
// has taken the name of the Workload's.
func (r *Resolver) lastJob(s *subject, cluster string) client.Object {
	o := s.original
	believed := func(f mirror.Found) bool {
		return f.Job != nil && s.state.Believes(cluster, o.Copy(f.Workload), o.JobFacts(f.Job))
	}
	if f := newestFound(r.Fleet.ActionResults(cluster, o.Key()), func(f found) bool { return believed(f.Found) }); f != nil {
		return f.Job
	}
	seen := r.seen(cluster, o)
	if taken := seen.Job == nil || o.JobFacts(seen.Job).Holder != dispatch.Ours; taken && o.Kind != nil { // gone, and perhaps its name taken
		gone, _ := r.Fleet.LastDeleted(cluster, o.Kind.GVK(), o.Key())
		seen.Job = gone.LastState
	}
	if !believed(seen) {
		return nil
	}
	return seen.Job
}

// copyStatus writes the status of a remote job to the hub's job if that changes it. What the hub's job cannot take yet is
// written only where it helps to stop it; a job that is about to start will take all of it in a moment.
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

func (r *Resolver) patchJob(ctx context.Context, s *subject, next client.Object) error {
	wrote, err := kube.PatchStatus(ctx, r.Client, s.original.Job, next)
	if err != nil {
		return fmt.Errorf("copy the status of job %s: %w", s.original.JobKey(), err)
	}
	if wrote {
		r.written.Record(next, r.Clock.Now())
		r.told.begin(s.key(), s.observed.Now)
		s.original.Job = next
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
