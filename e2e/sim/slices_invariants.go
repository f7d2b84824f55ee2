package sim

import (
	"slices"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
)

// What must hold of elastic jobs: to be scaled is no reason to stop, and whichever slice has the job, it is one run.

// checkStop checks a job that a worker is about to stop: somebody has evicted it, or taken away what it runs by, or the hub has given it up there.
// That it was scaled is no reason.
func (l *history) checkStop(w *workerClusters, c *worker, name string, job remoteJob) {
	if !job.elastic {
		return
	}
	stopped := slices.ContainsFunc(c.copiesOf(name), func(n string) bool {
		obj := c.workloads[n]
		return obj.evicted || obj.deactivating
	})
	item, found := w.sliceWithJob(workload{name: name})
	stopped = stopped || !found || item.evicted || !item.quota || item.finished != nil || item.deleting || item.check == dispatch.Retry || !w.hasConfig(item) // on the hub
	stopped = stopped || w.isGivenUp(c, name, job) || !l.sameRun(job.uid, item.uid)
	excused := stopped || c.disturbed[name] || job.deleting || !job.ours || job.lostMarks != lostNone || job.tampered
	w.mustHold(invScaled, excused, "%s is stopped on %s, where nobody has evicted it", name, c.name)
}

// isGivenUp reports whether a slice has recorded that an elastic job of a cluster is given up: that is the record of the next one, too, which may not
// have taken it over yet.
func (w *hubCluster) isGivenUp(c *worker, name string, job remoteJob) bool {
	return job.elastic && slices.ContainsFunc(w.hub.slicesOf(jobOf(name)), func(s workload) bool { return s.owes(c.name, job.epoch) })
}

// owes reports whether it is recorded that what a cluster has of an epoch is given up.
func (w workload) owes(cluster string, epoch int64) bool {
	return slices.ContainsFunc(w.state().Debts, func(d dispatch.Debt) bool { return d.Cluster == cluster && d.Epoch >= epoch })
}

// checkPods checks a job that is about to have another number of pods.
func (l *history) checkPods(w *workerClusters, c *worker, name string, job remoteJob, obj remoteWorkload) {
	if before := c.jobs[name].runs; job.runs < before {
		w.recordEvent(Shrinks)
		return
	}
	w.recordEvent(Grows)
	w.mustHold(invPods, obj.admitted && job.runs <= obj.gpu && job.runs <= job.pods, "%s has %d pods on %s", name, job.runs, c.name)
}

// checkResize checks a job that is about to be asked for other pods, by what the hub was shown: for more only by an admitted slice.
func (l *history) checkResize(t *decision, c *worker, was, next remoteJob) {
	shown := clusterView(t.obs, c.name).Copy
	if next.pods > was.pods {
		t.mustHold(invPods, shown.Admitted, "%s asks for %d pods on %s, where %s is not admitted", jobOf(t.item.name), next.pods, c.name, t.item.name)
	}
	if next.prebuilt != was.prebuilt {
		t.recordEvent(Renamed)
	} else if t.action.OnlyShrink {
		t.recordEvent(ShrunkFirst)
	}
}

// checkOneSlice checks that one slice has the job, and no more, as soon as one is in dispatch.
func (w *hubCluster) checkOneSlice(of workload) {
	has := ""
	for _, item := range w.hub.slicesOf(jobOf(of.name)) {
		if !item.ownsJob() || item.chain != of.chain || !item.quota && !item.isRecorded() || !w.hasJobNow(item) {
			continue
		}
		w.mustHold(invOneSlice, has == "", "%s and %s", has, item.name)
		has = item.name
	}
}

// checkTakeover checks the first write of a slice that has got quota: it takes over what the one before has recorded.
func (l *history) checkTakeover(t *decision, before workload, s, next dispatch.State) {
	old, there := t.hub.workloads[before.replaces]
	fresh := s.Epoch <= 1 && s.Reservation == "" && len(s.Debts) == 0 && before.evictions == 0
	if before.replaces == "" || !there || !fresh || !before.quota || t.history.isRecordLost(before.uid) {
		return
	}
	was := old.state()
	kept := next.Epoch >= was.Epoch && (was.Bound == "" || next.Bound == was.Bound)
	for _, d := range was.Debts {
		kept = kept && (isDebtor(next, d.Cluster) || t.plan.Reason == dispatch.Settled)
	}
	t.mustHold(invTakeover, kept, "%s has epoch %d, bound to %q, owed by %q; %s had epoch %d, bound to %q, owed by %q",
		before.name, next.Epoch, next.Bound, formatDebts(next), old.name, was.Epoch, was.Bound, formatDebts(was))
	if t.plan.Reason == dispatch.TakenOver {
		t.recordEvent(RecordTakenOver)
	}
}

