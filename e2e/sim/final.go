package sim

import (
	"slices"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// healFaults ends every fault and lets everything come to rest. From then on the other dispatcher, if there is one, does its
// part at once.
func (w *World) healFaults() {
	clear(w.frozen)
	clear(w.hub.declaredGone)
	w.restoreMarks()
	w.healed = true
	w.markChanged()
	for _, c := range w.workers {
		c.up, c.slow, c.fence.denied = true, false, false
		if c.onHold {
			_ = changeTrait(func(w *worker) { w.onHold = false })(command{World: w, args: []string{c.name}})
		}
	}
	for _, name := range w.hub.workloadNames() {
		if item := w.hub.workloads[name]; item.otherChecksPending {
			item.otherChecksPending = false
			w.putWorkload(item)
		}
	}
	w.landHeldCalls()
	if w.driver == nil {
		w.startDriver(0)
	}
	w.runUntilQuiet()
	for _, c := range w.workers {
		w.renewLease(c, true)
	}
	w.runUntilQuiet()
	if slices.ContainsFunc(w.workers, func(c *worker) bool { return c.isDown(w.now) }) {
		w.passTime(w.now.Add(maxDown))
		w.runUntilQuiet()
	}
	w.checkUnconfiguredAtRest()
	w.restoreConfig()
	w.runUntilQuiet()
	w.checkCordonsAtRest()
	w.checkRetentionsAtRest()
	clear(w.hub.cordoned)
	clear(w.hub.draining)
	w.markChanged()
	w.runUntilQuiet()
	w.checkAtRest()
	w.checkHedging()
	w.runUntilSettled(settleLimit)
}

// checkAtRest checks what must hold as soon as nothing moves and everything can be seen, long before the jobs end.
func (w *World) checkAtRest() {
	for _, name := range w.hub.workloadNames() {
		item := w.hub.workloads[name]
		c := w.lookupWorker(item.bound)
		if c == nil || item.finished != nil || item.deleting || w.history.violation != "" {
			continue
		}
		job, there := c.jobs[jobOf(name)]
		if !there || !job.ours || !w.history.sameRun(job.uid, item.uid) || !item.ownsJob() || item.elastic && !w.hasJobNow(item) {
			continue
		}
		if item.elastic {
			w.checkSlicesAtRest(item, c, job)
		}
		w.mustHold(invEviction, !item.evicted || !job.running || !job.stopAt.IsZero(), "%s runs on %s", name, c.name)
		w.mustHold(invStatusShown, item.status == job.status() || item.evicted && item.status == job.actualStatus(), "%s on %s", name, c.name)
	}
	w.checkPrioritiesAtRest()
	w.checkSiblingsAtRest()
	w.checkRetentionsAtRest()
}

// checkSiblingsAtRest checks that no Workload runs on another cluster than its siblings.
func (w *hubCluster) checkSiblingsAtRest() {
	for _, name := range w.hub.workloadNames() {
		for _, other := range w.hub.workloadNames() {
			a, b := w.hub.workloads[name], w.hub.workloads[other]
			both := name < other && a.ownerName() == b.ownerName() && a.finished == nil && b.finished == nil && !a.deleting && !b.deleting
			if both && a.bound != "" && b.bound != "" && isBoundTo(a, a.bound) && isBoundTo(b, b.bound) {
				w.mustHold(invSibling, a.bound == b.bound, "%s is on %s, %s on %s", name, a.bound, other, b.bound)
			}
		}
	}
}

// checkHedging checks that BestFit offers a Workload that no cluster has admitted for a while to every cluster that could.
func (w *World) checkHedging() {
	if w.policy.Dispatcher != dispatch.BestFit || w.policy.HedgeAfter == 0 || w.history.violation != "" {
		return
	}
	w.advanceClock(time.Duration(1<<len(w.workers)) * w.policy.HedgeAfter)
	for _, name := range w.hub.workloadNames() {
		item := w.hub.workloads[name]
		admitted := func(c string) bool { return w.lookupWorker(c).workloads[name].admitted }
		if item.deleting || item.finished != nil || item.evicted || slices.ContainsFunc(item.nominated, admitted) || item.bound != "" || len(item.nominated) == 0 || w.observeLocal(item).Siblings.Pin != "" ||
			w.now.Sub(laterTime(item.reservedAt, w.history.lastPinned[item.uid])) < time.Duration(1<<len(w.workers))*w.policy.HedgeAfter {
			continue
		}
		for _, cluster := range w.hub.listed {
			c := w.lookupWorker(cluster)
			if w.couldEverFit(item, cluster) && !w.hasNameCollision(c, name) {
				w.mustHold(invHedge, slices.Contains(item.nominated, cluster), "%s waits on %v, not on %s", name, item.nominated, cluster)
			}
		}
	}
}

// checkCordonsAtRest checks that no offer waits on a cordoned cluster.
func (w *workerClusters) checkCordonsAtRest() {
	for _, c := range w.workers {
		for name, obj := range c.workloads {
			closed := w.hub.cordoned[c.name] || w.hub.draining[c.name]
			waits := obj.ours && !obj.quota && obj.finished == nil && w.hub.workloads[name].bound != c.name
			w.mustHold(invCordon, !closed || !waits, "%s still waits on %s", name, c.name)
		}
	}
}

func (w *workerClusters) checkPrioritiesAtRest() {
	for _, c := range w.workers {
		for name, obj := range c.workloads {
			item := w.hub.workloads[name]
			if obj.ours && obj.uid == item.uid && item.quota && !item.evicted && item.finished == nil && (!item.elastic || w.hasJobNow(item)) {
				waits := item.elastic && obj.gpu > item.gpu // a copy is made smaller once its job is seen, and changed in other ways with that
				w.mustHold(invPriority, obj.priority == item.priority || waits, "%s on %s", name, c.name)
			}
		}
	}
}

// isRefusedForEpoch reports whether the hub has lost the record of a Workload of which a worker remembers a later epoch, with nothing left that
// shows it: the worker refuses what the hub offers, for as long as it remembers, and says so.
func (w *workerClusters) isRefusedForEpoch(item workload) bool {
	return w.history.isRecordLost(item.uid) && slices.ContainsFunc(w.workers, func(c *worker) bool {
		return c.knownEpoch(item.name, item.uid) > item.state().Epoch
	})
}

// checkFinal heals and then checks what must hold once nothing happens any more.
func (w *World) checkFinal() {
	w.healFaults()
	w.checkDeletedAtRest()
	for _, name := range w.hub.workloadNames() {
		item := w.hub.workloads[name]
		if w.isRefusedForEpoch(item) {
			continue
		}
		plan := w.parts.Step(item.state(), w.observe(item), w.stepPolicy(item))
		w.mustHold(invFixedPoint, !plan.Stores && len(plan.Actions) == 0, "%s: %s %v", name, plan.Reason, plan.Actions)
		w.mustHold(invProgress, item.finished != nil || w.isTrueReason(item, plan.Reason), "%s says %s: %s", name, plan.Reason, plan.Message)
	}
	for _, c := range w.workers {
		for _, name := range c.objectNames() {
			w.checkObjectOwner(c, name)
		}
	}
}

// isTrueReason reports whether a reason to wait for ever is true.
func (w *program) isTrueReason(item workload, because dispatch.Reason) bool {
	switch because {
	case dispatch.ResultUnknown:
		job, there := w.lookupWorker(item.bound).jobs[jobOf(item.name)]
		return !there || item.elastic && job.uid == 0 || jobHolder(item, job) == dispatch.Foreign // somebody's own, whatever label it bears
	case dispatch.NoQuota:
		return item.inactive || !w.hub.mayReserve(item)
	case dispatch.SlicePassive:
		return item.inactive || !w.hub.mayReserve(item)
	case dispatch.NoCluster:
		pin := w.observeLocal(item).Siblings.Pin
		return !slices.ContainsFunc(w.hub.listed, func(c string) bool {
			fits := w.policy.Dispatcher != dispatch.BestFit || w.couldEverFit(item, c)
			return !w.hasNameCollision(w.lookupWorker(c), item.name) && (pin == "" || pin == c) && fits
		})
	case dispatch.SiblingWait:
		return w.observeLocal(item).Siblings.Awaited
	case dispatch.Offered:
		if item.bound != "" {
			return w.waitsForRoom(item)
		}
		if w.observeLocal(item).Siblings.Awaited {
			return w.policy.Dispatcher == dispatch.External // which may nominate who has to wait for a sibling
		}
		pin := w.observeLocal(item).Siblings.Pin
		for _, cluster := range w.hub.listed {
			c := w.lookupWorker(cluster)
			if w.hasNameCollision(c, item.name) || pin != "" && pin != cluster || w.policy.Dispatcher == dispatch.External && !slices.Contains(item.nominated, cluster) {
				continue
			}
			if obj := c.workloads[item.name]; obj.finished == nil && (obj.admitted || w.couldEverFit(item, c.name) && c.freeQuota()+c.preemptibleGPU >= item.gpu) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

func (w *workerClusters) hasNameCollision(c *worker, name string) bool {
	obj, hasCopy := c.workloads[name]
	job, hasJob := c.jobs[jobOf(name)]
	return hasCopy && !obj.ours || hasJob && (!job.ours || job.uid == 0 && !job.namesWorkload)
}

// checkObjectOwner checks that a remote object has an owner that wants it there.
func (w *workerClusters) checkObjectOwner(c *worker, name string) {
	item, alive := w.hub.workloads[name]
	wanted := func(o owner, epoch int64, isJob bool) bool {
		if !o.ours {
			return true
		}
		s := item.state()
		offered := s.Bound == "" && !isJob && slices.Contains(s.Nominated, c.name)
		return alive && w.history.sameRun(o.uid, item.uid) && item.finished == nil && item.quota && epoch == s.Epoch && (offered || s.Bound == c.name)
	}
	if obj, ok := c.workloads[name]; ok {
		w.mustHold(invNoOrphan, wanted(obj.owner, obj.stampedEpoch(), false) || item.elastic && w.isCopyInUse(c, item), "copy of %s on %s", name, c.name)
	}
	if c.jobs[name].elastic {
		item, alive = w.sliceWithJob(workload{name: name})
	}
	forged := w.isForgedSliceJob(c, name) // which stays until a person has looked, because nobody knows how the hub's has ended
	if job, ok := c.jobs[name]; ok && !forged && (job.uid != 0 || job.namesWorkload) {
		w.mustHold(invNoOrphan, wanted(job.owner, job.stampedEpoch(), true), "job of %s on %s", name, c.name)
	}
}
