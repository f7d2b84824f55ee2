package admission

import "maps"

// claim is a workload's right to quota that others still hold, or of which there is not enough yet.
type claim struct {
	head  *QueueMember
	usage Usage
}

// BookUsage counts the usage as taken, although no workload holds it, for the rest of a cycle: Unbook must follow.
func (s *Snapshot) BookUsage(queue string, u Usage) { s.quota.Reserve(queue, u) }

// UnbookUsage undoes BookUsage and requeues nothing.
func (s *Snapshot) UnbookUsage(queue string, u Usage) { s.quota.Release(queue, u) }

func (r *Reservation) isUnready() bool { return r.Assumed || r.Admitted && !r.PodsReady }

// Claim says that the head that blocks the queue waits for quota that no later workload in the order may take: each cycle on
// the cohort tree has to look at it, too. It holds until the head leaves, or until the next such cycle. Package cycle calls
// it; a head whose claim ends for another reason than its admission requeues the workloads that lacked the usage.
func (q *requeuer) Claim(queue string, u Usage) {
	if line := q.queues.lookupPendingQueue(queue); line != nil && line.BlockingHead() != nil {
		q.claims[queue] = claim{head: line.BlockingHead(), usage: u}
	}
}

// MarkForRecheck says that a pending workload of the queue has a requeue condition with QuotaClaimed, UnconfirmedVictim or PodsReady.
func (q *requeuer) MarkForRecheck(queue string) {
	if d, found := q.queues.queueStates[queue]; found && d.pendingQueue != nil {
		q.recheckQueues[queue] = d
	}
}

// dropClaim drops the claim of a workload that leaves its queue. Others may have what was kept for it now.
func (q *requeuer) dropClaim(e *PendingWorkload) {
	if c, found := q.claims[e.Queue]; found && c.head == e.member {
		delete(q.claims, e.Queue)
		q.recordFreed(e.Queue, c.usage)
	}
}

// requeueClaims makes heads with claims, and heads that were passed by for them, take part in a cycle on their trees.
func (q *requeuer) requeueClaims() {
	if len(q.claims) == 0 {
		return
	}
	roots := map[string]bool{}
	for _, d := range q.queues.cycleQueues {
		if d.pendingQueue != nil && d.pendingQueue.Head() != nil {
			roots[q.Root(d.name)] = true
		}
	}
	for queue := range q.claims {
		if roots[q.Root(queue)] {
			delete(q.claims, queue)
			d := q.queues.ensureQueueState(queue)
			d.pendingQueue.Unblock()
			q.queues.includeInNextCycle(d)
		}
	}
	for queue, d := range q.recheckQueues {
		if roots[q.Root(queue)] && d.pendingQueue.RequeueIf(func(w RequeueCondition) bool { return w.QuotaClaimed }) {
			q.queues.includeInNextCycle(d)
		}
	}
}

// requeueWhenAllReady requeues the workloads that wait for pods to be ready, once all are.
func (q *requeuer) requeueWhenAllReady() {
	if q.unreadyCount > 0 {
		return
	}
	for _, d := range q.recheckQueues {
		if d.pendingQueue.RequeueIf(func(w RequeueCondition) bool { return w.PodsReady }) {
			q.queues.includeInNextCycle(d)
		}
	}
}

// Root names the queue's cohort tree: by its first queue, or by the queue itself if it is unknown to the quota tree.
func (q *requeuer) Root(queue string) string {
	if family := q.quota.QueuesInTree(queue); len(family) > 0 {
		return family[0]
	}
	return queue
}

// UnreadyCount returns the number of workloads that are admitted, or assumed to be, and whose pods are not ready (contract:
// kueue-api.md 4.15). A workload whose checks are pending is not admitted.
func (q *requeuer) UnreadyCount() int { return q.unreadyCount }

// updateHolderCounts keeps unreadyCount and assumedCount; by is 1 when r comes and -1 when it
// goes.
func (q *requeuer) updateHolderCounts(r *Reservation, by int) {
	if r.isUnready() {
		q.unreadyCount += by
	}
	if r.Assumed {
		q.assumedCount += by
	}
}

// HasUnconfirmed reports whether the admission of some workload is still being written, so that it cannot be evicted yet.
func (q *requeuer) HasUnconfirmed() bool { return q.assumedCount > 0 }

// recordConfirmed notes that a workload can be evicted from now on.
func (q *requeuer) recordConfirmed(was, is *quotaHolder) {
	if was.Assumed && !is.Assumed {
		ensureFreed(q.confirmedByQueue, is.Queue).add(is.Usage)
	}
}

// requeueForConfirmed requeues the workloads that may evict one whose admission has been written since the last cycle.
func (q *requeuer) requeueForConfirmed() {
	if len(q.confirmedByQueue) == 0 {
		return
	}
	byRoot := map[string]*freedQuota{}
	for queue, r := range q.confirmedByQueue {
		ensureFreed(byRoot, q.Root(queue)).merge(r)
	}
	clear(q.confirmedByQueue)
	for queue, d := range q.recheckQueues {
		r, found := byRoot[q.Root(queue)]
		if found && d.pendingQueue.RequeueIf(func(w RequeueCondition) bool { return w.UnconfirmedVictim && (w.AnyFreed || w.hasShortfallIn(r)) }) {
			q.queues.includeInNextCycle(d)
		}
	}
}

// pruneRecheckQueues drops the queues without pending workloads.
func (q *requeuer) pruneRecheckQueues() {
	maps.DeleteFunc(q.recheckQueues, func(_ string, d *queueState) bool {
		return d.pendingQueue.PendingInadmissible() == 0 && d.pendingQueue.BlockingHead() == nil
	})
}
