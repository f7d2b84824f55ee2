package sim

import (
	"slices"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// What must hold of clusters that are given up. When a cluster was lost, and whether others were lost with it, goes by what the
// hub was shown (links), not by the truth: the grace is a promise about what the hub knows.

// checkGiveUp checks that a bound cluster is given up for a reason that is true.
func (l *history) checkGiveUp(t *decision, item workload) {
	if item.check == dispatch.Retry || item.evicted || !item.quota {
		return
	}
	link := t.driver.remotes[item.bound].link
	if link.State == dispatch.Connected {
		l.checkConnectedGiveUp(t, item)
		return
	}
	l.checkLostGiveUp(t, item)
	if t.hub.declaredGone[item.bound] {
		l.checkGoneDeclaration(t, item.bound)
		t.recordEvent(GoneDeclared)
		if !t.hasSeenEnd(item) {
			l.excuseResults(item.uid, time.Time{}) // whoever gives the word answers for what nobody had seen
		}
		return
	}
	t.mustHold(invGrace, link.State == dispatch.Unreachable && !t.now.Before(t.lostSince(item.bound).Add(t.policy.WorkerLostTimeout)), "%s on %s", item.name, item.bound)
	t.mustHold(invCutOff, !t.isHubCutOff(item.bound), "%s on %s", item.name, item.bound)
	t.recordEvent(GraceOver)
	if t.policy.OnHubLost == dispatch.Stop {
		t.recordEvent(FenceAwaited)
	}
	if t.policy.OnWorkerLost != dispatch.Hold {
		l.excuseResults(item.uid, time.Time{}) // what was out of reach for longer than the grace does not count
	}
}

// hasSeenEnd reports whether the hub was shown that a bound Workload's run has ended.
func (t *decision) hasSeenEnd(item workload) bool {
	watch := t.driver.remotes[item.bound].informers
	obj, job := watch.workloads.get(item.name).value, watch.jobs.get(jobOf(item.name)).value
	at, of := t.history.attempt(item.uid, item.state().Epoch), t.history.attempt
	return obj.finished != nil && at == of(obj.uid, obj.epoch) || job.finished != nil && at == of(job.uid, job.epoch)
}

// checkConnectedGiveUp checks that a cluster that can be reached is given up because something is wrong there, or was when it was read.
func (l *history) checkConnectedGiveUp(t *decision, item workload) {
	read := t.now.Add(-maxLiveReadAge)
	l.excuseResults(item.uid, read)
	if t.plan.Reason == dispatch.Drained && t.hub.draining[item.bound] {
		t.recordEvent(DrainMoves)
		l.checkDrainTarget(t, item)
		return
	}
	last, ever := l.lastTrouble[item.uid]
	wrong := t.isTroubled(item) || ever && (!last.Before(read) || t.plan.Reason == dispatch.NameCollision)
	t.mustHold(invUnseenWork, wrong || !slices.Contains(t.hub.listed, item.bound), "%s is given up on %s, where nothing is wrong", item.name, item.bound)
}

// lostSince is from when on the grace of a cluster counts.
func (w *program) lostSince(cluster string) time.Time {
	since := w.driver.remotes[cluster].link.Since
	if ended := w.driver.cutOffEnded; since.Before(ended) {
		return ended
	}
	return since
}

// isGraceOver reports whether a cluster was out of the hub's reach for longer than the grace, and it is not the hub's own doing.
func (w *program) isGraceOver(cluster string) bool {
	lost := w.driver.remotes[cluster].link.State == dispatch.Unreachable && !w.isHubCutOff(cluster)
	return lost && !w.now.Before(w.lostSince(cluster).Add(w.policy.WorkerLostTimeout))
}

// isHubCutOff reports whether most clusters that were there right before vanished together with one: then it is the hub that
// is cut off. Clusters that it never reached say nothing while it reaches any other.
func (w *program) isHubCutOff(cluster string) bool {
	reaches := slices.ContainsFunc(w.workers, func(c *worker) bool { return w.driver.remotes[c.name].link.State == dispatch.Connected })
	lost := w.driver.remotes[cluster].link
	if lost.State != dispatch.Unreachable || lost.NeverConnected && reaches {
		return false
	}
	together, others := 0, 0
	for _, c := range w.workers {
		link := w.driver.remotes[c.name].link
		gap := link.Since.Sub(lost.Since)
		switch {
		case link.NeverConnected && reaches, link.State == dispatch.Unknown:
		case link.State == dispatch.Connected, gap > w.policy.CutOffWindow:
			others++
		case gap >= -w.policy.CutOffWindow:
			together++
		}
	}
	return together > 1 && together > others
}

// isTroubled reports whether anything is wrong with a bound Workload's copy or job, in truth.
func (w *workerClusters) isTroubled(item workload) bool {
	c := w.lookupWorker(item.bound)
	obj, ok := c.workloads[item.name]
	job, hasJob := c.jobs[jobOf(item.name)]
	created := w.history.createdOn[w.history.attempt(item.uid, item.state().Epoch)] == c.name
	if item.elastic {
		return w.isSliceTroubled(c, item, created)
	}
	return !ok || !obj.ours || obj.uid != item.uid || !obj.admitted || obj.evicted || obj.finished != nil || obj.deactivating || obj.deleting ||
		obj.gpu != item.gpu || created && !hasJob || hasJob && (!job.ours || job.uid == 0 || job.uid != item.uid && job.lostMarks != lostNone)
}

// recordTrouble notes that something was wrong until now; it is called before anything on a worker changes.
func (w *workerClusters) recordTrouble(c *worker, name string) {
	if c.elastic {
		w.recordSliceTrouble(c, name)
		return
	}
	if item, ok := w.hub.workloads[name]; ok && item.bound == c.name && w.isTroubled(item) {
		w.history.lastTrouble[item.uid] = w.now
	}
}
