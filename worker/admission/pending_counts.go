package admission

import (
	"cmp"
	"slices"

	"switchyard.dev/worker/admission/amount"
)

// PendingCounts counts the pending workloads, as metrics report them.
type PendingCounts struct {
	// Queues are the ClusterQueues with pending workloads, by name.
	Queues []QueuePendingCounts
	// LocalQueues are the LocalQueues with pending workloads, by key.
	LocalQueues []LocalQueuePendingCounts
}

// QueuePendingCounts counts the pending workloads of a ClusterQueue.
type QueuePendingCounts struct {
	Queue string
	// Active and Inadmissible are how many wait: see QueueStatus.
	Active, Inadmissible int
	// ActiveClasses and InadmissibleKinds count workloads that differ in what they ask for or, in a queue that takes turns by
	// recent usage, in their LocalQueue.
	ActiveClasses, InadmissibleClasses int
	// Pending is what all of them ask for, whatever the flavor.
	Pending amount.Vector
}

// LocalQueuePendingCounts counts the pending workloads of a LocalQueue: see QueueStatus.
type LocalQueuePendingCounts struct {
	LocalQueue           Key
	Active, Inadmissible int
}

// countClass adds the members of a class, except those of closed LocalQueues.
func (c *pendingCounter) countClass(queue string, k classCount) {
	all := 0
	for origin, n := range k.Origins {
		if local := origin.(*localQueueState); !c.isClosed(local.key) {
			c.countLocalQueue(local, n, !k.Inadmissible)
			all += n
		}
	}
	if all == 0 {
		return
	}
	q := c.ensureQueue(queue)
	q.countClass(k.Inadmissible)
	q.addWorkloads(&k.First.Value.Workload, all, !k.Inadmissible)
}

// countDelayed adds the workloads in a backoff.
func (c *pendingCounter) countDelayed() {
	type kind struct{ queue, kind string }
	seen := map[kind]bool{}
	for _, e := range c.status.backingOff.All() {
		if c.isClosed(e.localQueueState.key) {
			continue
		}
		q := c.ensureQueue(e.Queue)
		if k := (kind{e.Queue, e.classKey}); !seen[k] {
			seen[k] = true
			q.countClass(true)
		}
		q.addWorkloads(&e.Workload, 1, false)
		c.countLocalQueue(e.localQueueState, 1, false)
	}
}

type pendingCounter struct {
	status      *Status
	isClosed    func(local Key) bool
	queues      map[string]*queuePendingCounter
	localQueues map[*localQueueState]*LocalQueuePendingCounts
}

type queuePendingCounter struct {
	QueuePendingCounts
	coversPods bool
	pending    map[string]amount.Amount
}

func (c *pendingCounter) ensureQueue(name string) *queuePendingCounter {
	q, found := c.queues[name]
	if !found {
		q = &queuePendingCounter{coversPods: c.status.coversResource(name, amount.Pods), pending: map[string]amount.Amount{}}
		q.Queue = name
		c.queues[name] = q
	}
	return q
}

// countLocalQueue adds n workloads to a LocalQueue.
func (c *pendingCounter) countLocalQueue(l *localQueueState, n int, active bool) {
	if c.localQueues[l] == nil {
		c.localQueues[l] = &LocalQueuePendingCounts{LocalQueue: l.key}
	}
	if active {
		c.localQueues[l].Active += n
	} else {
		c.localQueues[l].Inadmissible += n
	}
}

func (q *queuePendingCounter) countClass(inadmissible bool) {
	if inadmissible {
		q.InadmissibleClasses++
	} else {
		q.ActiveClasses++
	}
}

// addWorkloads counts so many workloads like this one, and what they ask for.
func (q *queuePendingCounter) addWorkloads(w *Workload, times int, active bool) {
	if active {
		q.Active += times
	} else {
		q.Inadmissible += times
	}
	for i := range w.PodSets {
		p := &w.PodSets[i]
		count := int64(max(p.Count, 0)) * int64(times)
		if q.coversPods {
			q.pending[amount.Pods] = q.pending[amount.Pods].Add(amount.Amount(count))
		}
		for _, r := range p.Requests {
			q.pending[r.Resource] = q.pending[r.Resource].Add(r.Amount.Times(count))
		}
	}
}

// sorted returns the counts, by name.
func (c *pendingCounter) sorted() PendingCounts {
	out := PendingCounts{}
	for _, q := range c.queues {
		var requests []amount.Request
		for resource, a := range q.pending {
			requests = append(requests, amount.Request{Resource: resource, Amount: a})
		}
		q.Pending = amount.NewVector(requests...)
		out.Queues = append(out.Queues, q.QueuePendingCounts)
	}
	for _, l := range c.localQueues {
		out.LocalQueues = append(out.LocalQueues, *l)
	}
	slices.SortFunc(out.Queues, func(a, b QueuePendingCounts) int { return cmp.Compare(a.Queue, b.Queue) })
	slices.SortFunc(out.LocalQueues, func(a, b LocalQueuePendingCounts) int { return a.LocalQueue.Compare(b.LocalQueue) })
	return out
}

// PendingCounts counts all pending workloads: it is for a scrape now and then, not for every event. What it costs depends on
// the number of classes, not on that of workloads. Workloads of a LocalQueue that closed reports are left out.
func (s *Status) PendingCounts(closed func(local Key) bool) PendingCounts {
	c := pendingCounter{status: s, isClosed: closed, queues: map[string]*queuePendingCounter{}, localQueues: map[*localQueueState]*LocalQueuePendingCounts{}}
	for name, d := range s.queues.queueStates {
		if d.pendingQueue != nil {
			d.pendingQueue.EachClass(func(k classCount) { c.countClass(name, k) })
		}
	}
	c.countDelayed()
	return c.sorted()
}

// coversResource reports whether some group of the queue has the resource.
func (s *Status) coversResource(queue, resource string) bool {
	q := s.queues.lookupQueueState(queue).clusterQueue
	return q != nil && slices.ContainsFunc(q.Groups, func(g ResourceGroup) bool { return slices.Contains(g.Resources, resource) })
}
