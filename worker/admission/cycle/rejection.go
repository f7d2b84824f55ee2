package cycle

import (
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/order"
)

// markInadmissible parks the head with its kind or, where order must be kept, lets it block the lane.
func (r *run) markInadmissible(l *clusterQueueState, head *admission.Place, why rejection) {
	r.markForRecheck(l, why.requeueCondition)
	if r.blocksQueue(l, &head.Value.Workload) {
		l.BlockOnHead(why.requeueCondition)
		l.addWait(head, why.Notice, why.requeueCondition.Gated)
		return
	}
	for _, place := range l.MarkInadmissible(why.Notice, order.Inadmissible[admission.Want]{Until: why.requeueCondition, RankSensitive: why.rankSensitive}) {
		l.addWait(place, why.Notice, why.requeueCondition.Gated)
	}
}

// markForRecheck notes that somebody in the lane waits for more than quota that is given back.
func (r *run) markForRecheck(l *clusterQueueState, want admission.Want) {
	if want.Claimed || want.Unconfirmed {
		r.snapshot.PassedBy(l.Name())
	}
}

// blocksQueue reports whether the workload, which cannot be admitted, holds up those behind it (contract: kueue-api.md 4.2).
// In a queue that is closed there is nothing to hold up: everybody is to be told.
func (r *run) blocksQueue(l *clusterQueueState, w *admission.Workload) bool {
	queue, found := r.snapshot.Queue(l.Name())
	if !found || queue.Strategy != admission.StrictFIFO || r.snapshot.Closed(l.Name()) != nil {
		return false
	}
	return w.Blocked == nil || !w.Blocked.StepsAside
}

// reportNotifications tells those who joined a kind that was parked already what the kind was told.
func (r *run) reportNotifications(l *clusterQueueState) {
	for _, told := range l.TakeNotifications() {
		for _, place := range told.Members {
			l.addWait(place, told.WaitReason, told.Until.Gated)
		}
	}
}

func (l *clusterQueueState) addWait(place *admission.Place, n admission.Notice, gated bool) {
	w := place.Value
	d := admission.Decision{
		Workload: w.Key, LocalQueue: w.LocalQueue, Queue: w.Queue,
		Verdict: admission.Wait, Because: n.Reason, Message: n.Message,
	}
	if gated {
		d.ClosedGates = w.ClosedGates
	}
	l.waitDecisions = append(l.waitDecisions, waitDecision{rank: place.Rank(), decision: d})
}

// reportReason tells a contender that holds up its lane why, unless it knows the reason.
func (c *nominatedHead) reportReason(n admission.Notice) {
	if c.lastReported.Reason != n.Reason {
		c.lastReported = n
		c.queue.addWait(c.member, n, false)
	}
}
