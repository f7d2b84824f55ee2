package act

import (
	"context"
	"fmt"
	"strings"
	"time"

	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/view"
	"switchyard.dev/worker/workload"
)

// evict writes the eviction of one victim and tells the view how that ended (contract: kueue-api.md 4.11).
func (l *Loop) evict(ctx context.Context, p view.Preemption, e view.Eviction) {
	now := l.parts.Clock.Now()
	victim := e.Seen.DeepCopy()
	preemptor := workload.Preemptor{Workload: p.Seen, Queue: p.Queue}
	events := workload.Preempt(victim, preemptor, e.Because, now)
	if len(events) == 0 {
		// It has nothing to give any more; the view knows as soon as the API says so.
		l.parts.View.Conflicted(e.Seen)
		return
	}
	if l.settle(ctx, victim, e.Seen, "an eviction") {
		l.parts.Metrics.Preempted(p.Queue, e.Because)
		l.herald.tell(victim, events...)
		l.herald.tell(p.Seen, workload.PreemptedWorkload(victim, e.Queue, e.Because))
	}
}

// admit writes one admission and tells the view how that ended.
func (l *Loop) admit(ctx context.Context, d view.Decided) {
	now := l.parts.Clock.Now()
	wl := d.Seen.DeepCopy()
	message := "Quota reserved in ClusterQueue " + d.Queue
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

// reservedMessage lists the wait and what was assigned (contract: kueue-api.md 1.14).
func reservedMessage(d view.Decided, now time.Time) string {
	text := &strings.Builder{}
	waited := max(now.Sub(queuedSince(d.Seen)), 0).Round(time.Second)
	fmt.Fprintf(text, "Quota reserved in ClusterQueue %s, wait time since queued was %s", d.Queue, waited)
	for _, ps := range d.Assignment.PodSets {
		for i, f := range ps.Flavors {
			if i == 0 {
				fmt.Fprintf(text, "; pod set %s (%d):", ps.Name, ps.Count)
			}
			fmt.Fprintf(text, " %s from %s", f.Resource, f.Flavor)
		}
	}
	return text.String()
}
