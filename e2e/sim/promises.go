package sim

import (
	"slices"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// What the policies promise beyond the compatible one.

const (
	lawOnce    = "run once never has two epochs of a job running at the same instant"
	lawLose    = "never lose never starts a second run, and gives nothing up because it cannot be seen"
	lawFence   = "a fence stops only what is stamped so"
	lawCordon  = "nothing new is offered to a cordoned cluster"
	lawDrain   = "a drained cluster is left only for another that can take the workload"
	lawSibling = "siblings are bound to one cluster"
	lawAgain   = "a job that has run is not made again in its epoch"
	lawReady   = "a check is Ready only on the word of the cluster that is bound"
	lawSent    = "nobody is hedged against before it had its time with the offer"
	lawFit     = "the first offer goes to a cluster with room, if one is known"
)

// strict returns what the policy promises about overlaps, empty if nothing.
func (w *World) strict() string {
	switch {
	case w.policy.OnWorkerLost == dispatch.Hold:
		return lawLose
	case w.policy.OnHubLost == dispatch.Stop:
		return lawOnce
	}
	return ""
}

// promise is what is broken when runs overlap.
func (w *World) promise() string {
	if w.policy.OnWorkerLost == dispatch.Hold {
		return lawLose
	}
	return lawOnce
}

// alone checks that a job that begins to run is the only one, its predecessors' dying pods included. A predecessor that
// has been started again behind its back is checked when it starts.
func (l *ledger) alone(w *World, c *worker, name string, job remoteJob) {
	for _, other := range w.workers {
		if o, ok := other.jobs[name]; ok && other != c && o.running && o.owner == job.owner {
			w.violate(w.promise(), "%s runs on %s and %s", name, c.name, other.name)
		}
		if slices.ContainsFunc(other.ghosts, func(g ghost) bool { return g.name == name && g.job.owner == job.owner }) {
			w.violate(w.promise(), "%s runs on %s while its pods end on %s", name, c.name, other.name)
		}
	}
}

// apartOnly checks an older job elsewhere, out of reach, while a new one is created.
func (l *ledger) apartOnly(t *turn, other *worker, job remoteJob) {
	if t.policy.OnWorkerLost == dispatch.Hold || job.running {
		t.violate(t.strict(), "a job of %s is created while %s has one of epoch %d", t.item.name, other.name, job.epoch)
	}
}

// lettingGo checks that a bound cluster out of reach is given up only if nothing runs there any more, or somebody said so.
func (l *ledger) lettingGo(t *turn, item workload) {
	if t.hub.gone[item.bound] {
		return
	}
	job := t.worker(item.bound).jobs[item.name]
	if t.policy.OnWorkerLost == dispatch.Hold || t.strict() != "" && job.running && job.uid == item.uid {
		t.violate(t.strict(), "%s is given up on %s", item.name, item.bound)
	}
}

// fencing checks a job that a fence is about to stop.
func (l *ledger) fencing(w *World, c *worker, name string, obj copied) {
	l.checks++
	l.trouble[obj.uid] = true
	if !obj.stops || obj.finished != nil || w.policy.OnHubLost != dispatch.Stop {
		w.violate(lawFence, "%s on %s", name, c.name)
	}
}

// burnt takes back what ended on a cluster that is no more: nobody can know.
func (l *ledger) burnt(c *worker) {
	for uid := range l.results {
		for i, r := range l.results[uid] {
			if r.cluster == c.name {
				l.results[uid][i].counted = false
			}
		}
	}
}

// moving checks that a cluster is drained only if somebody else can be asked who, if he has reported, is large enough.
func (l *ledger) moving(t *turn, item workload) {
	if !slices.ContainsFunc(t.obs.Clusters, func(v dispatch.ClusterView) bool {
		fits := !t.program.remote[v.Name].reported || t.worker(v.Name).gpu >= item.gpu
		return fits && v.Name != item.bound && v.InConfig && !v.Cordoned && !v.Draining && !v.Gone && v.Link.State == dispatch.Connected
	}) {
		t.violate(lawDrain, "%s leaves %s", item.name, item.bound)
	}
}

// binding checks a cluster that is about to be bound against the siblings that can be seen.
func (l *ledger) binding(t *turn, cluster string) {
	for _, sibling := range t.siblings(t.item) {
		if sibling.bound != "" && sibling.bound != cluster && !sibling.state().Retreating() {
			t.violate(lawSibling, "%s goes to %s, %s is on %s", t.item.name, cluster, sibling.name, sibling.bound)
		}
	}
}

// firstOffer checks whom BestFit nominates first, by what the workers have reported.
func (l *ledger) firstOffer(t *turn, item workload, next dispatch.State) {
	if t.policy.Dispatcher != dispatch.BestFit || len(next.Nominated) == 0 {
		return
	}
	room := func(name string) bool {
		r := t.program.remote[name]
		return r.reported && r.free >= item.gpu && clusterView(t.obs, name).Degraded == ""
	}
	for _, v := range t.obs.Clusters {
		open := v.InConfig && v.Link.State == dispatch.Connected && !v.Cordoned && !v.Draining && !v.Gone &&
			v.Copy.Holder != dispatch.Foreign && v.Job.Holder != dispatch.Foreign && (t.obs.Local.Pin == "" || t.obs.Local.Pin == v.Name)
		if open && room(v.Name) && !slices.ContainsFunc(next.Nominated, room) {
			t.violate(lawFit, "%s is offered to %v, %s has room", item.name, next.Nominated, v.Name)
		}
	}
}
