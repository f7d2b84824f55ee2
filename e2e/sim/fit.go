package sim

import (
	"slices"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/placement"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

// RankFunc is placement.Rank, or a mutant of it.
type RankFunc func(placement.Request, []placement.Cluster) []placement.Choice

// room is what a worker says that it has room for.
type room struct {
	// free is what nobody has reserved, and squatted what a copy could have by evicting others.
	free, squatted int64
	// bare is set if the LocalQueue is missing, closed if it is on hold, tainted if only some pods may run there.
	bare, closed, tainted bool
}

func (c *worker) room() room {
	return room{free: c.free(), squatted: c.squatted, bare: c.bare, closed: c.onHold, tainted: c.tainted}
}

// report lets the hub see what a worker has room for; what the hub knows is as old as the last report. What has quota by then is
// part of it, and in flight no more.
func (w *World) report(c *worker) {
	r := w.program.remote[c.name]
	if !c.up || r.link.State != dispatch.Connected {
		return
	}
	for name, obj := range c.copies {
		if obj.ours && obj.quota {
			w.program.books.Set(c.name, key(name), nil)
		}
	}
	if now := c.room(); !r.reported || r.room != now {
		r.room, r.reported = now, true
		w.changed()
	}
}

// capacity is a worker's report in the words of placement.
func (c *worker) capacity(r room) *placement.Capacity {
	one := func(n int64) []amount.Amount { return []amount.Amount{amount.Amount(n)} }
	local := placement.LocalQueue{Key: key(queueName), Queue: queueName}
	if r.closed {
		local.Closed = "it is on hold"
	}
	has := placement.Room{Flavor: flavor, Own: one(r.free), Free: one(r.free), Largest: one(c.gpu)}
	if r.squatted > 0 {
		has.Preempting = []placement.Step{{Priority: 0, Free: one(r.free + r.squatted)}}
	}
	capacity := &placement.Capacity{
		Flavors: []admission.Flavor{flavorOf(r.tainted)},
		Queues:  []placement.Queue{{Name: queueName, Groups: []placement.Group{{Resources: []string{resource}, Flavors: []placement.Room{has}}}}},
	}
	if !r.bare {
		capacity.Locals = []placement.LocalQueue{local}
	}
	return capacity
}

// rank says how well a Workload fits the workers, by what they have reported and what is under way to them.
func (w *World) rank(item workload) map[string]placement.Choice {
	var fleet []placement.Cluster
	request := placement.Request{
		Namespace: key(queueName).Namespace, LocalQueue: queueName, Priority: int32(item.priority),
		PodSets: []admission.PodSet{podSet(item.gpu, item.tolerates)},
	}
	for _, c := range w.workers {
		r := w.program.remote[c.name]
		seen := copyFacts(item, r.watch.copies.get(item.name))
		cluster := placement.Cluster{
			Name: c.name, Weight: c.weight, Cordoned: w.hub.cordoned[c.name] || w.hub.draining[c.name],
			Offered:  seen.Holder == dispatch.Ours && seen.Epoch == item.state().Epoch,
			InFlight: w.program.books.InFlight(c.name, key(item.name)),
		}
		if !c.up {
			cluster.Degraded = overdue
		}
		if r.reported {
			cluster.Capacity = c.capacity(r.room)
		}
		if cluster.Offered && (seen.Refused || seen.Evicted) {
			request.Refused = append(request.Refused, placement.Refusal{Cluster: c.name, Because: seen.Waiting})
		}
		fleet = append(fleet, cluster)
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

// book enters what a turn is about to nominate.
func (w *World) book(t *turn) {
	for _, cluster := range t.plan.Next.Nominated {
		if choice, ranked := w.program.choices[t.item.name][cluster]; ranked {
			w.program.books.Set(cluster, key(t.item.name), choice.Claims)
		}
	}
}

// keepBooks takes out what is not under way any more.
func (w *World) keepBooks(item workload) {
	if w.program == nil {
		return
	}
	wanted := item.quota && item.finished == nil && !item.deleting
	for _, c := range w.workers {
		if !wanted || c.name != item.bound && !slices.Contains(item.nominated, c.name) {
			w.program.books.Set(c.name, key(item.name), nil)
		}
	}
}

// couldEver reports whether a worker could take a Workload if nobody else used it, by what it has reported.
func (w *World) couldEver(item workload, cluster string) bool {
	r, c := w.program.remote[cluster], w.worker(cluster)
	return !r.reported || !r.room.bare && !r.room.closed && (!r.room.tainted || item.tolerates) && c.gpu >= item.gpu
}

// hasRoom reports whether a worker has reported enough for a Workload, what is under way to it taken into account.
func (w *World) hasRoom(item workload, cluster string) bool {
	r := w.program.remote[cluster]
	free := r.room.free
	for _, claim := range w.program.books.InFlight(cluster, key(item.name)) {
		if claim.Queue == queueName {
			free -= int64(claim.Amount)
		}
	}
	return r.reported && w.couldEver(item, cluster) && free >= item.gpu
}
