package sim

import (
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/worker/admission"
)

// worker is a cluster that admits copies with the real admission core and runs jobs, one small transition at a time. One with
// nothing but the public API (stock) knows no epochs: a job takes up whatever Workload bears the name it was made for.
type worker struct {
	name string
	gpu  int64
	// up is false while the hub cannot reach it; it goes on working. slow keeps deleted jobs until it ends.
	up, slow bool
	copies   map[string]copied
	jobs     map[string]remoteJob
	watch    *watch
	// snapshot is the state of its admission core.
	snapshot *admission.Snapshot
	guard    guard
	ghosts   []ghost
	// squatted is what a workload of its own holds that gives way to copies; weight is how much people like the cluster.
	squatted int64
	weight   int
	// bare is set if it has no LocalQueue for copies, onHold if that is on hold, tainted if its nodes are.
	bare, onHold, tainted bool
	// over is the highest epoch, above the first, of each Workload whose copies are gone.
	over map[int64]int64
}

// work makes the next transition of one name and reports whether there was one.
func (w *World) work(c *worker, name string) bool {
	job, hasJob := c.jobs[name]
	obj, hasCopy := c.copies[name]
	switch {
	case hasJob && job.deleting && !c.slow && (job.kill == 0 || !job.running):
		w.removeJob(c, name)
	case hasCopy && obj.deleting && !c.down(w.now):
		w.removeCopy(c, name)
	case hasJob && w.workJob(c, name, job, present[copied]{hasCopy, obj}):
	case hasCopy && !c.down(w.now) && w.workCopy(c, name, obj, hasJob, job):
	default:
		return false
	}
	return true
}

// allows reports whether a copy permits a job to run. One that is being deactivated is evicted before anything else.
func (obj copied) allows(job remoteJob) bool {
	return obj.owner == job.owner && obj.adopted && obj.admitted && !obj.evicted && !obj.deactivating && obj.finished == nil
}

// workJob starts, stops, ends or removes a job.
func (w *World) workJob(c *worker, name string, job remoteJob, obj present[copied]) bool {
	allowed := obj.there && obj.value.allows(job) && !job.deleting && job.ours
	switch {
	case job.finished != nil:
		if job.ttl < 0 || w.now.Before(job.ended.Add(job.ttl)) || job.deleting {
			return false
		}
		w.removeJob(c, name)
		return true
	case job.running && !job.stopAt.IsZero():
		return false
	case job.running && !allowed && (!job.deleting || !c.slow) && !c.down(w.now):
		job = w.stopPods(job)
	case job.running && !w.now.Before(job.started.Add(job.run)):
		job.running, job.ended = false, w.now
		job.finished = &dispatch.Outcome{Reason: "Succeeded", Message: "Job finished successfully"}
		w.ledger.ended(w, c, name, job)
	case !job.running && allowed && !c.down(w.now):
		job.running, job.started = true, w.now
		w.ledger.started(w, c, name, job)
	default:
		return false
	}
	w.putJob(c, name, job)
	return true
}

// workCopy admits, evicts, finishes or removes a Workload.
func (w *World) workCopy(c *worker, name string, obj copied, hasJob bool, job remoteJob) bool {
	switch {
	case obj.adopted && !hasJob:
		w.removeCopy(c, name)
		return true
	case hasJob && !obj.adopted && job.owner == obj.owner && (c.guard.stock || !w.parts.Before(job, obj)):
		obj.adopted, obj.adoptedBy = true, job.id
	case obj.finished != nil:
		return false
	case hasJob && job.finished != nil && job.owner == obj.owner:
		obj.finished = job.finished
	case obj.deactivating && !obj.evicted:
		obj.evicted = true
	case obj.evicted && obj.quota && (!hasJob || !job.running):
		obj.quota, obj.admitted, obj.openedAt = false, false, time.Time{}
	case !obj.quota && !obj.deactivating:
		return w.cycle(c)
	case obj.quota && !obj.evicted && !obj.admitted:
		obj.admitted, obj.admittedAt = true, w.now
	default:
		return false
	}
	w.putCopy(c, name, obj)
	return true
}

// nextTimer is when the worker will do something on its own, zero for never.
func (c *worker) nextTimer(now time.Time) (at time.Time) {
	at = c.due(now)
	for _, job := range c.jobs {
		switch {
		case job.running && job.stopAt.IsZero():
			at = soonest(at, job.started.Add(job.run))
		case job.finished != nil && job.ttl >= 0:
			at = soonest(at, job.ended.Add(job.ttl))
		}
	}
	return at
}

func (w *World) putCopy(c *worker, name string, obj copied) {
	w.beforeChange(c, name)
	c.copies[name] = obj
	c.reckon(name, present[copied]{true, obj})
	w.changed()
	c.watch.copies.send(name, present[copied]{true, obj})
}

func (w *World) removeCopy(c *worker, name string) {
	w.beforeChange(c, name)
	obj := c.copies[name]
	if obj.ours && obj.epoch > 1 {
		c.over[obj.uid] = max(c.over[obj.uid], obj.epoch)
	}
	delete(c.copies, name)
	c.reckon(name, present[copied]{})
	w.changed()
	c.watch.copies.send(name, present[copied]{false, obj})
}

func (w *World) putJob(c *worker, name string, job remoteJob) {
	w.beforeChange(c, name)
	c.jobs[name] = job
	w.changed()
	c.watch.jobs.send(name, job.shown())
}

func (w *World) removeJob(c *worker, name string) {
	w.beforeChange(c, name)
	job := c.jobs[name]
	delete(c.jobs, name)
	w.changed()
	c.watch.jobs.send(name, present[remoteJob]{false, job})
}

// soonest returns the earlier of two times, where zero means never.
func soonest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// latest returns the later of two times.
func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
