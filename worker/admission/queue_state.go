package admission

import (
	"cmp"
	"slices"

	"switchyard.dev/worker/admission/order"
)

// queueIndex has the state of each ClusterQueue and LocalQueue, and knows which ClusterQueues the next cycle looks at.
type queueIndex struct {
	queueStates      map[string]*queueState
	localQueueStates map[Key]*localQueueState
	// cycleQueues has the state of every queue that has a head or notifications, and possibly others.
	cycleQueues []*queueState
	// cycleQueuesSorted is whether cycleQueues is sorted by name.
	cycleQueuesSorted bool
}

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

// ensurePendingQueue returns the pending queue of the state, creating one if there is none.
func (d *queueState) ensurePendingQueue() *PendingQueue {
	if d.pendingQueue == nil {
		d.pendingQueue = order.NewQueue[*PendingWorkload, RequeueCondition](d.name)
	}
	return d.pendingQueue
}

// ensureQueueState finds the state of a queue or creates it.
func (x *queueIndex) ensureQueueState(queue string) *queueState {
	d, found := x.queueStates[queue]
	if !found {
		d = &queueState{name: queue}
		x.queueStates[queue] = d
	}
	return d
}

// lookupQueueState returns the state of a queue without creating it: an empty one if there is none.
func (x *queueIndex) lookupQueueState(queue string) *queueState {
	if d, found := x.queueStates[queue]; found {
		return d
	}
	return &queueState{name: queue}
}

// lookupPendingQueue returns the pending queue of a ClusterQueue, nil if there is none.
func (x *queueIndex) lookupPendingQueue(queue string) *PendingQueue {
	if d, found := x.queueStates[queue]; found {
		return d.pendingQueue
	}
	return nil
}

// includeInNextCycle has the next cycle look at the queue.
func (x *queueIndex) includeInNextCycle(d *queueState) {
	if !d.inNextCycle {
		d.inNextCycle = true
		x.cycleQueues, x.cycleQueuesSorted = append(x.cycleQueues, d), false
	}
}

// queuesForCycle returns the lines that have a head or news, by name, and forgets the others.
func (x *queueIndex) queuesForCycle() []*PendingQueue {
	x.cycleQueues = slices.DeleteFunc(x.cycleQueues, func(d *queueState) bool {
		d.inNextCycle = d.pendingQueue != nil && (d.pendingQueue.Head() != nil || d.pendingQueue.HasNotifications())
		return !d.inNextCycle
	})
	if !x.cycleQueuesSorted {
		slices.SortFunc(x.cycleQueues, func(a, b *queueState) int { return cmp.Compare(a.name, b.name) })
		x.cycleQueuesSorted = true
	}
	queues := make([]*PendingQueue, len(x.cycleQueues))
	for i, d := range x.cycleQueues {
		queues[i] = d.pendingQueue
	}
	return queues
}
