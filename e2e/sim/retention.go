package sim

import (
	"slices"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// What has finished and stays for a time on the cluster that ran it.

// copyGrace is how long a copy may hold quota of a worker after its job has ended.
const copyGrace = time.Minute

// isWithinRetention reports whether the retention of a Workload that has finished lasts. One that was dated further ahead than the
// retention itself has none.
func (w *hubCluster) isWithinRetention(item workload) bool {
	left := item.finishedAt.Add(w.policy.RetainFinished).Sub(w.now)
	return item.finished != nil && !item.deleting && left > 0 && left <= 2*w.policy.RetainFinished
}

// isRetainedOn reports whether what a Workload has left on a worker in an epoch stays there for a time, in truth.
func (w *workerClusters) isRetainedOn(c *worker, item workload, epoch int64) bool {
	return w.isWithinRetention(item) && isBoundTo(item, c.name) && item.state().Epoch == epoch && !w.hub.draining[c.name]
}

// retainedJob returns the Workload for which a job on a worker is retained, in truth; false if it is not. Excused are jobs with which others
// have interfered, those whose record was lost, and those whose copy holds quota for too long as far as the hub was shown.
func (w *workerClusters) retainedJob(c *worker, name string) (item workload, retained bool) {
	job, there := c.jobs[name]
	item = w.hub.workloads[name]
	if job.elastic {
		item, _ = w.sliceWithJob(workload{name: name})
	}
	obj, hasCopy := c.workloads[item.name]
	sound := job.finished != nil && job.lostMarks == lostNone && !job.tampered && job.forgedEpoch == 0 && (!hasCopy || obj.uid == job.uid && obj.stampedEpoch() == job.epoch)
	if !there || !sound || job.deleting || job.uid != item.uid || w.history.isRecordLost(item.uid) || !w.isRetainedOn(c, item, job.epoch) {
		return item, false
	}
	shown := c.informers.workloads.get(item.name)
	holdsQuota := shown.exists && shown.value.finished == nil && !w.now.Before(item.finishedAt.Add(copyGrace))
	return item, !holdsQuota
}

// checkRetainedPlan checks that nobody means to remove a job that is retained.
func (l *history) checkRetainedPlan(t *decision) {
	c := t.lookupWorker(t.item.bound)
	if c == nil || t.item.finished == nil {
		return
	}
	if item, retained := t.retainedJob(c, jobOf(t.item.name)); retained && item.uid == t.item.uid {
		removed := slices.ContainsFunc(t.plan.Actions, func(a dispatch.Action) bool {
			return a.Verb == dispatch.Retract && a.Cluster == c.name && !a.OnlyCopy && !a.SpareFinished
		})
		t.mustHold(invRetained, !removed, "%s is to go from %s", item.name, c.name)
	}
}

// checkRetained checks that a job which is about to be removed is not one that is retained.
func (l *history) checkRetained(w *workerClusters, c *worker, name string) {
	item, retained := w.retainedJob(c, name)
	w.mustHold(invRetained, !retained, "%s on %s, which finished at %s", item.name, c.name, item.finishedAt.Format(time.TimeOnly))
}

// checkRetentionsAtRest checks that what is left of Workloads that have finished is retained.
func (w *workerClusters) checkRetentionsAtRest() {
	for _, c := range w.workers {
		for _, name := range c.objectNames() {
			item := w.hub.workloads[name]
			if obj, there := c.workloads[name]; there && obj.ours && !obj.deleting && obj.uid == item.uid && item.finished != nil && !item.elastic && !item.deleting {
				w.mustHold(invRetentionOver, w.isRetainedOn(c, item, obj.epoch), "the copy of %s on %s", name, c.name)
			}
			job, there := c.jobs[name]
			if job.elastic {
				item, _ = w.sliceWithJob(workload{name: name})
			}
			if there && job.ours && !job.deleting && job.uid != 0 && job.uid == item.uid && item.finished != nil && !item.deleting {
				retained := w.isRetainedOn(c, item, job.epoch)
				w.mustHold(invRetentionOver, retained, "the job of %s on %s", name, c.name)
				if retained {
					w.recordEvent(Retains)
				}
			}
		}
	}
}

// setRetention 10m: what has finished stays for so long.
func setRetention(c command) error {
	d, err := time.ParseDuration(c.arg(0))
	c.policy.RetainFinished = d
	return err
}

// dateFinish j1 5h: the hub's clock was so much ahead when the end of the Workload was recorded.
func dateFinish(c command) error {
	ahead, err := time.ParseDuration(c.arg(1))
	if err != nil {
		return err
	}
	return c.updateWorkloads(func(item *workload) {
		if item.finished != nil {
			item.finishedAt = item.finishedAt.Add(ahead)
		}
	})
}
