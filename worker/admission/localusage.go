package admission

import "switchyard.dev/worker/admission/amount"

// SetLocalUsage sets how much a LocalQueue used of late, in thousandths of a weighted unit; amount.Unlimited for infinitely
// much. In a queue with UsageBased it orders the pending workloads: the lower, the earlier, before priority (contract:
// kueue-api.md 4.14). A LocalQueue without a value used nothing.
func (s *Snapshot) SetLocalUsage(local Key, usage amount.Amount) {
	if s.localUsage[local] == usage {
		return
	}
	if usage == 0 {
		delete(s.localUsage, local)
	} else {
		s.localUsage[local] = usage
	}
	if d, found := s.usageBasedQueues[local]; found && d.pendingQueue != nil {
		d.pendingQueue.SetGroupWeight(local.String(), int64(usage))
		s.includeInNextCycle(d)
	}
}

// RecentUsage returns what SetLocalUsage said last.
func (s *Snapshot) RecentUsage(local Key) amount.Amount { return s.localUsage[local] }

// usageGroup returns the group in which the workload waits: that of its LocalQueue if the queue is ordered by usage.
func (s *Snapshot) usageGroup(e *PendingWorkload) string {
	if !e.queueState.isUsageBased() {
		return ""
	}
	s.usageBasedQueues[e.localQueueKey()] = e.queueState
	return e.localQueueKey().String()
}

// setGroupWeight gives the group of a workload that joined its weight.
func (s *Snapshot) setGroupWeight(e *PendingWorkload) {
	if len(s.localUsage) == 0 {
		return
	}
	if usage, found := s.localUsage[e.localQueueKey()]; found && s.usageBasedQueues[e.localQueueKey()] == e.queueState {
		e.queueState.pendingQueue.SetGroupWeight(e.localQueueKey().String(), int64(usage))
	}
}

// usageOrder returns what the workload's queue orders by before anything else.
func (s *Snapshot) usageOrder(w *Workload) amount.Amount {
	if s.lookupQueueState(w.Queue).isUsageBased() {
		return s.localUsage[w.localQueueKey()]
	}
	return 0
}

// regroupPending applies a change of the queue's ordering: all its pending workloads are pushed anew.
func (s *Snapshot) regroupPending(d *queueState, wasUsageBased bool) {
	if d.pendingQueue == nil || d.isUsageBased() == wasUsageBased {
		return
	}
	for _, place := range d.pendingQueue.All() {
		e := place.Value
		s.dropClaim(e)
		d.pendingQueue.Remove(place)
		delete(s.usageBasedQueues, e.localQueueKey())
		s.enqueue(e)
	}
}

func (d *queueState) isUsageBased() bool { return d.clusterQueue != nil && d.clusterQueue.UsageBased }
