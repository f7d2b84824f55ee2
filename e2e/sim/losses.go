package sim

import (
	"slices"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// What must hold of clusters that are given up. When a cluster was lost, and whether others were lost with it, goes by what the
// hub was shown (links), not by the truth: the grace is a promise about what the hub knows.

// givingUp checks that a bound cluster is given up for a reason that is true.
func (l *ledger) givingUp(t *turn, item workload) {
	if item.check == dispatch.Retry || item.evicted || !item.quota {
		return
	}
	link := t.program.remote[item.bound].link
	if link.State == dispatch.Connected {
		l.leaving(t, item)
		return
	}
	l.lettingGo(t, item)
	if t.hub.gone[item.bound] {
		l.wordOf(t, item.bound)
		t.reach(GoneDeclared)
		if !t.endShown(item) {
			l.excuse(item.uid, time.Time{}) // whoever gives the word answers for what nobody had seen
		}
		return
	}
	t.must(lawGrace, link.State == dispatch.Unreachable && !t.now.Before(t.lostSince(item.bound).Add(t.policy.WorkerLostTimeout)), "%s on %s", item.name, item.bound)
	t.must(lawCutOff, !t.parted(item.bound), "%s on %s", item.name, item.bound)
	t.reach(GraceOver)
	if t.policy.OnHubLost == dispatch.Stop {
		t.reach(FenceAwaited)
	}
	if t.policy.OnWorkerLost != dispatch.Hold {
		l.excuse(item.uid, time.Time{}) // what was out of reach for longer than the grace does not count
	}
}

// endShown reports whether the hub was shown that a bound Workload's run has ended.
func (t *turn) endShown(item workload) bool {
	watch := t.program.remote[item.bound].watch
	obj, job := watch.copies.get(item.name).value, watch.jobs.get(item.name).value
	at := attempt{item.uid, item.state().Epoch}
	return obj.finished != nil && at == (attempt{obj.uid, obj.epoch}) || job.finished != nil && at == (attempt{job.uid, job.epoch})
}

// leaving checks that a cluster that can be reached is given up because something is wrong there, or was when it was read.
func (l *ledger) leaving(t *turn, item workload) {
	read := t.now.Add(-answerAge)
	l.excuse(item.uid, read)
	if t.plan.Because == dispatch.Drained && t.hub.draining[item.bound] {
		t.reach(Drains)
		l.moving(t, item)
		return
	}
	last, ever := l.trouble[item.uid]
	wrong := t.troubled(item) || ever && (!last.Before(read) || t.plan.Because == dispatch.NameCollision)
	t.must(lawUnseen, wrong || !slices.Contains(t.hub.listed, item.bound), "%s is given up on %s, where nothing is wrong", item.name, item.bound)
}

// lostSince is from when on the grace of a cluster counts.
func (w *World) lostSince(cluster string) time.Time {
	since := w.program.remote[cluster].link.Since
	if since.Before(w.program.cutOffEnded) {
		return w.program.cutOffEnded
	}
	return since
}

// graceOver reports whether a cluster was out of the hub's reach for longer than the grace, and it is not the hub's own doing.
func (w *World) graceOver(cluster string) bool {
	lost := w.program.remote[cluster].link.State == dispatch.Unreachable && !w.parted(cluster)
	return lost && !w.now.Before(w.lostSince(cluster).Add(w.policy.WorkerLostTimeout))
}

// parted reports whether most clusters that were there right before vanished together with one: then it is the hub that is cut
// off. Those that it never reached say nothing while it reaches anybody.
func (w *World) parted(cluster string) bool {
	reaches := slices.ContainsFunc(w.workers, func(c *worker) bool { return w.program.remote[c.name].link.State == dispatch.Connected })
	lost := w.program.remote[cluster].link
	if lost.State != dispatch.Unreachable || lost.Never && reaches {
		return false
	}
	together, others := 0, 0
	for _, c := range w.workers {
		link := w.program.remote[c.name].link
		gap := link.Since.Sub(lost.Since)
		switch {
		case link.Never && reaches, link.State == dispatch.Unknown:
		case link.State == dispatch.Connected, gap > w.policy.CutOffWindow:
			others++
		case gap >= -w.policy.CutOffWindow:
			together++
		}
	}
	return together > 1 && together > others
}

// troubled reports whether anything is wrong with a bound Workload's copy or job, in truth.
func (w *World) troubled(item workload) bool {
	c := w.worker(item.bound)
	obj, ok := c.copies[item.name]
	job, hasJob := c.jobs[item.name]
	created := w.ledger.created[attempt{item.uid, item.state().Epoch}] == c.name
	return !ok || !obj.ours || obj.uid != item.uid || !obj.admitted || obj.evicted || obj.finished != nil || obj.deactivating || obj.deleting ||
		obj.gpu != item.gpu || created && !hasJob || hasJob && (!job.ours || job.uid == 0 || job.uid != item.uid && job.lost != nothing)
}

// beforeChange notes that something was wrong until now; it is called before anything on a worker changes.
func (w *World) beforeChange(c *worker, name string) {
	if item, ok := w.hub.items[name]; ok && item.bound == c.name && w.troubled(item) {
		w.ledger.trouble[item.uid] = w.now
	}
}
