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
	// Active and Inadmissible are how many wait: see QueueStatus.
	Active, Inadmissible int
	// ActiveKinds and InadmissibleKinds count workloads that differ in what they ask for or, in a queue that takes turns by
	// recent usage, in their LocalQueue.
	ActiveKinds, InadmissibleKinds int
	// Pending is what all of them ask for, whatever the flavor.
	Pending amount.Vector
}

// LocalCensus counts those who wait in a LocalQueue: see QueueStatus.
type LocalCensus struct {
	Local                Key
	Active, Inadmissible int
}

// Census counts everybody who waits: it is for a scrape now and then, not for every event. What it costs depends on the
// number of kinds, not on that of workloads. Those who came through a LocalQueue that closed tells of are left out.
func (s *Snapshot) Census(closed func(local Key) bool) Census {
	c := census{snapshot: s, closed: closed, queues: map[string]*queueCensus{}, locals: map[*localDesk]*LocalCensus{}}
	for name, d := range s.desks {
		if d.line != nil {
			d.line.EachClass(func(k kindCount) { c.count(name, k) })
		}
	}
	c.countDelayed()
	return c.sorted()
}

func (c *census) count(queue string, k kindCount) {
	all := 0
	for door, n := range k.Origins {
		if local := door.(*localDesk); !c.closed(local.key) {
			c.local(local, n, !k.Inadmissible)
			all += n
		}
	}
	if all == 0 {
		return
	}
	q := c.queue(queue)
	q.kind(k.Inadmissible)
	q.add(&k.First.Value.Workload, all, !k.Inadmissible)
}

// countDelayed adds those who wait for the clock.
func (c *census) countDelayed() {
	type kind struct{ queue, kind string }
	seen := map[kind]bool{}
	for _, e := range c.snapshot.delayed.All() {
		if c.closed(e.local.key) {
			continue
		}
		q := c.queue(e.Queue)
		if k := (kind{e.Queue, e.kind}); !seen[k] {
			seen[k] = true
			q.kind(true)
		}
		q.add(&e.Workload, 1, false)
		c.local(e.local, 1, false)
	}
}

type census struct {
	snapshot *Snapshot
	closed   func(local Key) bool
	queues   map[string]*queueCensus
	locals   map[*localDesk]*LocalCensus
}

type queueCensus struct {
	QueueCensus
	pods    bool
	pending map[string]amount.Amount
}

func (c *census) queue(name string) *queueCensus {
	q, found := c.queues[name]
	if !found {
		q = &queueCensus{pods: c.snapshot.covers(name, amount.Pods), pending: map[string]amount.Amount{}}
		q.Queue = name
		c.queues[name] = q
	}
	return q
}

func (c *census) local(l *localDesk, n int, active bool) {
	if c.locals[l] == nil {
		c.locals[l] = &LocalCensus{Local: l.key}
	}
	if active {
		c.locals[l].Active += n
	} else {
		c.locals[l].Inadmissible += n
	}
}

func (q *queueCensus) kind(aside bool) {
	if aside {
		q.InadmissibleKinds++
	} else {
		q.ActiveKinds++
	}
}

// add counts so many workloads like this one, and what they ask for.
func (q *queueCensus) add(w *Workload, times int, active bool) {
	if active {
		q.Active += times
	} else {
		q.Inadmissible += times
	}
	for i := range w.PodSets {
		p := &w.PodSets[i]
		count := int64(max(p.Count, 0)) * int64(times)
		if q.pods {
			q.pending[amount.Pods] = q.pending[amount.Pods].Add(amount.Amount(count))
		}
		for _, r := range p.Requests {
			q.pending[r.Resource] = q.pending[r.Resource].Add(r.Amount.Times(count))
		}
	}
}

// covers reports whether some group of the queue has the resource.
func (s *Snapshot) covers(queue, resource string) bool {
	q := s.peek(queue).queue
	return q != nil && slices.ContainsFunc(q.Groups, func(g ResourceGroup) bool { return slices.Contains(g.Resources, resource) })
}

func (c *census) sorted() Census {
	out := Census{}
	for _, q := range c.queues {
		var requests []amount.Request
		for resource, a := range q.pending {
			requests = append(requests, amount.Request{Resource: resource, Amount: a})
		}
		q.Pending = amount.NewVector(requests...)
		out.Queues = append(out.Queues, q.QueueCensus)
	}
	for _, l := range c.locals {
		out.Locals = append(out.Locals, *l)
	}
	slices.SortFunc(out.Queues, func(a, b QueueCensus) int { return cmp.Compare(a.Queue, b.Queue) })
	slices.SortFunc(out.Locals, func(a, b LocalCensus) int { return a.Local.Compare(b.Local) })
	return out
}
