package admission

import "switchyard.dev/worker/admission/amount"

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

// usageOrdering knows the recent usage of LocalQueues, by which some ClusterQueues order their pending workloads.
type usageOrdering struct {
	queues *queueIndex
	// localUsage is the recent usage of the LocalQueues that have any.
	localUsage map[Key]amount.Amount
	// usageBasedQueues finds the queue that a LocalQueue's workloads joined last, if its queue is ordered by usage.
	usageBasedQueues map[Key]*queueState
}

// SetLocalUsage sets how much a LocalQueue used of late, in thousandths of a weighted unit; amount.Unlimited for infinitely
// much. In a queue with UsageBased it orders the pending workloads: the lower, the earlier, before priority (contract:
// kueue-api.md 4.14). A LocalQueue without a value used nothing.
func (o *usageOrdering) SetLocalUsage(local Key, usage amount.Amount) {
	if o.localUsage[local] == usage {
		return
	}
	if usage == 0 {
		delete(o.localUsage, local)
	} else {
		o.localUsage[local] = usage
	}
	if d, found := o.usageBasedQueues[local]; found && d.pendingQueue != nil {
		d.pendingQueue.SetGroupWeight(local.String(), int64(usage))
		o.queues.includeInNextCycle(d)
	}
}

// RecentUsage returns what SetLocalUsage said last.
func (o *usageOrdering) RecentUsage(local Key) amount.Amount { return o.localUsage[local] }

// usageGroup returns the group in which the workload waits: that of its LocalQueue if the queue is ordered by usage.
func (o *usageOrdering) usageGroup(e *PendingWorkload) string {
	if !e.queueState.isUsageBased() {
		return ""
	}
	o.usageBasedQueues[e.localQueueKey()] = e.queueState
	return e.localQueueKey().String()
}

// setGroupWeight gives the group of a workload that joined its weight.
func (o *usageOrdering) setGroupWeight(e *PendingWorkload) {
	if len(o.localUsage) == 0 {
		return
	}
	if usage, found := o.localUsage[e.localQueueKey()]; found && o.usageBasedQueues[e.localQueueKey()] == e.queueState {
		e.queueState.pendingQueue.SetGroupWeight(e.localQueueKey().String(), int64(usage))
	}
}

// usageOrder returns what the workload's queue orders by before anything else.
func (o *usageOrdering) usageOrder(w *Workload) amount.Amount {
	if o.queues.lookupQueueState(w.Queue).isUsageBased() {
		return o.localUsage[w.localQueueKey()]
	}
	return 0
}
