package scheduler

import (
	"context"
	"time"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/view"
	"switchyard.dev/worker/workload"
)

// evict writes the eviction of one victim and tells the view how that ended (contract: kueue-api.md 4.11).
func (l *Scheduler) evict(ctx context.Context, p view.Preemption, e view.Eviction) {
	now := l.config.Clock.Now()
	victim := e.Object.DeepCopy()
	preemption := workload.Preemption{
		Preemptor: p.Object, Reason: e.Reason, Queue: e.Queue, PriorityBoost: l.config.View.PriorityBoostEnabled(),
		VictimPath: l.config.View.CohortPath(e.Queue), PreemptorPath: l.config.View.CohortPath(p.Queue),
	}
	events := workload.Preempt(victim, preemption, now)
	if len(events) == 0 {
		// It has nothing to give any more; the view knows as soon as the API says so.
		l.config.View.RecordConflict(e.Object)
		return
	}
	if l.writeDecision(ctx, victim, e.Object, "an eviction") {
		l.config.Metrics.CountPreempted(p.Queue, e.Reason)
		l.eventQueue.enqueue(victim, events...)
		l.eventQueue.enqueue(p.Object, workload.PreemptedWorkloadEvent(e.Object, preemption))
	}
}

// admit writes one admission and tells the view how that ended.
func (l *Scheduler) admit(ctx context.Context, d view.WorkloadDecision) {
	now := l.config.Clock.Now()
	wl := d.Object.DeepCopy()
	message := lifecycle.ReservedMessage(d.Queue)
	events := []kube.Event{{Reason: string(d.Reason), Note: reservedMessage(d, now)}}
	events = append(events, workload.ReserveQuota(wl, view.BuildAdmission(d.Queue, d.Assignment), d.Checks, message, now)...)
	if d.Replaced != nil && wl.Status.ClusterName == nil {
		wl.Status.ClusterName = d.Replaced.Status.ClusterName // It goes where the job runs.
	}
	wl.Status.ResourceRequests = nil // They are told while it waits (contract: kueue-api.md 1.2).
	if l.config.PrepareAdmission != nil {
		l.config.PrepareAdmission(wl, now)
	}
	if l.writeDecision(ctx, wl, d.Object, "an admission") {
		l.eventQueue.enqueue(wl, events...)
		l.config.Metrics.ObserveReserved(wl, d.Object, now)
		l.finishReplaced(ctx, wl, d)
	}
}

// finishReplaced ends the slice from which the workload has taken over, now that this has been written. If that slice has changed since, or
// the write fails, its job's reconciler ends it: until then it counts for nothing.
func (l *Scheduler) finishReplaced(ctx context.Context, by *kueue.Workload, d view.WorkloadDecision) {
	if d.Replaced == nil {
		return
	}
	old := d.Replaced.DeepCopy()
	events := workload.ReplaceSlice(old, by, l.config.Clock.Now())
	if len(events) > 0 && l.writeDecision(ctx, old, d.Replaced, "the end of a replaced slice") {
		l.eventQueue.enqueue(old, events...)
		l.config.Metrics.CountReplaced(d.Queue)
	}
}

// reservedMessage is the text of the event about a reservation (contract: messages.md 2.4).
func reservedMessage(d view.WorkloadDecision, now time.Time) string {
	waited := lifecycle.FormatSeconds(now.Sub(workload.QueuedSince(d.Object)))
	message := lifecycle.ReservedMessage(d.Queue) + ", wait time since queued was " + waited
	if d.Assignment != nil && d.Assignment.Considered != "" {
		message += "; Flavors considered: " + d.Assignment.Considered
	}
	return message
}
