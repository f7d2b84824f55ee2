package sim

import (
	"slices"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// What must hold of Workloads that lose their cluster because the hub wants it so: another Workload gets its quota, or they
// are deleted and their job stays, or is made anew.

// awaitsStop reports whether the hub is to have the quota of a Workload back only when its job has stopped: it evicts it itself, and its
// jobs are the dispatcher's to answer for.
func (l *history) awaitsStop(item workload) bool {
	return item.evicted && !item.evictedByCheck && !item.foreignController && item.check != dispatch.Retry && item.check != dispatch.Rejected
}

// checkQuotaRelease checks that a cluster has stopped a Workload whose quota is given back, as far as the hub can be shown that.
func (l *history) checkQuotaRelease(w *program, item workload, cluster string) {
	c := w.lookupWorker(cluster)
	if c == nil {
		return
	}
	job, there := c.jobs[jobOf(item.name)]
	running := there && job.running && l.sameRun(job.uid, item.uid)
	// A job that has lost all of the hub's marks is known by its copy alone, and that of a slice which waits to take over knows nothing of it.
	hidden := item.replaces != "" && job.lostMarks == lostAllMarks && !c.workloads[item.name].quota
	excused := w.isGraceOver(cluster) || w.hub.declaredGone[cluster] || w.isCacheBehind(c, item.name) || hidden
	w.mustHold(invQuotaAfterStop, !running || excused, "%s on %s", item.name, cluster)
	w.recordEvent(QuotaAwaited)
}

// isCacheBehind reports whether the hub reaches a worker and has not been shown all that there is of a name.
func (w *program) isCacheBehind(c *worker, name string) bool {
	if w.driver.remotes[c.name].link.State != dispatch.Connected {
		return false
	}
	return c.informers.workloads.isBehind(name) || c.informers.jobs.isBehind(jobOf(name))
}

// checkUnbinding checks a write by which a Workload loses its binding or its debts without a retreat.
func (l *history) checkUnbinding(t *decision, before workload, s, next dispatch.State) {
	if s.Bound != "" && next.Bound == "" && before.quota && l.awaitsStop(before) {
		l.checkQuotaRelease(t.program, before, s.Bound)
	}
	for _, d := range s.Debts {
		if isDebtor(next, d.Cluster) || t.driver.remotes[d.Cluster].link.State == dispatch.Connected {
			continue
		}
		if before.retained {
			l.unawaited[before.uid] = append(l.unawaited[before.uid], d.Cluster)
		}
		if before.retained && overlapInvariant(t.policy) == "" {
			l.excused[jobCluster{before.ownerUID, d.Cluster}] = true
		}
		if t.hub.declaredGone[d.Cluster] && !t.isGraceOver(d.Cluster) {
			l.checkGoneDeclaration(t, d.Cluster)
		}
	}
}

// checkPredecessors checks that no job is created while one of its name was last seen running, or about to, on a cluster that was lost since.
func (l *history) checkPredecessors(t *decision, c *worker) {
	for _, other := range t.workers {
		r := t.driver.remotes[other.name]
		if other == c || r.link.State == dispatch.Connected || t.isGraceOver(other.name) || t.hub.declaredGone[other.name] {
			continue
		}
		job, obj := r.informers.jobs.get(jobOf(t.item.name)), r.informers.workloads.get(t.item.name)
		runs := job.exists && jobHolder(t.item, job.value) == dispatch.Predecessor && job.value.finished == nil
		may := obj.exists && obj.value.holder(t.item) == dispatch.Predecessor && (obj.value.admitted || obj.value.adopted) && obj.value.finished == nil
		ended := job.exists && job.value.finished != nil
		t.mustHold(invPredecessor, !runs && (!may || ended) || l.isRecordLost(t.item.uid), "%s on %s, while its predecessor's was seen on %s", t.item.name, c.name, other.name)
	}
}

// checkJobStatus checks a status that is about to be written into a job: one of its own runs has come to it.
func (l *history) checkJobStatus(w *workerClusters, item workload, status jobStatus) {
	if status.finished {
		w.mustHold(invRemadeJob, len(l.resultsOf(item.jobUID)) > 0, "%s ends", item.name)
	}
	if status.active {
		ran := false
		for a := range l.started {
			ran = ran || l.jobOf[a.uid] == item.jobUID
		}
		w.mustHold(invRemadeJob, ran, "%s runs", item.name)
	}
}

// checkDeletedAtRest checks that whatever was deleted has gone. A slice stays while another waits to take over what the job runs by.
func (w *World) checkDeletedAtRest() {
	for _, name := range w.hub.workloadNames() {
		item := w.hub.workloads[name]
		kept := item.elastic && item.finished != nil && slices.Contains(w.sortSlices(jobOf(name), item.jobUID).kept, name)
		w.mustHold(invDeletion, !item.deleting || kept, "%s", name)
	}
}

// isBehind reports whether an informer has not shown everything of a name, or may not have.
func (s *informer[T]) isBehind(name string) bool {
	return !s.watching || slices.ContainsFunc(s.queue, func(e watchEvent[T]) bool { return e.list != nil || e.name == name })
}

// discardWorkload j1: a user deletes the Workload; the job stays, and is to get another.
func discardWorkload(c command) error {
	return c.updateWorkload(func(item *workload) {
		if item.deleting || !item.ownsJob() || item.foreignController {
			return
		}
		item.deleting, item.retained = true, true
		c.history.excuseResults(item.uid, time.Time{}) // who deletes it wants it run again
		if item.finished == nil && item.quota {
			c.recordEvent(DeletedRetained)
			if item.elastic {
				c.recordEvent(SliceDiscarded)
			}
		}
	})
}

// remakeJob j1: a user deletes the job and makes it anew, and its Workload is there still.
func remakeJob(c command) error {
	c.hub.lastVersion++
	return c.updateWorkloads(func(item *workload) {
		item.jobUID, item.jobRV, item.status = c.hub.lastVersion, c.hub.lastVersion, jobStatus{}
		item.retained = false
		if item.bound != "" {
			c.recordEvent(RemadeJob)
		}
	})
}
