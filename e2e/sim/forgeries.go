package sim

import (
	"strconv"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// What others do to jobs on a worker: they make some that bear the public label and say that they have ended, and take the hub's marks
// off its own.

// lost is how much of what the hub wrote on a job somebody has taken off.
type lost int

const (
	nothing lost = iota
	// theLabel: the origin label, so that the hub's informers show it no more.
	theLabel
	// theStamp: the owner's UID as well; the job still names its Workload.
	theStamp
)

// jobHolder is what the hub makes of a job by its marks.
func jobHolder(item workload, j remoteJob) dispatch.Holder {
	switch {
	case j.lost == theStamp, j.ours && j.uid == 0 && !j.named:
		return dispatch.Foreign
	case j.ours && j.uid == 0:
		return dispatch.Ours
	case j.lost == theLabel && j.uid == item.uid:
		return dispatch.Relabelled
	case j.lost == theLabel:
		return dispatch.Foreign
	}
	return j.holder(item)
}

// removable reports whether the hub takes a job for one that it may remove.
func (j remoteJob) removable(goes func(owner, int64) bool) bool {
	return j.lost != theStamp && (j.uid != 0 || j.named) && goes(j.owner, j.stamp())
}

// shown is what an informer of the hub is shown of a job.
func (j remoteJob) shown() present[remoteJob] { return present[remoteJob]{j.lost == nothing, j} }

// shownJobs are the jobs that a list by the origin label shows.
func (c *worker) shownJobs() map[string]remoteJob {
	jobs := map[string]remoteJob{}
	for name, j := range c.jobs {
		if j.lost == nothing {
			jobs[name] = j
		}
	}
	return jobs
}

// forge w1 j1 [named]: somebody makes a job of that name with our label, which says that it has succeeded. It may name the
// Workload; its UID only those know who could do anything.
func (c command) forge() error {
	w, name := c.worker(c.arg(0)), c.arg(1)
	if _, exists := w.jobs[name]; exists {
		return nil
	}
	c.reach(Forges)
	c.putJob(w, name, remoteJob{
		owner: owner{ours: true}, id: c.nextID(), named: c.arg(2) == "named", ttl: -1, ended: c.now,
		finished: &dispatch.Outcome{Reason: "Succeeded", Message: "forged"},
	})
	return nil
}

// relabel w1 j1 [all]: somebody takes the label off the hub's job, or all but the Workload's name. Workers of ours do not let them.
func (c command) relabel() error {
	w, name := c.worker(c.arg(0)), c.arg(1)
	job, exists := w.jobs[name]
	if !exists || !job.ours || job.uid == 0 || !w.guard.stock || job.lost != nothing {
		return nil
	}
	c.reach(Relabels)
	job.lost = theLabel
	if c.arg(2) == "all" {
		job.lost, job.tampered = theStamp, true
	}
	c.putJob(w, name, job)
	return nil
}

// markAgain puts the marks back, as a person does that is told to.
func (w *World) markAgain() {
	for _, c := range w.workers {
		for _, name := range c.names() {
			if job, ok := c.jobs[name]; ok && job.lost != nothing {
				job.lost = nothing
				w.putJob(c, name, job)
			}
		}
	}
}

func (w *World) nextID() int64 {
	w.hub.last++
	return w.hub.last
}

// uidOf is the UID of a job as text, empty for none.
func uidOf(id int64) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatInt(id, 10)
}

// showing checks a status that is about to be shown on the hub: an end needs a run that has ended.
func (l *ledger) showing(t *turn, cluster string, job remoteJob) {
	if job.finished != nil {
		l.finishing(t, cluster)
	}
}
