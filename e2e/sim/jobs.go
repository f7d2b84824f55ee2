package sim

import (
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/worker/job"
)

// The controller of the hub's jobs: it records ends, gives quota back, and keeps a Workload that somebody has deleted for as long as
// its job may run somewhere. The real one decides.

// JobFunc is job.Step, or a mutant of it.
type JobFunc func(job.Facts) job.Plan

// control lets it do what it would do now, and reports whether there was anything.
func (w *World) control(item workload) bool {
	if !item.owns() {
		return w.controlOrphan(item)
	}
	switch plan := w.decide(item); plan.Do {
	case job.DoFinish:
		item.finished = &dispatch.Outcome{Reason: "Succeeded", Message: "Job finished successfully"}
		w.put(item)
	case job.DoRelease:
		w.release(item)
	case job.DoLetGo:
		w.letGo(item)
	default:
		return false
	}
	return true
}

// decide asks the real controller, or does what one of another make does: it goes by what the job shows.
func (w *World) decide(item workload) job.Plan {
	switch {
	case !item.alien:
		return w.parts.Job(w.facts(item))
	case item.finished != nil:
	case item.status.finished:
		return job.Plan{Do: job.DoFinish}
	case item.quota && item.evicted && !item.status.active:
		return job.Plan{Do: job.DoRelease}
	}
	return job.Plan{}
}

// facts are what it sees of a job that is stopped as soon as that is asked for.
func (w *World) facts(item workload) job.Facts {
	given := item.bound == "" || item.check == dispatch.Retry || item.check == dispatch.Rejected || item.evicted && item.forCheck
	f := job.Facts{
		Now: w.now, Scope: job.ScopeOwn, Suspended: true, Stopped: true, Link: job.LinkMatching, Finalizer: item.deleting,
		Deleting: item.deleting, Reserved: item.quota, Evicted: item.evicted, Finished: item.finished != nil, FinishedAsJob: true,
		Drained:    !item.status.active || given,
		Dispatched: item.evicted && !given && w.asked(item),
	}
	if item.finished == nil {
		f.Bound, f.Owed = item.bound != "", item.record != nil && item.record.Owed || w.lacksRecord(item)
	}
	if item.status.finished {
		f.Ended = &job.Outcome{Success: true}
	}
	return f
}

// asked reports whether the Workload has an entry for the dispatcher's check, and there is such a check.
func (w *World) asked(item workload) bool { return item.check != "" && !w.hub.noCheck }

// lacksRecord reports whether a Workload that is being deleted has no record although it was evicted: it waits for its dispatcher.
func (w *World) lacksRecord(item workload) bool {
	over := item.evictions
	if item.quota && item.evicted {
		over--
	}
	return item.record == nil && item.deleting && over > 0 && w.asked(item)
}

// controlOrphan ends and lets go a Workload whose job is no more, another bearing its name.
func (w *World) controlOrphan(item workload) bool {
	if item.finished == nil && !item.deleting {
		item.finished = &dispatch.Outcome{Reason: "OwnerNotFound"}
		w.put(item)
		return true
	}
	w.letGo(item)
	return true
}

// entry is what the check says of a Workload that has just got quota, or lost it.
func (w workload) entry() dispatch.CheckState {
	if w.unasked {
		return ""
	}
	return dispatch.Pending
}

// release gives the hub's quota back.
func (w *World) release(item workload) {
	if w.ledger.awaits(item) && w.asked(item) && item.bound != "" {
		w.ledger.stopping(w, item, item.bound)
	}
	item.message = "Reset to Pending after eviction. Previously: " + string(item.check)
	item.quota, item.reservation, item.reservedAt = false, "", time.Time{}
	item.check, item.bound, item.nominated = item.entry(), "", nil
	w.put(item)
}

// letGo takes the finalizer off a Workload that is being deleted. If its job, or another of its name, is there and has not ended, it
// gets a Workload of its own, which knows nothing of this one.
func (w *World) letGo(item workload) {
	w.removeLocal(item.name)
	if item.job == 0 || item.status.finished {
		return
	}
	w.submit(workload{
		name: item.name, job: item.job, gpu: item.gpu, priority: item.priority, run: item.run, ttl: item.ttl, kill: item.kill,
		sibling: item.sibling, tolerates: item.tolerates, alien: item.alien, unasked: item.unasked, status: item.status, jobRV: item.jobRV,
	})
}

// submit makes the Workload of a job.
func (w *World) submit(item workload) {
	w.hub.last++
	item.uid, item.owner = w.hub.last, item.job
	w.ledger.jobs[item.uid] = item.job
	w.put(item)
}
