package admission

import (
	"cmp"
	"iter"
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
// number of kinds, and a little on that of workloads.
func (s *Snapshot) Census() Census {
	c := census{snapshot: s, queues: map[string]*queueCensus{}, locals: map[Key]*LocalCensus{}}
	for name, d := range s.desks {
		if d.line == nil {
			continue
		}
		d.line.EachKind(func(members iter.Seq[*Place], n int, parked bool) {
			q := c.queue(name)
			q.kind(parked)
			var one *Workload
			for m := range members {
				one = &m.Value.Workload
				c.local(one, !parked)
			}
			q.ask(one, n)
		})
	}
	c.countDelayed()
	return c.sorted()
}

// countDelayed adds those who wait for the clock.
func (c *census) countDelayed() {
	type kind struct{ queue, kind string }
	seen := map[kind]bool{}
	for _, e := range c.snapshot.delayed.All() {
		q := c.queue(e.Queue)
		if k := (kind{e.Queue, e.kind}); !seen[k] {
			seen[k] = true
			q.kind(true)
		}
		q.ask(&e.Workload, 1)
		c.local(&e.Workload, false)
	}
}

type census struct {
	snapshot *Snapshot
	queues   map[string]*queueCensus
	locals   map[Key]*LocalCensus
	// last is the LocalQueue that was counted last: neighbours often share theirs.
	last *LocalCensus
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

func (c *census) local(w *Workload, active bool) {
	if c.last == nil || c.last.Local.Name != w.LocalQueue || c.last.Local.Namespace != w.Namespace {
		key := w.localKey()
		if c.last = c.locals[key]; c.last == nil {
			c.last = &LocalCensus{Local: key}
			c.locals[key] = c.last
		}
	}
	if active {
		c.last.Active++
	} else {
		c.last.Inadmissible++
	}
}

func (q *queueCensus) kind(aside bool) {
	if aside {
		q.InadmissibleKinds++
	} else {
		q.ActiveKinds++
	}
}

// ask adds what so many workloads like this one ask for.
func (q *queueCensus) ask(w *Workload, times int) {
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
