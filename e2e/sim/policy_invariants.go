package sim

import (
	"slices"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// What the policies promise beyond the compatible one.

// overlapInvariant returns what a policy promises about overlaps, empty if nothing.
func overlapInvariant(p dispatch.Policy) string {
	switch {
	case p.OnWorkerLost == dispatch.Hold:
		return invNeverLose
	case p.OnHubLost == dispatch.Stop:
		return invRunOnce
	}
	return ""
}

// checkNoOverlap checks that a job that begins to run is the only one, its predecessors' dying pods included. A predecessor that
// has been started again behind its back is checked when it starts.
func (l *history) checkNoOverlap(w *workerClusters, c *worker, name string, job remoteJob) {
	promise := l.promises[l.attempt(job.uid, job.epoch)]
	for _, other := range w.workers {
		o, ok := other.jobs[name]
		w.mustHold(promise, other == c || !ok || !o.running || !l.sameJob(o.owner, job.owner), "%s runs on %s and %s", name, c.name, other.name)
		dying := slices.ContainsFunc(other.orphanedPods, func(g orphanedPods) bool {
			promised := l.promises[l.attempt(g.ownerJob.uid, g.ownerJob.epoch)] != "" // or it was removed under a policy that promises nothing
			return g.name == name && l.sameJob(g.ownerJob.owner, job.owner) && promised
		})
		w.mustHold(promise, !dying, "%s runs on %s while its pods end on %s", name, c.name, other.name)
	}
}

// checkOlderJobStopped checks an older job elsewhere, out of reach, while a new one is created.
func (l *history) checkOlderJobStopped(t *decision, other *worker, job remoteJob) {
	t.mustHold(overlapInvariant(t.policy), t.policy.OnWorkerLost != dispatch.Hold && !job.running, "a job of %s is created while %s has one of epoch %d", t.item.name, other.name, job.epoch)
}

// checkLostGiveUp checks that a bound cluster out of reach is given up only if nothing runs there any more, or an
// administrator said so.
func (l *history) checkLostGiveUp(t *decision, item workload) {
	if t.hub.declaredGone[item.bound] || overlapInvariant(t.policy) == "" {
		return
	}
	job := t.lookupWorker(item.bound).jobs[jobOf(item.name)]
	t.mustHold(overlapInvariant(t.policy), t.policy.OnWorkerLost != dispatch.Hold && (!job.running || !l.sameRun(job.uid, item.uid)), "%s is given up on %s", item.name, item.bound)
}

// checkFenceStop checks a job that a fence is about to stop.
func (l *history) checkFenceStop(w *workerClusters, c *worker, name string, obj remoteWorkload) {
	w.recordEvent(FenceStops)
	w.mustHold(invFence, obj.stopsWithoutHub && obj.finished == nil && w.policy.OnHubLost == dispatch.Stop, "%s on %s", name, c.name)
}

// checkDrainTarget checks that a cluster is drained only if another can be asked that, if it has reported, is large enough.
func (l *history) checkDrainTarget(t *decision, item workload) {
	taken := slices.ContainsFunc(t.obs.Clusters, func(v dispatch.ClusterView) bool {
		return v.Name != item.bound && v.InConfig && !v.Operator.Cordoned && !v.Operator.Draining && !v.Operator.DeclaredGone && v.Link.State == dispatch.Connected && t.hasLease(v.Name) && (t.couldEverFit(item, v.Name) || t.obs.Local.Siblings.Left)
	})
	t.mustHold(invDrain, taken, "%s leaves %s", item.name, item.bound)
}

// checkSiblingBinding checks a cluster that is about to be bound against the siblings that can be seen.
func (l *history) checkSiblingBinding(t *decision, cluster string) {
	for _, sibling := range t.listSiblings(t.item) {
		apart := sibling.bound != "" && sibling.bound != cluster && !sibling.state().Retreating()
		t.mustHold(invSibling, !apart, "%s goes to %s, %s is on %s", t.item.name, cluster, sibling.name, sibling.bound)
	}
}

// checkFirstOffer checks which cluster BestFit nominates first, by what the workers have reported.
func (l *history) checkFirstOffer(t *decision, item workload, next dispatch.State) {
	if t.policy.Dispatcher != dispatch.BestFit || len(next.Nominated) == 0 {
		return
	}
	room := func(name string) bool {
		return t.hasCapacity(item, name) && clusterView(t.obs, name).Health.Degraded == ""
	}
	for _, v := range t.obs.Clusters {
		refused := v.Copy.Holder == dispatch.Ours && v.Copy.Epoch == t.state.Epoch && (v.Copy.Evicted || v.Copy.Refused)
		if t.isEligible(v) && room(v.Name) && !refused {
			t.mustHold(invFirstOfferFits, slices.ContainsFunc(next.Nominated, room), "%s is offered to %v, %s has room", item.name, next.Nominated, v.Name)
		}
	}
}

// checkNominationFit checks that BestFit offers nothing to a cluster that has reported that it cannot take it, or that has refused it.
func (l *history) checkNominationFit(t *decision, item workload, s, next dispatch.State) {
	if t.policy.Dispatcher != dispatch.BestFit {
		return
	}
	for _, name := range next.Nominated {
		if !slices.Contains(s.Nominated, name) || s.Epoch != next.Epoch {
			t.mustHold(invNoUnfitOffer, t.couldEverFit(item, name), "%s is offered to %s", item.name, name)
		}
	}
}

// checkUnresponsive checks that BestFit does not let a Workload wait for clusters that do not answer, while another would take it.
func (l *history) checkUnresponsive(t *decision) {
	if t.policy.Dispatcher != dispatch.BestFit || t.plan.Reason != dispatch.Offered || len(t.state.Nominated) == 0 {
		return
	}
	for _, name := range t.state.Nominated {
		v := clusterView(t.obs, name)
		dead := hasRefusedCall(v, t.state.Epoch) || !t.lookupWorker(name).up && v.Link.State == dispatch.Connected && v.Copy.Holder == dispatch.Absent
		if !dead {
			return
		}
	}
	for _, v := range t.obs.Clusters {
		refused := v.Copy.Holder == dispatch.Ours && v.Copy.Epoch == t.state.Epoch && (v.Copy.Refused || v.Copy.Evicted) // until that has gone
		ready := !slices.Contains(t.state.Nominated, v.Name) && t.isEligible(v) && t.lookupWorker(v.Name).up && t.hasCapacity(t.item, v.Name) && !refused
		t.mustHold(invUnresponsive, !ready, "%s waits for %v, %s has room", t.item.name, t.state.Nominated, v.Name)
	}
}

// checkGateOpening checks a gate that is about to be opened: none is open still of which the hub has been shown that it is, or which
// it has itself asked for without being turned down.
func (l *history) checkGateOpening(t *decision, cluster string) {
	t.recordEvent(GateOpens)
	for _, v := range t.obs.Clusters {
		obj, there := t.lookupWorker(v.Name).workloads[t.item.name]
		known := v.Copy.Holder == dispatch.Ours && !v.Copy.GateClosed || t.driver.gateCalls[gateCall{attempt{t.item.uid, t.state.Epoch}, v.Name}]
		open := there && obj.uid == t.item.uid && obj.epoch == t.state.Epoch && obj.gated && !obj.isGateClosed() && t.now.Before(obj.openedAt.Add(gateTimeout))
		t.mustHold(invPreemptionGates, v.Name == cluster || !open || !known, "%s on %s, while that on %s is open since %s", t.item.name, cluster, v.Name, obj.openedAt.Format(time.TimeOnly))
	}
}

// checkLease checks an offer that is about to be made, or a cluster that is about to be bound: its fence would not stop the job.
func (l *history) checkLease(t *decision, holds bool, cluster string) {
	t.mustHold(invLease, holds, "%s on %s", t.item.name, cluster)
}

// gateTimeout is how long an opened gate has to bring an admission (contract: multikueue.md 8).
const gateTimeout = 5 * time.Minute
