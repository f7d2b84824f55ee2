package sim

import (
	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// The calls of the dispatcher's actions on a worker that can be reached, as plan.go of dispatch describes each verb.

func (t *decision) createOffer(c *worker, a dispatch.Action) error {
	if old, exists := c.workloads[t.item.name]; exists {
		if old.ours && old.uid == t.item.uid && old.stampedEpoch() == a.Epoch {
			return nil
		}
		return errRefused
	}
	if c.knownEpoch(t.item.name, t.item.uid) > a.Epoch {
		t.recordEvent(RefusedLate)
		return errRefused
	}
	place := t.item.slicePlace
	if t.item.view != nil && t.driver != nil {
		place = t.item.view.placeOn(c.name, t.driver.remotes[c.name], t.item)
	}
	t.putRemoteWorkload(c, t.item.name, remoteWorkload{
		owner: owner{ours: true, uid: t.item.uid}, epoch: a.Epoch, id: t.nextID(),
		stopsWithoutHub: a.StopsOnHubLost, gpu: t.item.gpu, priority: t.item.priority, duration: t.item.duration, ttl: t.item.ttl, createdAt: t.now,
		tolerates: t.item.tolerates, gated: a.GateClosed, slicePlace: place,
	})
	return nil
}

// openGate lets a copy preempt.
func (t *decision) openGate(c *worker, a dispatch.Action) error {
	obj, exists := c.workloads[t.item.name]
	if !exists || !obj.ours || obj.uid != t.item.uid || obj.stampedEpoch() != a.Epoch || !obj.isGateClosed() {
		return nil
	}
	t.history.checkGateOpening(t, c.name)
	obj.openedAt = t.now
	t.putRemoteWorkload(c, t.item.name, obj)
	return nil
}

func (t *decision) updateOffer(c *worker, a dispatch.Action) error {
	obj, exists := c.workloads[t.item.name]
	if !exists || !obj.ours || obj.uid != t.item.uid || obj.stampedEpoch() != a.Epoch || obj.priority == t.item.priority && !t.isLarger(obj) {
		return nil
	}
	obj.priority = t.item.priority
	if t.isLarger(obj) {
		obj.gpu = t.item.gpu
	}
	t.putRemoteWorkload(c, t.item.name, obj)
	return nil
}

func (t *decision) createJob(c *worker, a dispatch.Action) error {
	if old, exists := c.jobs[jobOf(t.item.name)]; exists {
		if jobHolder(t.item, old) == dispatch.Ours && old.uid != 0 && old.stampedEpoch() == a.Epoch {
			return nil
		}
		return errRefused
	}
	if !t.mayCreateJob(c, a) {
		return errRefused
	}
	t.history.checkJobCreation(t, c, a)
	return t.postJob(c, a, false)
}

// mayCreateJob is what a job needs: a copy of the epoch that is admitted and that no job has taken up.
func (t *decision) mayCreateJob(c *worker, a dispatch.Action) bool {
	obj, exists := c.workloads[t.item.name]
	mine := exists && obj.ours && obj.uid == t.item.uid && obj.stampedEpoch() == a.Epoch
	return mine && obj.admitted && (!obj.adopted || t.parts.DriverBugs.AdoptsTwice) && obj.finished == nil && !obj.deleting
}

// postJob is the last call of CreateJob, as the worker's API server sees it.
func (t *decision) postJob(c *worker, a dispatch.Action, late bool) error {
	if _, exists := c.jobs[jobOf(t.item.name)]; exists {
		return errRefused
	}
	job := remoteJob{owner: owner{ours: true, uid: t.item.uid}, epoch: a.Epoch, duration: t.item.duration, ttl: t.item.ttl, killGrace: t.item.killGrace, staleStatus: t.item.staleStatus, createdLate: late, id: t.nextID(), namesWorkload: true, prebuilt: t.item.name}
	if t.item.elastic {
		job.elastic, job.chain, job.pods = true, t.item.chain, t.item.gpu
	}
	obj, exists := c.workloads[t.item.name]
	if !c.fence.stock && (c.goneEpochs[t.item.uid] > a.Epoch || exists && t.parts.Before(job, obj)) {
		t.recordEvent(RefusedLate)
		return errRefused
	}
	t.putJob(c, jobOf(t.item.name), job)
	return nil
}

// removalOptions is how a job is removed: one that has finished is spared, its object stays until its pods have ended, and a
// caller that is not sure gives it up.
type removalOptions struct {
	spareFinished, foreground bool
	// keepJob is set if the copy alone is removed.
	keepJob bool
	// unchanged tells of a copy whether it is as it was seen.
	unchanged func(remoteWorkload) bool
	// shown is the copy as the hub is shown it; nil if that does not matter.
	shown func() (remoteWorkload, bool)
	// spared is called if a job was spared: what was found is as good as a live read.
	spared  func()
	confirm func() error
}

// retractObjects removes job and copy of a Workload, as the dispatcher saw it, if they are to go; a finished job that is to be
// spared saves both.
func (w *workerClusters) retractObjects(c *worker, item workload, how removalOptions, goes func(owner, int64) bool) error {
	name := item.name
	job, hasJob := c.jobs[jobOf(name)]
	obj, hasCopy := c.workloads[name]
	hasJob = hasJob && !how.keepJob
	if hasJob && job.isRemovable(item, goes) || hasCopy && obj.adopted && goes(obj.owner, obj.stampedEpoch()) {
		if err := how.confirm(); err != nil {
			return err
		}
	}
	if hasJob && job.isRemovable(item, goes) {
		if how.spareFinished && job.finished != nil && job.uid != 0 && job.ownerFor(item).uid == item.uid {
			how.spared()
			return nil
		}
		w.history.checkJobRemoval(w, c, item, job, how)
		w.deleteJob(c, jobOf(name), job, how)
	}
	if how.keepJob && hasCopy && how.unchanged != nil && !how.unchanged(obj) {
		return errRefused
	}
	if obj, exists := c.workloads[name]; exists && goes(obj.owner, obj.stampedEpoch()) {
		w.removeRemoteWorkload(c, name)
	}
	return nil
}

// deleteJob removes a job at once, or when the worker is not slow any more, or when its pods have ended.
func (w *workerClusters) deleteJob(c *worker, name string, job remoteJob, how removalOptions) {
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
		w.markChanged() // it may be the worker's to remove
		w.deleteInBackground(c, name)
	}
}