// checkSlicesAtRest checks that a job has the size and the name that its slice says.
func (w *World) checkSlicesAtRest(item workload, c *worker, job remoteJob) {
	if obj, there := c.workloads[item.name]; there && obj.admitted && !item.evicted && item.check == dispatch.Ready && job.finished == nil {
		w.mustHold(invSliceShown, job.pods == item.gpu && job.prebuilt == item.name, "%s asks for %d pods by %s on %s; %s is for %d",
			jobOf(item.name), job.pods, job.prebuilt, c.name, item.name, item.gpu)
	}
}

// isSliceTroubled is isTroubled for a slice: one that has taken over runs by what earlier ones have until it is admitted.
func (w *workerClusters) isSliceTroubled(c *worker, item workload, created bool) bool {
	obj, there := c.workloads[item.name]
	job, hasJob := c.jobs[jobOf(item.name)]
	sound := job.ours && job.uid != 0 && (w.history.sameRun(job.uid, item.uid) || job.lostMarks == lostNone)
	broken := there && (!obj.ours || obj.uid != item.uid || obj.finished != nil || obj.deactivating || obj.deleting || obj.gpu < item.gpu)
	waits := item.replaces != "" && item.check != dispatch.Ready
	if waits && !hasJob && (!created || len(c.copiesOf(jobOf(item.name))) == 0) {
		return true // what it was to take over there is gone, or there was nothing
	}
	return broken || created && !hasJob || hasJob && !sound || !waits && (!there || !obj.admitted || obj.evicted)
}

// recordSliceTrouble is recordTrouble on a worker that has had slices.
func (w *workerClusters) recordSliceTrouble(c *worker, name string) {
	of := []workload{w.hub.workloads[name]}
	if !of[0].elastic {
		of = append(of, w.hub.slicesOf(jobOf(name))...)
	}
	for _, item := range of {
		if item.name != "" && item.bound == c.name && w.isTroubled(item) {
			w.history.lastTrouble[item.uid] = w.now
		}
	}
}

// disturb notes that somebody has interfered with a job on a worker.
func (c *worker) disturb(name string) {
	if c.disturbed == nil {
		c.disturbed = map[string]bool{}
	}
	c.disturbed[jobOf(name)] = true
}

// isCopyInUse reports whether the job runs by the copy of a slice that another has taken over from, and which waits there for its admission; or
// whether people are to look at it, because nobody knows whether a job was ever made.
func (w *workerClusters) isCopyInUse(c *worker, item workload) bool {
	has, found := w.sliceWithJob(item)
	if _, made := c.jobs[jobOf(item.name)]; found && !made && has.finished == nil && has.bound == c.name && !c.workloads[item.name].adopted {
		return true
	}
	waits := found && has.bound == c.name && hubworkload.IsYetToBeAdmitted(w.kubeSlice(has))
	return waits && c.workloads[item.name].epoch == has.state().Epoch
}

// waitsForRoom reports whether a slice that has taken over waits for what its cluster does not have.
func (w *workerClusters) waitsForRoom(item workload) bool {
	c := w.lookupWorker(item.bound)
	if c == nil {
		return false
	}
	obj, there := c.workloads[item.name]
	held := c.replacedCopy(obj)
	room := c.freeQuota() + c.preemptibleGPU
	if held.exists && held.value.quota {
		room += held.value.gpu
	}
	return there && !obj.quota && (room < item.gpu || c.noLocalQueue || c.tainted && !item.tolerates)
}

// isForgedSliceJob reports whether a job bears the name of an elastic one whose end is unknown, and names a slice of it, but was made by somebody else.
func (w *workerClusters) isForgedSliceJob(c *worker, name string) bool {
	item, found := w.sliceWithJob(workload{name: name})
	return found && c.jobs[name].uid == 0 && item.finished == nil && item.bound == c.name
}
