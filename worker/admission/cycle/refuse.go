package cycle

import (
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/order"
)

// turnAway parks the head with its kind or, where order must be kept, lets it block the lane.
func (r *run) turnAway(l *lane, head *admission.Place, why refusal) {
	r.passBy(l, why.want)
	if r.blocks(l, &head.Value.Workload) {
		l.Block(why.want)
		l.tell(head, why.Notice, why.want.Gated)
		return
	}
	for _, place := range l.Park(why.Notice, order.Aside[admission.Want]{Until: why.want, Ranked: why.ranked}) {
		l.tell(place, why.Notice, why.want.Gated)
	}
}

// passBy notes that somebody in the lane waits for more than quota that is given back.
func (r *run) passBy(l *lane, want admission.Want) {
	if want.Claimed || want.Unconfirmed {
		r.snapshot.PassedBy(l.Name())
	}
}

// blocks reports whether the workload, which cannot be admitted, holds up those behind it (contract: kueue-api.md 4.2).
// In a queue that is closed there is nothing to hold up: everybody is to be told.
func (r *run) blocks(l *lane, w *admission.Workload) bool {
	queue, found := r.snapshot.Queue(l.Name())
	if !found || queue.Strategy != admission.StrictFIFO || r.snapshot.Closed(l.Name()) != nil {
		return false
	}
	return w.Blocked == nil || !w.Blocked.StepsAside
}

// tellNews tells those who joined a kind that was parked already what the kind was told.
func (r *run) tellNews(l *lane) {
	for _, told := range l.News() {
		for _, place := range told.Members {
			l.tell(place, told.Notice, told.Until.Gated)
		}
	}
}

func (l *lane) tell(place *admission.Place, n admission.Notice, gated bool) {
	w := place.Value
	d := admission.Decision{
		Workload: w.Key, LocalQueue: w.LocalQueue, Queue: w.Queue,
		Verdict: admission.Wait, Because: n.Because, Message: n.Message,
	}
	if gated {
		d.ClosedGates = w.ClosedGates
	}
	l.waits = append(l.waits, wait{rank: place.Rank(), decision: d})
}

// tell tells a contender that holds up its lane why, unless it knows the reason.
func (c *contender) tell(n admission.Notice) {
	if c.told.Because != n.Because {
		c.told = n
		c.lane.tell(c.place, n, false)
	}
}