// deleteInBackground removes a job at once. Its pods are told to stop by that, unless they were before, and outlive it. A worker of
// ours refuses that for one that goes in the foreground already.
func (w *workerClusters) deleteInBackground(c *worker, name string) {
	job := c.jobs[name]
	if job.deleting && job.foreground && !c.fence.stock && !w.parts.DriverBugs.AllowsBackgroundDeletion {
		return
	}
	if stopped := w.stopPods(job); stopped.running {
		c.orphanedPods = append(c.orphanedPods, orphanedPods{name: name, ownerJob: job, until: stopped.stopAt})
	}
	w.removeJob(c, name)
}

func (t *decision) evictRemote(c *worker, a dispatch.Action) error {
	obj, exists := c.workloads[t.item.name]
	if exists && obj.ours && obj.uid == t.item.uid && dispatch.IsBelow(obj.stampedEpoch(), a.Epoch) && !obj.deactivating {
		obj.deactivating = true
		t.putRemoteWorkload(c, t.item.name, obj)
	}
	return nil
}

func (t *decision) readLive(c *worker, a dispatch.Action) error {
	obj, hasCopy := c.workloads[t.item.name]
	job, hasJob := c.jobs[jobOf(t.item.name)]
	t.driver.remotes[c.name].liveReads[t.item.name] = liveAnswer{epoch: a.Epoch, at: t.now, copy: optional[remoteWorkload]{hasCopy, obj}, job: optional[remoteJob]{hasJob, job}}
	t.markChanged()
	return nil
}

func (t *decision) copyJobStatus(job optional[remoteJob]) error {
	if !job.exists || jobHolder(t.item, job.value) != dispatch.Ours {
		return nil
	}
	t.history.checkShownStatus(t, t.action.Cluster, job.value)
	return t.setJobStatus(job.value.status())
}

// setJobStatus writes the status of the hub's job, which is not guarded by the Workload's version.
func (t *decision) setJobStatus(status jobStatus) error {
	now, ok := t.hub.workloads[t.item.name]
	owns := t.item.ownsJob() || t.parts.DriverBugs.MatchesJobByName
	switch {
	case !ok || now.jobUID == 0 || !owns || now.status == status || now.status.finished:
		return nil
	case now.jobRV != t.item.jobRV:
		return errRefused
	}
	t.history.checkJobStatus(t.workerClusters, now, status)
	t.hub.lastVersion++
	for _, item := range t.hub.workloadsOfJob(now) {
		item.status, item.jobRV = status, t.hub.lastVersion
		t.storeWorkload(item)
		now.jobRV = item.jobRV
	}
	t.item.status, t.item.jobRV = status, now.jobRV
	return nil
}

// finishWorkload writes the last status of the hub's job, and then the outcome of its Workload: two calls, between which the program
// may crash.
func (t *decision) finishWorkload(a dispatch.Action) error {
	if now, ok := t.hub.workloads[t.item.name]; !ok || now.uid != t.item.uid || now.finished != nil {
		return nil
	} else if !now.status.finished {
		t.history.checkFinish(t, a.Cluster)
		if err := t.makeCall(func() error { return t.setJobStatus(jobStatus{finished: true}) }); err != nil {
			return t.recordTornFinish(err)
		}
	}
	return t.recordTornFinish(t.makeCall(func() error {
		now, ok := t.hub.workloads[t.item.name]
		if !ok || now.uid != t.item.uid || now.finished != nil {
			return nil
		} else if now.ownRV != t.item.ownRV {
			return errRefused
		}
		t.history.checkFinish(t, a.Cluster)
		outcome := a.Outcome
		now.finished = &outcome
		t.putWorkload(now)
		return nil
	}))
}

// recordTornFinish notes that the last status is stored and Finished is not.
func (t *decision) recordTornFinish(err error) error {
	if now := t.hub.workloads[t.item.name]; err != nil && now.status.finished && now.finished == nil {
		t.recordEvent(TornFinish)
	}
	return err
}
