package sim

import (
	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// The calls of the dispatcher's actions on a worker that can be reached, as plan.go of dispatch describes each verb.

func (t *turn) createOffer(c *worker, a dispatch.Action) error {
	if old, exists := c.copies[t.item.name]; exists {
		if old.ours && old.uid == t.item.uid && old.stamp() == a.Epoch {
			return nil
		}
		return errRefused
	}
	if c.knowsOf(t.item.name, t.item.uid) > a.Epoch {
		t.reach(RefusedLate)
		return errRefused
	}
	t.putCopy(c, t.item.name, copied{
		owner: owner{ours: true, uid: t.item.uid}, epoch: a.Epoch,
		stops: a.Stops, gpu: t.item.gpu, priority: t.item.priority, run: t.item.run, ttl: t.item.ttl, createdAt: t.now,
		tolerates: t.item.tolerates, gated: a.Gated,
	})
	return nil
}

// openGate lets a copy preempt.
func (t *turn) openGate(c *worker, a dispatch.Action) error {
	obj, exists := c.copies[t.item.name]
	if !exists || !obj.ours || obj.uid != t.item.uid || obj.stamp() != a.Epoch || !obj.closed() {
		return nil
	}
	t.ledger.opening(t, c.name)
	obj.openedAt = t.now
	t.putCopy(c, t.item.name, obj)
	return nil
}

func (t *turn) updateOffer(c *worker, a dispatch.Action) error {
	obj, exists := c.copies[t.item.name]
	if !exists || !obj.ours || obj.uid != t.item.uid || obj.stamp() != a.Epoch || obj.priority == t.item.priority {
		return nil
	}
	obj.priority = t.item.priority
	t.putCopy(c, t.item.name, obj)
	return nil
}

func (t *turn) createJob(c *worker, a dispatch.Action) error {
	if old, exists := c.jobs[t.item.name]; exists {
		if old.ours && old.uid == t.item.uid && old.stamp() == a.Epoch && old.lost == nothing {
			return nil
		}
		return errRefused
	}
	if !t.mayCreate(c, a) {
		return errRefused
	}
	t.ledger.creating(t, c, a)
	return t.postJob(c, a, false)
}

// mayCreate is what a job needs: a copy of the epoch that is admitted and that no job has taken up.
func (t *turn) mayCreate(c *worker, a dispatch.Action) bool {
	obj, exists := c.copies[t.item.name]
	mine := exists && obj.ours && obj.uid == t.item.uid && obj.stamp() == a.Epoch
	return mine && obj.admitted && (!obj.adopted || t.parts.Shell.AdoptsAgain) && obj.finished == nil && !obj.deleting
}

// postJob is the last call of CreateJob, as the worker's API server sees it.
func (t *turn) postJob(c *worker, a dispatch.Action, late bool) error {
	if _, exists := c.jobs[t.item.name]; exists {
		return errRefused
	}
	job := remoteJob{owner: owner{ours: true, uid: t.item.uid}, epoch: a.Epoch, run: t.item.run, ttl: t.item.ttl, kill: t.item.kill, late: late, id: t.nextID(), named: true}
	obj, exists := c.copies[t.item.name]
	if !c.guard.stock && (c.over[t.item.uid] > a.Epoch || exists && t.parts.Before(job, obj)) {
		t.reach(RefusedLate)
		return errRefused
	}
	t.putJob(c, t.item.name, job)
	return nil
}

// removal is how a job is removed: one that has finished is spared, its object stays until its pods have ended, and who is not sure
// gives it up.
type removal struct {
	spare, foreground bool
	sure              func() error
}

// retract removes job and copy of a Workload, as the dispatcher saw it, if they are to go; a finished job that is to be
// spared saves both.
func (w *World) retract(c *worker, item workload, how removal, goes func(owner, int64) bool) error {
	name := item.name
	job, hasJob := c.jobs[name]
	obj, hasCopy := c.copies[name]
	if hasJob && job.removable(goes) || hasCopy && obj.adopted && goes(obj.owner, obj.stamp()) {
		if err := how.sure(); err != nil {
			return err
		}
	}
	if hasJob && job.removable(goes) {
		if how.spare && job.finished != nil && job.uid == item.uid {
			return nil
		}
		w.ledger.destroying(w, c, item, job)
		w.deleteJob(c, name, job, how)
	}
	if obj, exists := c.copies[name]; exists && goes(obj.owner, obj.stamp()) {
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
			job.deleting, job.foreground = true, how.foreground
			w.putJob(c, name, job)
		}
	default:
		stopped.deleting, stopped.foreground = true, how.foreground
		c.jobs[name] = stopped
		w.deleteInBackground(c, name)
	}
}

// deleteInBackground removes a job at once. Its pods are told to stop by that, unless they were before, and outlive it. A worker of
// ours refuses that for one that goes in the foreground already.
func (w *World) deleteInBackground(c *worker, name string) {
	job := c.jobs[name]
	if job.deleting && job.foreground && !c.guard.stock && !w.parts.Shell.LetsOthersHurry {
		return
	}
	if stopped := w.stopPods(job); stopped.running {
		c.ghosts = append(c.ghosts, ghost{name: name, job: job, until: stopped.stopAt})
	}
	w.removeJob(c, name)
}

func (t *turn) evictRemote(c *worker, a dispatch.Action) error {
	obj, exists := c.copies[t.item.name]
	if exists && obj.ours && obj.uid == t.item.uid && dispatch.Before(obj.stamp(), a.Epoch) && !obj.deactivating {
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
	if !job.there || jobHolder(t.item, job.value) != dispatch.Ours {
		return nil
	}
	t.ledger.showing(t, t.action.Cluster, job.value)
	return t.setStatus(job.value.status())
}

// setStatus writes the status of the hub's job, which is not guarded by the Workload's version.
func (t *turn) setStatus(status jobStatus) error {
	now, ok := t.hub.items[t.item.name]
	owns := t.item.owns() || t.parts.Shell.TakesTheName
	switch {
	case !ok || now.job == 0 || !owns || now.status == status || now.status.finished:
		return nil
	case now.jobRV != t.item.jobRV:
		return errRefused
	}
	t.ledger.inheriting(t.World, now, status)
	t.hub.last++
	now.status, now.jobRV = status, t.hub.last
	t.store(now)
	t.item.status, t.item.jobRV = status, now.jobRV
	return nil
}

// finish writes the last status of the hub's job, and then the outcome of its Workload: two calls, between which the program
// may crash.
func (t *turn) finish(a dispatch.Action) error {
	if now, ok := t.hub.items[t.item.name]; !ok || now.uid != t.item.uid || now.finished != nil {
		return nil
	} else if !now.status.finished {
		t.ledger.finishing(t, a.Cluster)
		if err := t.call(func() error { return t.setStatus(jobStatus{finished: true}) }); err != nil {
			return t.torn(err)
		}
	}
	return t.torn(t.call(func() error {
		now, ok := t.hub.items[t.item.name]
		if !ok || now.uid != t.item.uid || now.finished != nil {
			return nil
		} else if now.ownRV != t.item.ownRV {
			return errRefused
		}
		t.ledger.finishing(t, a.Cluster)
		outcome := a.Outcome
		now.finished = &outcome
		t.put(now)
		return nil
	}))
}

// torn notes that the last status is stored and Finished is not.
func (t *turn) torn(err error) error {
	if now := t.hub.items[t.item.name]; err != nil && now.status.finished && now.finished == nil {
		t.reach(TornFinish)
	}
	return err
}
