package sim

import (
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/worker/job"
)

// The controller of the hub's jobs: it records ends, gives quota back, and keeps a Workload that was deleted for as long as
// its job may run on a cluster. The real one decides.

// JobFunc is job.Step, or a mutant of it.
type JobFunc func(job.Facts) job.Plan

// stepJobController lets it do what it would do now, and reports whether there was anything.
func (w *program) stepJobController(item workload) bool {
	if item.elastic {
		return w.stepElasticController(item)
	}
	if !item.ownsJob() {
		return w.finishOrphan(item)
	}
	switch plan := w.planJob(item); plan.Do {
	case job.DoFinish:
		item.finished = &dispatch.Outcome{Reason: "Succeeded", Message: "Job finished successfully"}
		w.putWorkload(item)
	case job.DoRelease:
		w.releaseQuota(item)
	case job.DoRemoveFinalizer:
		w.removeFinalizer(item)
	default:
		return false
	}
	return true
}

// planJob asks the real controller, or does what one of another make does: it goes by what the job shows.
func (w *hubCluster) planJob(item workload) job.Plan {
	switch {
	case !item.foreignController:
		return w.parts.Job(w.jobControllerFacts(item))
	case item.finished != nil:
	case item.status.finished:
		return job.Plan{Do: job.DoFinish}
	case item.quota && item.evicted && !item.status.active:
		return job.Plan{Do: job.DoRelease}
	}
	return job.Plan{}
}

// jobControllerFacts are what it sees of a job that is stopped as soon as that is asked for.
func (w *hubCluster) jobControllerFacts(item workload) job.Facts {
	given := item.bound == "" || item.check == dispatch.Retry || item.check == dispatch.Rejected || item.evicted && item.evictedByCheck
	f := job.Facts{
		Now: w.now, Scope: job.ScopeOwn, Suspended: true, Stopped: true, Link: job.LinkMatching, Finalizer: item.deleting,
		Deleting: item.deleting, Reserved: item.quota, Evicted: item.evicted, Finished: item.finished != nil, FinishedAsJob: true,
		Drained:    !item.status.active || given,
		Dispatched: item.evicted && !given && w.hasCheckEntry(item),
	}
	if item.finished == nil {
		f.Bound, f.HasDebt = item.bound != "", item.record != nil && item.record.Owed || w.isRecordMissing(item) || w.awaitsRecord(item)
	}
	if item.status.finished {
		f.Ended = &job.Outcome{Success: true}
	}
	return f
}

// hasCheckEntry reports whether the Workload has an entry for the dispatcher's check, and there is such a check.
func (w *hubCluster) hasCheckEntry(item workload) bool { return item.check != "" && !w.hub.noCheck }

// isRecordMissing reports whether a Workload that is being deleted has no record although it was evicted: it waits for its dispatcher.
func (w *hubCluster) isRecordMissing(item workload) bool {
	over := item.evictions
	if item.quota && item.evicted {
		over--
	}
	return item.record == nil && item.deleting && over > 0 && w.hasCheckEntry(item)
}

// finishOrphan ends and lets go a Workload whose job is no more, another bearing its name.
func (w *hubCluster) finishOrphan(item workload) bool {
	if item.finished == nil && !item.deleting {
		item.finished = &dispatch.Outcome{Reason: "OwnerNotFound"}
		w.putWorkload(item)
		return true
	}
	if item.elastic {
		w.history.recordsLost[w.history.root(item.uid)] = true // the others go, too, in any order, and no job is left to which that matters
	}
	w.removeFinalizer(item)
	return true
}

// initialCheckState is what the check says of a Workload that has just got quota, or lost it.
func (w workload) initialCheckState() dispatch.CheckState {
	if w.noCheckEntry {
		return ""
	}
	return dispatch.Pending
}

// releaseQuota gives the hub's quota back.
func (w *program) releaseQuota(item workload) {
	if w.history.awaitsStop(item) && w.hasCheckEntry(item) && item.bound != "" {
		w.history.checkQuotaRelease(w, item, item.bound)
	}
	item.message = "Reset to Pending after eviction. Previously: " + string(item.check)
	item.quota, item.reservation, item.reservedAt = false, "", time.Time{}
	item.check, item.bound, item.nominated = item.initialCheckState(), "", nil
	w.putWorkload(item)
}

// removeFinalizer takes the finalizer off a Workload that is being deleted. If its job, or another of its name, is there and has not ended, it
// gets a Workload of its own, which knows nothing of this one.
func (w *hubCluster) removeFinalizer(item workload) {
	w.removeWorkload(item.name)
	if item.jobUID == 0 || item.status.finished {
		return
	}
	if item.elastic {
		if len(w.hub.slicesOf(jobOf(item.name))) == 0 {
			w.submitNextSlice(item, "")
		}
		return
	}
	w.submitWorkload(workload{
		name: item.name, jobUID: item.jobUID, gpu: item.gpu, priority: item.priority, duration: item.duration, ttl: item.ttl, killGrace: item.killGrace, staleStatus: item.staleStatus,
		sibling: item.sibling, tolerates: item.tolerates, foreignController: item.foreignController, noCheckEntry: item.noCheckEntry, status: item.status, jobRV: item.jobRV,
	})
}

// submitWorkload makes the Workload of a job.
func (w *hubCluster) submitWorkload(item workload) {
	w.hub.lastVersion++
	item.uid, item.ownerUID = w.hub.lastVersion, item.jobUID
	w.history.jobOf[item.uid] = item.jobUID
	if older, there := w.hub.workloads[item.replaces]; there && item.elastic {
		w.history.replaced[item.uid] = older.uid
	}
	w.putWorkload(item)
}
