package admission

import (
	"cmp"
	"slices"

	"switchyard.dev/worker/admission/order"
)

// queueState is what the snapshot has under the name of a ClusterQueue, as long as there is anything: the queue, or workloads that
// wait in it or hold quota through it.
type queueState struct {
	name string
	// clusterQueue is nil as long as there is no such queue.
	clusterQueue *ClusterQueue
	// flavorTable is nil until it is first read.
	flavorTable *FlavorTable
	// pendingQueue is nil if the queue never had a pending workload.
	pendingQueue *PendingQueue
	counters     counters
	// inNextCycle is whether the queue is on the list of those.
	inNextCycle bool
}

// ensureQueueState finds the state of a queue or creates it.
func (s *Snapshot) ensureQueueState(queue string) *queueState {
	d, found := s.queueStates[queue]
	if !found {
		d = &queueState{name: queue}
		s.queueStates[queue] = d
	}
	return d
}

// lookupQueueState returns the state of a queue without creating it: an empty one if there is none.
func (s *Snapshot) lookupQueueState(queue string) *queueState {
	if d, found := s.queueStates[queue]; found {
		return d
	}
	return &queueState{name: queue}
}

// pruneQueueState removes a state that is not needed any more.
func (s *Snapshot) pruneQueueState(d *queueState) {
	if d.clusterQueue != nil || d.pendingQueue != nil && d.pendingQueue.Len() > 0 {
		return
	}
	d.pendingQueue = nil
	delete(s.recheckQueues, d.name)
	if d.counters.isEmpty() {
		delete(s.queueStates, d.name)
	}
}

// lookupPendingQueue returns the pending queue of a ClusterQueue, nil if there is none.
func (s *Snapshot) lookupPendingQueue(queue string) *PendingQueue {
	if d, found := s.queueStates[queue]; found {
		return d.pendingQueue
	}
	return nil
}

// ensurePendingQueue returns the pending queue of the state, creating one if there is none.
func (d *queueState) ensurePendingQueue() *PendingQueue {
	if d.pendingQueue == nil {
		d.pendingQueue = order.NewQueue[*PendingWorkload, RequeueCondition](d.name)
	}
	return d.pendingQueue
}

// includeInNextCycle has the next cycle look at the queue.
func (s *Snapshot) includeInNextCycle(d *queueState) {
	if !d.inNextCycle {
		d.inNextCycle = true
		s.cycleQueues, s.cycleQueuesSorted = append(s.cycleQueues, d), false
	}
}

// queuesForCycle returns the lines that have a head or news, by name, and forgets the others.
func (s *Snapshot) queuesForCycle() []*PendingQueue {
	s.cycleQueues = slices.DeleteFunc(s.cycleQueues, func(d *queueState) bool {
		d.inNextCycle = d.pendingQueue != nil && (d.pendingQueue.Head() != nil || d.pendingQueue.HasNotifications())
		return !d.inNextCycle
	})
	if !s.cycleQueuesSorted {
		slices.SortFunc(s.cycleQueues, func(a, b *queueState) int { return cmp.Compare(a.name, b.name) })
		s.cycleQueuesSorted = true
	}
	lines := make([]*PendingQueue, len(s.cycleQueues))
	for i, d := range s.cycleQueues {
		lines[i] = d.pendingQueue
	}
	return lines
}
