package sim

import (
	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/placement"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

// RankFunc is placement.Rank, or a mutant of it.
type RankFunc func(placement.Request, []placement.Cluster) []placement.Choice

// reportedCapacity is what a worker says that it has room for.
type reportedCapacity struct {
	// free is what no Workload has reserved, and squatted what a copy could have by evicting others.
	free, preemptible int64
	// noLocalQueue is set if the LocalQueue is missing, closed if it is on hold, tainted if only some pods may run there.
	noLocalQueue, onHold, tainted bool
}

func (c *worker) currentCapacity() reportedCapacity {
	return reportedCapacity{free: c.freeQuota(), preemptible: c.preemptibleGPU, noLocalQueue: c.noLocalQueue, onHold: c.onHold, tainted: c.tainted}
}

// reportCapacity lets the hub see what a worker has room for; what the hub knows is as old as the last report. What has quota by then is
func (w *program) reportCapacity(c *worker) {
	r := w.driver.remotes[c.name]
	if !c.up || r.link.State != dispatch.Connected {
		return
	}
	r.reportedAt = w.now
	if now := c.currentCapacity(); !r.reported || r.capacity != now {
		r.capacity, r.reported = now, true
		w.markChanged()
	}
}

// placementCapacity is a worker's report in the words of placement.
func (c *worker) placementCapacity(r reportedCapacity) *placement.Capacity {
	one := func(n int64) []amount.Amount { return []amount.Amount{amount.Amount(n)} }
	local := placement.LocalQueue{Key: workloadKey(queueName), Queue: queueName}
	if r.onHold {
		local.Closed = "it is on hold"
	}
	has := placement.FlavorQuota{Flavor: flavorName, Nominal: one(r.free), Free: one(r.free), Largest: one(c.gpu)}
	if r.preemptible > 0 {
		has.Preempting = []placement.Step{{Priority: 0, Free: one(r.free + r.preemptible)}}
	}
	capacity := &placement.Capacity{
		Flavors: []admission.Flavor{flavorOf(r.tainted)},
		Queues:  []placement.Queue{{Name: queueName, Groups: []placement.Group{{Resources: []string{resourceName}, Flavors: []placement.FlavorQuota{has}}}}},
	}
	if !r.noLocalQueue {
		capacity.Locals = []placement.LocalQueue{local}
	}
	return capacity
}

// rankClusters says how well a Workload fits the workers, by what they have reported and what is under way to them.
func (w *program) rankClusters(item workload) map[string]placement.Choice {
	var fleet []placement.Cluster
	request := placement.Request{
		Namespace: workloadKey(queueName).Namespace, LocalQueue: queueName, Priority: int32(item.priority),
		PodSets: []admission.PodSet{podSet(item.gpu, item.tolerates)},
	}
	for _, c := range w.workers {
		r := w.driver.remotes[c.name]
		seen := workloadFacts(item, r.informers.workloads.get(item.name))
		cluster := placement.Cluster{
			Name: c.name, Weight: c.weight, Cordoned: w.hub.cordoned[c.name] || w.hub.draining[c.name],
			Offered:  seen.Holder == dispatch.Ours && seen.Epoch == item.state().Epoch,
			InFlight: w.claimsInFlight(c.name, item.name), Troubles: w.driver.tracker.Misses(c.name, w.now),
		}
		if !c.up {
			cluster.Degraded = overdueMessage
		}
		if r.reported {
			cluster.Capacity = c.placementCapacity(r.capacity)
		}
		if cluster.Offered && (seen.Refused || seen.Evicted) {
			request.Refused = append(request.Refused, placement.Refusal{Cluster: c.name, Message: seen.WaitingMessage})
		}
		fleet = append(fleet, cluster)
	}
	choices := map[string]placement.Choice{}
	for _, choice := range w.parts.Rank(request, fleet) {
		choices[choice.Cluster] = choice
	}
	return choices
}

// addFit turns a Choice into what Step is told.
func addFit(v *dispatch.ClusterView, choice placement.Choice) {
	v.Fit.Score, v.Fit.Preempting = choice.Score, choice.Preempting()
	if !choice.Eligible {
		v.Fit.Reason, v.Fit.Message = dispatch.Reason(choice.Reason), choice.Message
	}
}

// claimsInFlight are what other Workloads have under way to a cluster.
func (w *program) claimsInFlight(cluster, name string) []placement.Claim {
	return w.driver.tracker.InFlight(cluster, workloadKey(name), w.driver.remotes[cluster].reportedAt, w.now)
}

// couldEverFit reports whether a worker could take a Workload if no other used it, by what it has reported.
func (w *program) couldEverFit(item workload, cluster string) bool {
	r, c := w.driver.remotes[cluster], w.lookupWorker(cluster)
	return !r.reported || !r.capacity.noLocalQueue && !r.capacity.onHold && (!r.capacity.tainted || item.tolerates) && c.gpu >= item.gpu
}

// hasCapacity reports whether a worker has reported enough for a Workload, what is under way to it taken into account.
func (w *program) hasCapacity(item workload, cluster string) bool {
	r := w.driver.remotes[cluster]
	free := r.capacity.free
	for _, claim := range w.claimsInFlight(cluster, item.name) {
		if claim.Queue == queueName {
			free -= int64(claim.Amount)
		}
	}
	return r.reported && w.couldEverFit(item, cluster) && free >= item.gpu
}
