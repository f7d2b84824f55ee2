package sim

import (
	"slices"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// What must hold of Workloads that lose their cluster because the hub wants it so: its quota is for somebody else, or they are deleted
// and their job stays, or is made anew.

// awaits reports whether the hub is to have the quota of a Workload back only when its job has stopped: it evicts it itself, and its
// jobs are the dispatcher's to answer for.
func (l *ledger) awaits(item workload) bool {
	return item.evicted && !item.forCheck && !item.alien && item.check != dispatch.Retry && item.check != dispatch.Rejected
}

// stopping checks that a cluster has stopped a Workload whose quota is given back, as far as the hub can be shown that.
func (l *ledger) stopping(w *World, item workload, cluster string) {
	c := w.worker(cluster)
	if c == nil {
		return
	}
	job, there := c.jobs[item.name]
	running := there && job.running && job.uid == item.uid
	excused := w.graceOver(cluster) || w.hub.gone[cluster] || w.behind(c, item.name)
	w.must(lawStops, !running || excused, "%s on %s", item.name, cluster)
	w.reach(QuotaAwaited)
}

// behind reports whether the hub reaches a worker and has not been shown all that there is of a name.
func (w *World) behind(c *worker, name string) bool {
	if w.program.remote[c.name].link.State != dispatch.Connected {
		return false
	}
	return c.watch.copies.behind(name) || c.watch.jobs.behind(name)
}

// parting checks a write by which a Workload loses its binding or its debts without a retreat.
func (l *ledger) parting(t *turn, before workload, s, next dispatch.State) {
	if s.Bound != "" && next.Bound == "" && before.quota && l.awaits(before) {
		l.stopping(t.World, before, s.Bound)
	}
	for _, d := range s.Debts {
		if owed(next, d.Cluster) || t.program.remote[d.Cluster].link.State == dispatch.Connected {
			continue
		}
		if before.kept && strict(t.policy) == "" {
			l.acquitted[place{before.owner, d.Cluster}] = true
		}
		if t.hub.gone[d.Cluster] && !t.graceOver(d.Cluster) {
			l.wordOf(t, d.Cluster)
		}
	}
}

// legacy checks that no job is created while one of its name was last seen running, or about to, on a cluster that was lost since.
func (l *ledger) legacy(t *turn, c *worker) {
	for _, other := range t.workers {
		r := t.program.remote[other.name]
		if other == c || r.link.State == dispatch.Connected || t.graceOver(other.name) || t.hub.gone[other.name] {
			continue
		}
		job, obj := r.watch.jobs.get(t.item.name), r.watch.copies.get(t.item.name)
		runs := job.there && job.value.holder(t.item) == dispatch.Predecessor && job.value.finished == nil
		may := obj.there && obj.value.holder(t.item) == dispatch.Predecessor && (obj.value.admitted || obj.value.adopted) && obj.value.finished == nil
		ended := job.there && job.value.finished != nil
		t.must(lawLegacy, !runs && (!may || ended) || l.forgotten[t.item.uid], "%s on %s, while its predecessor's was seen on %s", t.item.name, c.name, other.name)
	}
}

// inheriting checks a status that is about to be written into a job: one of its own runs has come to it.
func (l *ledger) inheriting(w *World, item workload, status jobStatus) {
	if status.finished {
		w.must(lawHeir, len(l.resultsOf(item.job)) > 0, "%s ends", item.name)
	}
	if status.active {
		ran := false
		for a := range l.ran {
			ran = ran || l.jobs[a.uid] == item.job
		}
		w.must(lawHeir, ran, "%s runs", item.name)
	}
}

// keptAtRest checks that whatever was deleted has gone.
func (w *World) keptAtRest() {
	for _, name := range w.hub.names() {
		w.must(lawGoes, !w.hub.items[name].deleting, "%s", name)
	}
}

// behind reports whether an informer has not shown everything of a name, or may not have.
func (s *stream[T]) behind(name string) bool {
	return !s.open || slices.ContainsFunc(s.queue, func(e event[T]) bool { return e.list != nil || e.name == name })
}

// discard j1: somebody deletes the Workload; the job stays, and is to get another.
func (c command) discard() error {
	return c.update(func(item *workload) {
		if item.deleting || !item.owns() || item.alien {
			return
		}
		item.deleting, item.kept = true, true
		c.ledger.excuse(item.uid, time.Time{}) // who deletes it wants it run again
		if item.finished == nil && item.quota {
			c.reach(Kept)
		}
	})
}

// remake j1: somebody deletes the job and makes it anew, and its Workload is there still.
func (c command) remake() error {
	return c.update(func(item *workload) {
		c.hub.last++
		item.job, item.jobRV, item.status = c.hub.last, c.hub.last, jobStatus{}
		item.kept = false
		if item.bound != "" {
			c.reach(Remade)
		}
	})
}
