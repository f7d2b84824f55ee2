package sim

import (
	"strconv"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// What others do to jobs on a worker: they make some that bear the public label and say that they have ended, and take the hub's marks
// off its own.

// lostMarks is how much of what the hub wrote on a job a user has taken off.
type lostMarks int

const (
	lostNone lostMarks = iota
	// theLabel: the origin label, so that the hub's informers show it no more.
	lostLabel
	// theStamp: the owner's UID as well; the job still names its Workload.
	lostAllMarks
)

// jobHolder is what the hub makes of a job by its marks.
func jobHolder(item workload, j remoteJob) dispatch.Holder {
	switch {
	case item.elastic && item.view != nil:
		return item.view.holderOf(item, j)
	case j.lostMarks == lostAllMarks, j.ours && j.uid == 0 && !j.namesWorkload:
		return dispatch.Foreign
	case j.ours && j.uid == 0:
		return dispatch.Ours
	case j.lostMarks == lostLabel && j.uid == item.uid:
		return dispatch.Relabelled
	case j.lostMarks == lostLabel:
		return dispatch.Foreign
	}
	return j.holder(item)
}

// isRemovable reports whether the hub takes a job for one that it may remove on behalf of a Workload.
func (j remoteJob) isRemovable(item workload, goes func(owner, int64) bool) bool {
	return j.lostMarks != lostAllMarks && (j.uid != 0 || j.namesWorkload) && goes(j.ownerFor(item), j.stampedEpoch())
}

// ownerFor is whose a job is in the eyes of a Workload: that of its slices is its own.
func (j remoteJob) ownerFor(item workload) owner {
	if item.elastic && j.ours && jobHolder(item, j) == dispatch.Ours {
		return owner{ours: true, uid: item.uid}
	}
	return j.owner
}

// informerView is what an informer of the hub is shown of a job.
func (j remoteJob) informerView() optional[remoteJob] {
	return optional[remoteJob]{j.lostMarks == lostNone, j}
}

// listedJobs are the jobs that a list by the origin label shows.
func (c *worker) listedJobs() map[string]remoteJob {
	jobs := map[string]remoteJob{}
	for name, j := range c.jobs {
		if j.lostMarks == lostNone {
			jobs[name] = j
		}
	}
	return jobs
}

// forgeJob w1 j1 [named]: a user makes a job of that name with our label, which says that it has succeeded. It may name the
// Workload; its UID is known only to users that could do anything.
func forgeJob(c command) error {
	w, name := c.lookupWorker(c.arg(0)), c.arg(1)
	if _, exists := w.jobs[jobOf(name)]; exists {
		return nil
	}
	c.recordEvent(ForgedJob)
	c.putJob(w, jobOf(name), remoteJob{
		owner: owner{ours: true}, id: c.nextID(), namesWorkload: c.arg(2) == "named", ttl: -1, ended: c.now,
		finished: &dispatch.Outcome{Reason: "Succeeded", Message: "forged"}, prebuilt: map[bool]string{true: name}[c.arg(2) == "named"],
	})
	return nil
}

// relabelJob w1 j1 [all]: a user takes the label off the hub's job, or all but the Workload's name. Workers of ours refuse
// that.
func relabelJob(c command) error {
	w, name := c.lookupWorker(c.arg(0)), c.arg(1)
	name = jobOf(name)
	job, exists := w.jobs[name]
	if !exists || !job.ours || job.uid == 0 || !w.fence.stock || job.lostMarks != lostNone {
		return nil
	}
	c.recordEvent(RelabelledJob)
	job.lostMarks, job.tampered = lostLabel, job.elastic // only the copy of the slice by which it runs tells its end, not that of the next one
	if c.arg(2) == "all" {
		job.lostMarks, job.tampered = lostAllMarks, true
	}
	c.putJob(w, name, job)
	return nil
}

// restoreMarks puts the marks back, as a person does that is told to.
func (w *workerClusters) restoreMarks() {
	for _, c := range w.workers {
		for _, name := range c.objectNames() {
			if job, ok := c.jobs[name]; ok && job.lostMarks != lostNone {
				job.lostMarks = lostNone
				w.putJob(c, name, job)
			}
		}
	}
}

func (w *hubCluster) nextID() int64 {
	w.hub.lastVersion++
	return w.hub.lastVersion
}

// formatUID is the UID of a job as text, empty for none.
func formatUID(id int64) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatInt(id, 10)
}

// checkShownStatus checks a status that is about to be shown on the hub: an end needs a run that has ended.
func (l *history) checkShownStatus(t *decision, cluster string, job remoteJob) {
	if job.finished != nil {
		l.checkFinish(t, cluster)
	}
}
