package act

import (
	"context"
	"time"

	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/view"
	"switchyard.dev/worker/workload"
)

// evict writes the eviction of one victim and tells the view how that ended (contract: kueue-api.md 4.11).
func (l *Loop) evict(ctx context.Context, p view.Preemption, e view.Eviction) {
	now := l.parts.Clock.Now()
	victim := e.Seen.DeepCopy()
	preemption := workload.Preemption{
		For: p.Seen, Because: e.Because, Queue: e.Queue, Boosted: l.parts.View.PriorityBoost(),
		Path: l.parts.View.PathTo(e.Queue), ForPath: l.parts.View.PathTo(p.Queue),
	}
	events := workload.Preempt(victim, preemption, now)
	if len(events) == 0 {
		// It has nothing to give any more; the view knows as soon as the API says so.
		l.parts.View.Conflicted(e.Seen)
		return
	}
	if l.settle(ctx, victim, e.Seen, "an eviction") {
		l.parts.Metrics.Preempted(p.Queue, e.Because)
		l.herald.tell(victim, events...)
		l.herald.tell(p.Seen, workload.PreemptedWorkload(e.Seen, preemption))
	}
}

// admit writes one admission and tells the view how that ended.
func (l *Loop) admit(ctx context.Context, d view.Decided) {
	now := l.parts.Clock.Now()
	wl := d.Seen.DeepCopy()
	message := lifecycle.ReservedMessage(d.Queue)
	events := []kube.Event{{Reason: string(d.Because), Note: reservedMessage(d, now)}}
	events = append(events, workload.Reserve(wl, view.AdmissionOf(d.Queue, d.Assignment), d.Checks, message, now)...)
	wl.Status.ResourceRequests = nil // They are told while it waits (contract: kueue-api.md 1.2).
	if l.parts.Prepare != nil {
		l.parts.Prepare(wl, now)
	}
	if l.settle(ctx, wl, d.Seen, "an admission") {
		l.herald.tell(wl, events...)
		l.parts.Metrics.reserved(wl, d.Seen, now)
	}
}

// reservedMessage is the text of the event about a reservation (contract: messages.md 2.4).
func reservedMessage(d view.Decided, now time.Time) string {
	waited := lifecycle.WholeSeconds(now.Sub(queuedSince(d.Seen)))
	message := lifecycle.ReservedMessage(d.Queue) + ", wait time since queued was " + waited
	if d.Assignment != nil && d.Assignment.Considered != "" {
		message += "; Flavors considered: " + d.Assignment.Considered
	}
	return message
}
