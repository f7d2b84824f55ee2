package cycle

import (
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/order"
)

// markInadmissible marks the head inadmissible with its class or, where order must be kept, lets it block the queue.
func (r *run) markInadmissible(l *clusterQueueState, head *admission.QueueMember, why rejection) {
	r.markForRecheck(l, why.requeueCondition)
	if r.blocksQueue(l, &head.Value.Workload) {
		l.BlockOnHead(why.requeueCondition)
		l.addWait(head, why.WaitReason, why.requeueCondition.PreemptionGated)
		return
	}
	for _, place := range l.MarkInadmissible(why.WaitReason, order.Inadmissible[admission.RequeueCondition]{Until: why.requeueCondition, RankSensitive: why.rankSensitive}) {
		l.addWait(place, why.WaitReason, why.requeueCondition.PreemptionGated)
	}
}

// markForRecheck records that a workload in the queue waits for more than quota that is given back.
func (r *run) markForRecheck(l *clusterQueueState, want admission.RequeueCondition) {
	if want.QuotaClaimed || want.UnconfirmedVictim {
		r.snapshot.MarkForRecheck(l.Name())
	}
}

// blocksQueue reports whether the workload, which cannot be admitted, holds up those behind it (contract: kueue-api.md 4.2).
// A closed queue holds up nothing: each of its workloads gets the reason.
func (r *run) blocksQueue(l *clusterQueueState, w *admission.Workload) bool {
	queue, found := r.snapshot.ClusterQueue(l.Name())
	if !found || queue.Strategy != admission.StrictFIFO || r.snapshot.QueueBlock(l.Name()) != nil {
		return false
	}
	return w.Blocked == nil || !w.Blocked.LetsOthersPass
}

// reportNotifications gives workloads that joined a class which was inadmissible already the class's reason.
func (r *run) reportNotifications(l *clusterQueueState) {
	for _, told := range l.TakeNotifications() {
		for _, place := range told.Members {
			l.addWait(place, told.WaitReason, told.Until.PreemptionGated)
		}
	}
}

// addWait records a decision to wait. Gated says that closed preemption gates are among the reasons.
func (l *clusterQueueState) addWait(place *admission.QueueMember, n admission.WaitReason, gated bool) {
	w := place.Value
	d := admission.Decision{
		Workload: w.Key, LocalQueue: w.LocalQueue, Queue: w.Queue,
		Outcome: admission.Wait, Reason: n.Reason, Message: n.Message,
	}
	if gated {
		d.ClosedPreemptionGates = w.ClosedGates
	}
	l.waitDecisions = append(l.waitDecisions, waitDecision{rank: place.Rank(), decision: d})
}

// reportReason tells a head that blocks its queue why, unless it knows the reason.
func (c *nominatedHead) reportReason(n admission.WaitReason) {
	if c.lastReported.Reason != n.Reason {
		c.lastReported = n
		c.queue.addWait(c.member, n, false)
	}
}
