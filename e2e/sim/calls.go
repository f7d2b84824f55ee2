package sim

import (
	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// The calls of the dispatcher's actions on a worker that can be reached, as plan.go of dispatch describes each verb.

func (t *turn) createOffer(c *worker, a dispatch.Action) error {
	if old, exists := c.copies[t.item.name]; exists {
		if old.ours && old.uid == t.item.uid && old.epoch == a.Epoch {
			return nil
		}
		return errRefused
	}
	t.putCopy(c, t.item.name, copied{
		owner: owner{ours: true, uid: t.item.uid}, epoch: a.Epoch,
		stops: a.Stops, gpu: t.item.gpu, priority: t.item.priority, run: t.item.run, ttl: t.item.ttl, createdAt: t.now,
	})
	return nil
}

func (t *turn) updateOffer(c *worker, a dispatch.Action) error {
	obj, exists := c.copies[t.item.name]
	if !exists || !obj.ours || obj.uid != t.item.uid || obj.epoch != a.Epoch || obj.priority == t.item.priority {
		return nil
	}
	obj.priority = t.item.priority
	t.putCopy(c, t.item.name, obj)
	return nil
}

func (t *turn) createJob(c *worker, a dispatch.Action) error {
	if old, exists := c.jobs[t.item.name]; exists {
		if old.ours && old.uid == t.item.uid && old.epoch == a.Epoch {
			return nil
		}
		return errRefused
	}
	obj, exists := c.copies[t.item.name]
	mine := exists && obj.ours && obj.uid == t.item.uid && obj.epoch == a.Epoch
	if !mine || !obj.admitted || obj.adopted && !t.parts.Shell.AdoptsAgain || obj.finished != nil || obj.deleting {
		return errRefused
	}
	t.ledger.creating(t, c, a)
	t.putJob(c, t.item.name, remoteJob{owner: owner{ours: true, uid: t.item.uid}, epoch: a.Epoch, run: t.item.run, ttl: t.item.ttl, kill: t.item.kill})
	return nil
}

// removal is how a job is removed: one that has finished is spared, its object stays until its pods have ended.
type removal struct{ spare, foreground bool }

// retract removes job and copy of a Workload, as the dispatcher saw it, if they are to go; a finished job that is to be
// spared saves both.
func (w *World) retract(c *worker, item workload, how removal, goes func(owner, int64) bool) error {
	name := item.name
	job, hasJob := c.jobs[name]
	if hasJob && goes(job.owner, job.epoch) {
		if how.spare && job.finished != nil && job.uid == item.uid {
			return nil
		}
		w.ledger.destroying(w, c, item, job)
		w.deleteJob(c, name, job, how)
	}
	if obj, exists := c.copies[name]; exists && goes(obj.owner, obj.epoch) {
		w.removeCopy(c, name)
	}
	return nil
}

// deleteJob removes a job at once, or when the worker is not slow any more, or when its pods have ended.
func (w *World) deleteJob(c *worker, name string, job remoteJob, how removal) {
	stopped := w.stopPods(job)
	switch {
	case c.slow || how.foreground && stopped.running:
		if how.foreground {
			job = stopped
		}
		if !job.deleting || job != c.jobs[name] {
			job.deleting = true
			w.putJob(c, name, job)
		}
	default:
		if stopped.running {
			c.ghosts = append(c.ghosts, ghost{name: name, job: job, until: stopped.stopAt})
		}
		w.removeJob(c, name)
	}
}

func (t *turn) evictRemote(c *worker, a dispatch.Action) error {
	obj, exists := c.copies[t.item.name]
	if exists && obj.ours && obj.uid == t.item.uid && obj.epoch < a.Epoch && !obj.deactivating {
		obj.deactivating = true
		t.putCopy(c, t.item.name, obj)
	}
	return nil
}

func (t *turn) liveRead(c *worker, a dispatch.Action) error {
	obj, hasCopy := c.copies[t.item.name]
	job, hasJob := c.jobs[t.item.name]
	t.program.remote[c.name].live[t.item.name] = answer{epoch: a.Epoch, at: t.now, copy: present[copied]{hasCopy, obj}, job: present[remoteJob]{hasJob, job}}
	t.changed()
	return nil
}

func (t *turn) copyStatus(job present[remoteJob]) error {
	if !job.there || !job.value.ours {
		return nil
	}
	return t.setStatus(job.value.status())
}

// setStatus writes the status of the hub's job, which is not guarded by the Workload's version.
func (t *turn) setStatus(status jobStatus) error {
	now, ok := t.hub.items[t.item.name]
	if ok && now.uid == t.item.uid && now.status != status && !now.status.finished {
		now.status = status
		t.put(now)
	}
	return nil
}

func (t *turn) finish(a dispatch.Action) error {
	now, ok := t.hub.items[t.item.name]
	if !ok || now.uid != t.item.uid || now.finished != nil {
		return nil
	}
	t.ledger.finishing(t, a)
	outcome := a.Outcome
	now.finished, now.status = &outcome, jobStatus{finished: true}
	t.put(now)
	return nil
}
