package admission

import "maps"

// Claim says that the head that blocks the queue waits for quota that no later workload in the order may take: each cycle on
// the cohort tree has to look at it, too. It holds until the head leaves, or until the next such cycle. Package cycle calls
// it; a head whose claim ends for another reason than its admission requeues the workloads that lacked the usage.
func (s *Snapshot) Claim(queue string, u Usage) {
	if line := s.lookupPendingQueue(queue); line != nil && line.BlockingHead() != nil {
		s.claims[queue] = claim{head: line.BlockingHead(), usage: u}
	}
}

// claim is a workload's right to quota that others still hold, or of which there is not enough yet.
type claim struct {
	head  *QueueMember
	usage Usage
}

// BookUsage counts the usage as taken, although no workload holds it, for the rest of a cycle: Unbook must follow.
func (s *Snapshot) BookUsage(queue string, u Usage) { s.quota.Reserve(queue, u) }

// UnbookUsage undoes BookUsage and requeues nothing.
func (s *Snapshot) UnbookUsage(queue string, u Usage) { s.quota.Release(queue, u) }

// MarkForRecheck says that some of the queue's line wait with Want.Claimed, Want.Unconfirmed or Want.Ready.
func (s *Snapshot) MarkForRecheck(queue string) {
	if d, found := s.queueStates[queue]; found && d.pendingQueue != nil {
		s.recheckQueues[queue] = d
	}
}

// dropClaim drops the claim of a workload that leaves its line. What it was kept for it others may have now.
func (s *Snapshot) dropClaim(e *PendingWorkload) {
	if c, found := s.claims[e.Queue]; found && c.head == e.member {
		delete(s.claims, e.Queue)
		s.recordFreed(e.Queue, c.usage)
	}
}

// requeueClaims makes heads with claims, and heads that were passed by for them, take part in a cycle on their trees.
func (s *Snapshot) requeueClaims() {
	if len(s.claims) == 0 {
		return
	}
	roots := map[string]bool{}
	for _, d := range s.cycleQueues {
		if d.pendingQueue != nil && d.pendingQueue.Head() != nil {
			roots[s.Root(d.name)] = true
		}
	}
	for queue := range s.claims {
		if roots[s.Root(queue)] {
			delete(s.claims, queue)
			d := s.ensureQueueState(queue)
			d.pendingQueue.Unblock()
			s.includeInNextCycle(d)
		}
	}
	for queue, d := range s.recheckQueues {
		if roots[s.Root(queue)] && d.pendingQueue.RequeueIf(func(w RequeueCondition) bool { return w.QuotaClaimed }) {
			s.includeInNextCycle(d)
		}
	}
}

// requeueWhenAllReady requeues those that wait for pods to be ready, once all are.
func (s *Snapshot) requeueWhenAllReady() {
	if s.unreadyCount > 0 {
		return
	}
	for _, d := range s.recheckQueues {
		if d.pendingQueue.RequeueIf(func(w RequeueCondition) bool { return w.PodsReady }) {
			s.includeInNextCycle(d)
		}
	}
}

// Root names the queue's cohort tree: by its first queue, or by the queue itself if it is unknown to the quota tree.
func (s *Snapshot) Root(queue string) string {
	if family := s.quota.QueuesInTree(queue); len(family) > 0 {
		return family[0]
	}
	return queue
}

// UnreadyCount returns the number of workloads that are admitted, or assumed to be, and whose pods are not ready (contract:
// kueue-api.md 4.15). A workload whose checks are pending is not admitted.
func (s *Snapshot) UnreadyCount() int { return s.unreadyCount }

func (r *Reservation) isUnready() bool { return r.Assumed || r.Admitted && !r.PodsReady }

// updateHolderCounts keeps the numbers of those whose pods are not ready and of those assumed; by is 1 when r comes and -1 when it
// goes.
func (s *Snapshot) updateHolderCounts(r *Reservation, by int) {
	if r.isUnready() {
		s.unreadyCount += by
	}
	if r.Assumed {
		s.assumedCount += by
	}
}

// HasUnconfirmed reports whether the admission of some workload is still being written, so that it cannot be evicted yet.
func (s *Snapshot) HasUnconfirmed() bool { return s.assumedCount > 0 }

// recordConfirmed notes that a workload can be evicted from now on.
func (s *Snapshot) recordConfirmed(was, is *quotaHolder) {
	if was.Assumed && !is.Assumed {
		ensureFreed(s.confirmedByQueue, is.Queue).add(is.Usage)
	}
}

// requeueForConfirmed requeues the workloads that may evict one whose admission has been written since the last cycle.
func (s *Snapshot) requeueForConfirmed() {
	if len(s.confirmedByQueue) == 0 {
		return
	}
	byRoot := map[string]*freedQuota{}
	for queue, r := range s.confirmedByQueue {
		ensureFreed(byRoot, s.Root(queue)).merge(r)
	}
	clear(s.confirmedByQueue)
	for queue, d := range s.recheckQueues {
		r, found := byRoot[s.Root(queue)]
		if found && d.pendingQueue.RequeueIf(func(w RequeueCondition) bool { return w.UnconfirmedVictim && (w.AnyFreed || w.hasShortfallIn(r)) }) {
			s.includeInNextCycle(d)
		}
	}
}

// pruneRecheckQueues drops the queues without pending workloads.
func (s *Snapshot) pruneRecheckQueues() {
	maps.DeleteFunc(s.recheckQueues, func(_ string, d *queueState) bool {
		return d.pendingQueue.PendingInadmissible() == 0 && d.pendingQueue.BlockingHead() == nil
	})
}
