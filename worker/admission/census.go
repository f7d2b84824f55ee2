package admission

import (
	"cmp"
	"slices"

	"switchyard.dev/worker/admission/amount"
)

// Census counts those who wait, as metrics report them.
type Census struct {
	// Queues are the ClusterQueues that somebody waits in, by name.
	Queues []QueueCensus
	// Locals are the LocalQueues that somebody waits in, by key.
	Locals []LocalCensus
}

// QueueCensus counts those who wait in a ClusterQueue.
type QueueCensus struct {
	Queue string
	// ActiveKinds and InadmissibleKinds count workloads that differ in what they ask for.
	ActiveKinds, InadmissibleKinds int
	// Pending is what all of them ask for, whatever the flavor.
	Pending amount.Vector
}

// LocalCensus counts those who wait in a LocalQueue: see QueueStatus.
type LocalCensus struct {
	Local                Key
	Active, Inadmissible int
}

// Census looks at everybody who waits: it is for a scrape now and then, not for every event.
func (s *Snapshot) Census() Census {
	c := census{queues: map[string]*queueCensus{}, locals: map[Key]*LocalCensus{}}
	for _, e := range s.waiting {
		c.count(e, e.place != nil && !e.place.Parked())
	}
	return c.sorted(func(queue string) bool { return s.covers(queue, amount.Pods) })
}

// covers reports whether some group of the queue has the resource.
func (s *Snapshot) covers(queue, resource string) bool {
	q, found := s.queues[queue]
	return found && slices.ContainsFunc(q.Groups, func(g ResourceGroup) bool { return slices.Contains(g.Resources, resource) })
}

type census struct {
	queues map[string]*queueCensus
	locals map[Key]*LocalCensus
}

type queueCensus struct {
	// kinds says of each kind whether some of it is active, and whether some is not.
	kinds   map[string]activity
	pending map[string]amount.Amount
}

type activity struct{ active, inadmissible bool }

func (c *census) count(e *entry, active bool) {
	local, found := c.locals[e.localKey()]
	if !found {
		local = &LocalCensus{Local: e.localKey()}
		c.locals[e.localKey()] = local
	}
	if active {
		local.Active++
	} else {
		local.Inadmissible++
	}
	q, found := c.queues[e.Queue]
	if !found {
		q = &queueCensus{kinds: map[string]activity{}, pending: map[string]amount.Amount{}}
		c.queues[e.Queue] = q
	}
	kind := q.kinds[e.kind]
	q.kinds[e.kind] = activity{kind.active || active, kind.inadmissible || !active}
	for i := range e.PodSets {
		q.add(&e.PodSets[i])
	}
}

func (q *queueCensus) add(p *PodSet) {
	q.pending[amount.Pods] = q.pending[amount.Pods].Add(amount.Amount(p.Count))
	for _, r := range p.Requests {
		q.pending[r.Resource] = q.pending[r.Resource].Add(r.Amount.Times(int64(max(p.Count, 0))))
	}
}

func (c *census) sorted(countsPods func(queue string) bool) Census {
	out := Census{}
	for name, q := range c.queues {
		out.Queues = append(out.Queues, q.result(name, countsPods(name)))
	}
	for _, l := range c.locals {
		out.Locals = append(out.Locals, *l)
	}
	slices.SortFunc(out.Queues, func(a, b QueueCensus) int { return cmp.Compare(a.Queue, b.Queue) })
	slices.SortFunc(out.Locals, func(a, b LocalCensus) int { return a.Local.Compare(b.Local) })
	return out
}

func (q *queueCensus) result(name string, countsPods bool) QueueCensus {
	out := QueueCensus{Queue: name}
	for _, kind := range q.kinds {
		if kind.active {
			out.ActiveKinds++
		}
		if kind.inadmissible {
			out.InadmissibleKinds++
		}
	}
	var requests []amount.Request
	for resource, a := range q.pending {
		if resource != amount.Pods || countsPods {
			requests = append(requests, amount.Request{Resource: resource, Amount: a})
		}
	}
	out.Pending = amount.NewVector(requests...)
	return out
}
