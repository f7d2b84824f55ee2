package sim

import (
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/worker/admission"
)

// workerClusters are the workers, and all that happens on them without the hub.
type workerClusters struct {
	*hubCluster
	workers []*worker
}

// worker is a cluster that admits copies with the real admission core and runs jobs, one small transition at a time. One with
// nothing but the public API (stock) knows no epochs: a job takes up whatever Workload bears the name it was made for.
type worker struct {
	name string
	gpu  int64
	// up is false while the hub cannot reach it; it goes on working. slow keeps deleted jobs until it ends.
	up, slow  bool
	workloads map[string]remoteWorkload
	jobs      map[string]remoteJob
	informers *informers
	// snapshot is the state of its admission core.
	snapshot     *admission.Snapshot
	fence        workerFence
	orphanedPods []orphanedPods
	// preemptibleGPU is what a workload of its own holds that gives way to copies; weight is how much people like the cluster.
	preemptibleGPU int64
	weight         int
	// noLocalQueue is set if it has no LocalQueue for copies, onHold if that is on hold, tainted if its nodes are.
	noLocalQueue, onHold, tainted bool
	// elastic is set once it has had a copy of a slice.
	elastic bool
	// disturbed are the elastic jobs with which somebody has interfered there.
	disturbed map[string]bool
	// goneEpochs is the highest epoch, above the first, of each Workload whose copies are gone.
	goneEpochs map[int64]int64
}

// stepWorker makes the next transition of one name and reports whether there was one.
func (w *workerClusters) stepWorker(c *worker, name string) bool {
	job, hasJob := c.jobs[jobOf(name)]
	obj, hasCopy := c.workloads[name]
	switch {
	case hasJob && job.deleting && !c.slow && (job.killGrace == 0 || !job.running):
		w.removeJob(c, jobOf(name))
	case hasCopy && obj.deleting && !c.isDown(w.now):
		w.removeRemoteWorkload(c, name)
	case hasJob && w.stepRemoteJob(c, jobOf(name), job, c.permit(name, job)):
	case hasCopy && obj.elastic && !c.isDown(w.now) && w.stepRemoteSlice(c, name, obj, optional[remoteJob]{hasJob, job}):
	case hasCopy && !obj.elastic && !c.isDown(w.now) && w.stepRemoteWorkload(c, name, obj, hasJob, job):
	default:
		return false
	}
	return true
}

// permits reports whether a copy permits a job to run. One that is being deactivated is evicted before anything else.
func (obj remoteWorkload) permits(job remoteJob) bool {
	return obj.owner == job.owner && obj.adopted && obj.admitted && !obj.evicted && !obj.deactivating && obj.finished == nil
}

// permit is what a job may do by its copy, or by those of its slices.
func (c *worker) permit(name string, job remoteJob) permission {
	if job.elastic {
		return c.permitSlice(jobOf(name), job)
	}
	obj, there := c.workloads[name]
	allowed := there && obj.permits(job) && !job.deleting && job.ours
	return permission{allowed, allowed}
}

// stepRemoteJob starts, stops, ends or removes a job.
func (w *workerClusters) stepRemoteJob(c *worker, name string, job remoteJob, may permission) bool {
	switch {
	case job.finished != nil:
		if job.ttl < 0 || w.now.Before(job.ended.Add(job.ttl)) || job.deleting {
			return false
		}
		w.removeJob(c, name)
		return true
	case job.running && !job.stopAt.IsZero():
		return false
	case job.running && !may.goOn && (!job.deleting || !c.slow) && !c.isDown(w.now):
		w.history.checkStop(w, c, name, job)
		job = w.stopPods(job)
	case job.running && !w.now.Before(job.started.Add(job.duration)):
		job.running, job.ended = false, w.now
		job.finished = &dispatch.Outcome{Reason: "Succeeded", Message: "Job finished successfully"}
		w.history.recordEnd(w, c, name, job)
	case !job.running && may.start && !c.isDown(w.now):
		job.running, job.started = true, w.now
		if job.elastic {
			runs, _ := c.chooseSlice(name, job)
			job.runs = min(job.pods, c.workloads[runs].gpu)
		}
		w.history.checkJobStart(w, c, name, job)
	default:
		return job.elastic && job.running && !c.isDown(w.now) && w.stepPods(c, name, job)
	}
	w.putJob(c, name, job)
	return true
}

// stepRemoteWorkload admits, evicts, finishes or removes a Workload.
func (w *workerClusters) stepRemoteWorkload(c *worker, name string, obj remoteWorkload, hasJob bool, job remoteJob) bool {
	switch {
	case obj.adopted && !hasJob:
		w.removeRemoteWorkload(c, name)
		return true
	case hasJob && !obj.adopted && job.owner == obj.owner && (c.fence.stock || !w.parts.Before(job, obj)):
		obj.adopted, obj.adoptedBy = true, job.id
	case obj.finished != nil:
		return false
	case hasJob && job.finished != nil && job.owner == obj.owner:
		obj.finished = job.finished
	case obj.deactivating && !obj.evicted:
		obj.evicted = true
	case obj.evicted && obj.quota && (!hasJob || !job.running):
		obj.quota, obj.admitted, obj.openedAt, obj.reservedAt = false, false, time.Time{}, time.Time{}
	case !obj.quota && !obj.deactivating:
		return w.runCycle(c)
	case obj.quota && !obj.evicted && !obj.admitted:
		obj.admitted, obj.admittedAt = true, w.now
	default:
		return false
	}
	w.putRemoteWorkload(c, name, obj)
	return true
}

// nextTimer is when the worker will do something on its own, zero for never.
func (c *worker) nextTimer(now time.Time) (at time.Time) {
	at = c.nextRequeue(now)
	for _, job := range c.jobs {
		switch {
		case job.running && job.stopAt.IsZero():
			at = earlierTime(at, job.started.Add(job.duration))
		case job.finished != nil && job.ttl >= 0:
			at = earlierTime(at, job.ended.Add(job.ttl))
		}
	}
	return at
}

func (w *workerClusters) putRemoteWorkload(c *worker, name string, obj remoteWorkload) {
	w.recordTrouble(c, name)
	c.workloads[name] = obj
	c.syncSnapshot(name, optional[remoteWorkload]{true, obj})
	w.markChanged()
	c.informers.workloads.enqueue(name, optional[remoteWorkload]{true, obj})
}

func (w *workerClusters) removeRemoteWorkload(c *worker, name string) {
	w.recordTrouble(c, name)
	obj := c.workloads[name]
	if obj.ours && obj.epoch > 1 {
		c.goneEpochs[obj.uid] = max(c.goneEpochs[obj.uid], obj.epoch)
	}
	delete(c.workloads, name)
	c.syncSnapshot(name, optional[remoteWorkload]{})
	w.markChanged()
	c.informers.workloads.enqueue(name, optional[remoteWorkload]{false, obj})
}

func (w *workerClusters) putJob(c *worker, name string, job remoteJob) {
	w.recordTrouble(c, name)
	c.jobs[name] = job
	w.markChanged()
	c.informers.jobs.enqueue(name, job.informerView())
}

func (w *workerClusters) removeJob(c *worker, name string) {
	w.recordTrouble(c, name)
	job := c.jobs[name]
	delete(c.jobs, name)
	delete(c.disturbed, name)
	w.markChanged()
	c.informers.jobs.enqueue(name, optional[remoteJob]{false, job})
}

// earlierTime returns the earlier of two times, where zero means never.
func earlierTime(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// laterTime returns the later of two times.
func laterTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
