package sim

import (
	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/placement"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

// RankFunc is placement.Rank, or a mutant of it.
type RankFunc func(placement.Request, []placement.Cluster) []placement.Choice

// report lets the hub see what a worker has room for; what the hub knows is as old as the last report.
func (w *World) report(c *worker) {
	r := w.program.remote[c.name]
	if free := c.free(); c.up && r.link.State == dispatch.Connected && (!r.reported || r.free != free) {
		r.free, r.reported = free, true
		w.changed()
	}
}

// capacity is a worker's report in the words of placement.
func (c *worker) capacity(free int64) *placement.Capacity {
	one := func(n int64) []amount.Amount { return []amount.Amount{amount.Amount(n)} }
	return &placement.Capacity{
		Flavors: []admission.Flavor{{Name: flavor}},
		Locals:  []placement.LocalQueue{{Key: key(queueName), Queue: queueName}},
		Queues: []placement.Queue{{Name: queueName, Groups: []placement.Group{{
			Resources: []string{resource},
			Flavors:   []placement.Room{{Flavor: flavor, Own: one(free), Free: one(free), Largest: one(c.gpu)}},
		}}}},
	}
}

// rank says how well a Workload fits the workers, by what they have reported.
func (w *World) rank(item workload) map[string]placement.Choice {
	var fleet []placement.Cluster
	for _, c := range w.workers {
		cluster := placement.Cluster{Name: c.name, Weight: placement.DefaultWeight, Cordoned: w.hub.cordoned[c.name] || w.hub.draining[c.name]}
		if !c.up {
			cluster.Degraded = overdue
		}
		if r := w.program.remote[c.name]; r.reported {
			cluster.Capacity = c.capacity(r.free)
		}
		fleet = append(fleet, cluster)
	}
	request := placement.Request{
		Namespace: key(queueName).Namespace, LocalQueue: queueName, Priority: int32(item.priority), //nolint:gosec // small by construction
		PodSets: []admission.PodSet{podSet(item.gpu)},
	}
	choices := map[string]placement.Choice{}
	for _, choice := range w.parts.Rank(request, fleet) {
		choices[choice.Cluster] = choice
	}
	return choices
}

// fit turns a Choice into what Step is told.
func fit(v *dispatch.ClusterView, choice placement.Choice) {
	v.Fit.Score, v.Preempting = choice.Score, choice.Preempting()
	if !choice.Eligible {
		v.Fit.Reason, v.Fit.Message = dispatch.Reason(choice.Reason), choice.Message
	}
}
