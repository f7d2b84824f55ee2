package sim

import (
	"slices"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// What the policies promise beyond the compatible one.

// strict returns what a policy promises about overlaps, empty if nothing.
func strict(p dispatch.Policy) string {
	switch {
	case p.OnWorkerLost == dispatch.Hold:
		return lawLose
	case p.OnHubLost == dispatch.Stop:
		return lawOnce
	}
	return ""
}

// alone checks that a job that begins to run is the only one, its predecessors' dying pods included. A predecessor that
// has been started again behind its back is checked when it starts.
func (l *ledger) alone(w *World, c *worker, name string, job remoteJob) {
	promise := l.promised[attempt{job.uid, job.epoch}]
	for _, other := range w.workers {
		o, ok := other.jobs[name]
		w.must(promise, other == c || !ok || !o.running || !l.same(o.owner, job.owner), "%s runs on %s and %s", name, c.name, other.name)
		dying := slices.ContainsFunc(other.ghosts, func(g ghost) bool {
			promised := l.promised[attempt{g.job.uid, g.job.epoch}] != "" // or it was removed under a policy that promises nothing
			return g.name == name && l.same(g.job.owner, job.owner) && promised
		})
		w.must(promise, !dying, "%s runs on %s while its pods end on %s", name, c.name, other.name)
	}
}

// apartOnly checks an older job elsewhere, out of reach, while a new one is created.
func (l *ledger) apartOnly(t *turn, other *worker, job remoteJob) {
	t.must(strict(t.policy), t.policy.OnWorkerLost != dispatch.Hold && !job.running, "a job of %s is created while %s has one of epoch %d", t.item.name, other.name, job.epoch)
}

// lettingGo checks that a bound cluster out of reach is given up only if nothing runs there any more, or somebody said so.
func (l *ledger) lettingGo(t *turn, item workload) {
	if t.hub.gone[item.bound] || strict(t.policy) == "" {
		return
	}
	job := t.worker(item.bound).jobs[item.name]
	t.must(strict(t.policy), t.policy.OnWorkerLost != dispatch.Hold && (!job.running || job.uid != item.uid), "%s is given up on %s", item.name, item.bound)
}

// fencing checks a job that a fence is about to stop.
func (l *ledger) fencing(w *World, c *worker, name string, obj copied) {
	w.reach(FenceStops)
	w.must(lawFence, obj.stops && obj.finished == nil && w.policy.OnHubLost == dispatch.Stop, "%s on %s", name, c.name)
}

// moving checks that a cluster is drained only if somebody else can be asked who, if he has reported, is large enough.
func (l *ledger) moving(t *turn, item workload) {
	taken := slices.ContainsFunc(t.obs.Clusters, func(v dispatch.ClusterView) bool {
		return v.Name != item.bound && v.InConfig && !v.Cordoned && !v.Draining && !v.Gone && v.Link.State == dispatch.Connected && t.leased(v.Name) && (t.couldEver(item, v.Name) || t.obs.Local.SiblingLeft)
	})
	t.must(lawDrain, taken, "%s leaves %s", item.name, item.bound)
}

// binding checks a cluster that is about to be bound against the siblings that can be seen.
func (l *ledger) binding(t *turn, cluster string) {
	for _, sibling := range t.siblings(t.item) {
		apart := sibling.bound != "" && sibling.bound != cluster && !sibling.state().Retreating()
		t.must(lawSibling, !apart, "%s goes to %s, %s is on %s", t.item.name, cluster, sibling.name, sibling.bound)
	}
}

// firstOffer checks whom BestFit nominates first, by what the workers have reported.
func (l *ledger) firstOffer(t *turn, item workload, next dispatch.State) {
	if t.policy.Dispatcher != dispatch.BestFit || len(next.Nominated) == 0 {
		return
	}
	room := func(name string) bool { return t.hasRoom(item, name) && clusterView(t.obs, name).Degraded == "" }
	for _, v := range t.obs.Clusters {
		refused := v.Copy.Holder == dispatch.Ours && v.Copy.Epoch == t.state.Epoch && (v.Copy.Evicted || v.Copy.Refused)
		if t.unbarred(v) && room(v.Name) && !refused {
			t.must(lawFit, slices.ContainsFunc(next.Nominated, room), "%s is offered to %v, %s has room", item.name, next.Nominated, v.Name)
		}
	}
}

// fitting checks that BestFit offers nothing to a cluster that has reported that it cannot take it, or that has refused it.
func (l *ledger) fitting(t *turn, item workload, s, next dispatch.State) {
	if t.policy.Dispatcher != dispatch.BestFit {
		return
	}
	for _, name := range next.Nominated {
		if !slices.Contains(s.Nominated, name) || s.Epoch != next.Epoch {
			t.must(lawUnfit, t.couldEver(item, name), "%s is offered to %s", item.name, name)
		}
	}
}

// sick checks that BestFit does not let a Workload wait for clusters that do not answer, while another would take it.
func (l *ledger) sick(t *turn) {
	if t.policy.Dispatcher != dispatch.BestFit || t.plan.Because != dispatch.Offered || len(t.state.Nominated) == 0 {
		return
	}
	for _, name := range t.state.Nominated {
		v := clusterView(t.obs, name)
		dead := troubled(v, t.state.Epoch) || !t.worker(name).up && v.Link.State == dispatch.Connected && v.Copy.Holder == dispatch.Absent
		if !dead {
			return
		}
	}
	for _, v := range t.obs.Clusters {
		refused := v.Copy.Holder == dispatch.Ours && v.Copy.Epoch == t.state.Epoch && (v.Copy.Refused || v.Copy.Evicted) // until that has gone
		ready := !slices.Contains(t.state.Nominated, v.Name) && t.unbarred(v) && t.worker(v.Name).up && t.hasRoom(t.item, v.Name) && !refused
		t.must(lawSick, !ready, "%s waits for %v, %s has room", t.item.name, t.state.Nominated, v.Name)
	}
}

// opening checks a gate that is about to be opened: none is open still of which the hub has been shown that it is, or which
// it has itself asked for without being turned down.
func (l *ledger) opening(t *turn, cluster string) {
	t.reach(GateOpens)
	for _, v := range t.obs.Clusters {
		obj, there := t.worker(v.Name).copies[t.item.name]
		known := v.Copy.Holder == dispatch.Ours && !v.Copy.GateClosed || !t.program.asked[t.item.name][v.Name].at.IsZero()
		open := there && obj.uid == t.item.uid && obj.epoch == t.state.Epoch && obj.gated && !obj.closed() && t.now.Before(obj.openedAt.Add(gateTimeout))
		t.must(lawGates, v.Name == cluster || !open || !known, "%s on %s, while that on %s is open since %s", t.item.name, cluster, v.Name, obj.openedAt.Format(time.TimeOnly))
	}
}

// underLease checks an offer that is about to be made, or a cluster that is about to be bound: its fence would not stop the job.
func (l *ledger) underLease(t *turn, holds bool, cluster string) {
	t.must(lawLease, holds, "%s on %s", t.item.name, cluster)
}

// gateTimeout is how long an opened gate has to bring an admission (contract: multikueue.md 8).
const gateTimeout = 5 * time.Minute
