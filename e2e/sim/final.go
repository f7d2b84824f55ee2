package sim

import (
	"slices"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// heal ends every fault and lets everything come to rest. From then on somebody else's dispatcher, if there is one, does its
// part at once.
func (w *World) heal() {
	clear(w.frozen)
	clear(w.hub.gone)
	w.markAgain()
	w.healed = true
	w.changed()
	for _, c := range w.workers {
		c.up, c.slow, c.guard.denied = true, false, false
		if c.onHold {
			_ = trait(func(w *worker) { w.onHold = false })(command{World: w, args: []string{c.name}})
		}
	}
	for _, name := range w.hub.names() {
		if item := w.hub.items[name]; item.unchecked {
			item.unchecked = false
			w.put(item)
		}
	}
	w.land()
	if w.program == nil {
		w.boot(0)
	}
	w.untilQuiet()
	for _, c := range w.workers {
		w.renew(c, true)
	}
	w.untilQuiet()
	if slices.ContainsFunc(w.workers, func(c *worker) bool { return c.down(w.now) }) {
		w.pass(w.now.Add(maxDown))
		w.untilQuiet()
	}
	w.adriftAtRest()
	w.restore()
	w.untilQuiet()
	w.cordonsAtRest()
	clear(w.hub.cordoned)
	clear(w.hub.draining)
	w.changed()
	w.untilQuiet()
	w.atRest()
	w.hedgesInTime()
	w.settle(horizon)
}

// atRest checks what must hold as soon as nothing moves and everything can be seen, long before the jobs end.
func (w *World) atRest() {
	for _, name := range w.hub.names() {
		item := w.hub.items[name]
		c := w.worker(item.bound)
		if c == nil || item.finished != nil || item.deleting || w.ledger.violation != "" {
			continue
		}
		job, there := c.jobs[name]
		if !there || !job.ours || job.uid != item.uid || !item.owns() {
			continue
		}
		w.must(lawEvicts, !item.evicted || !job.running || !job.stopAt.IsZero(), "%s runs on %s", name, c.name)
		w.must(lawShows, item.status == job.status(), "%s on %s", name, c.name)
	}
	w.prioritiesAtRest()
	w.siblingsAtRest()
}

// siblingsAtRest checks that nobody runs on another cluster than its siblings.
func (w *World) siblingsAtRest() {
	for _, name := range w.hub.names() {
		for _, other := range w.hub.names() {
			a, b := w.hub.items[name], w.hub.items[other]
			both := name < other && a.gang() == b.gang() && a.finished == nil && b.finished == nil && !a.deleting && !b.deleting
			if both && a.bound != "" && b.bound != "" && holds(a, a.bound) && holds(b, b.bound) {
				w.must(lawSibling, a.bound == b.bound, "%s is on %s, %s on %s", name, a.bound, other, b.bound)
			}
		}
	}
}

// hedgesInTime checks that BestFit offers a Workload that nobody has admitted for a while to everybody that could.
func (w *World) hedgesInTime() {
	if w.policy.Dispatcher != dispatch.BestFit || w.policy.HedgeAfter == 0 || w.ledger.violation != "" {
		return
	}
	w.tick(time.Duration(1<<len(w.workers)) * w.policy.HedgeAfter)
	for _, name := range w.hub.names() {
		item := w.hub.items[name]
		admitted := func(c string) bool { return w.worker(c).copies[name].admitted }
		if item.deleting || item.finished != nil || item.evicted || slices.ContainsFunc(item.nominated, admitted) || item.bound != "" || len(item.nominated) == 0 || w.local(item).Pin != "" ||
			w.now.Sub(latest(item.reservedAt, w.ledger.pinned[item.uid])) < time.Duration(1<<len(w.workers))*w.policy.HedgeAfter {
			continue
		}
		for _, cluster := range w.hub.listed {
			c := w.worker(cluster)
			if w.couldEver(item, cluster) && !w.collides(c, name) {
				w.must(lawHedge, slices.Contains(item.nominated, cluster), "%s waits on %v, not on %s", name, item.nominated, cluster)
			}
		}
	}
}

// cordonsAtRest checks that no offer waits on a cordoned cluster.
func (w *World) cordonsAtRest() {
	for _, c := range w.workers {
		for name, obj := range c.copies {
			closed := w.hub.cordoned[c.name] || w.hub.draining[c.name]
			waits := obj.ours && !obj.quota && obj.finished == nil && w.hub.items[name].bound != c.name
			w.must(lawCordon, !closed || !waits, "%s still waits on %s", name, c.name)
		}
	}
}

func (w *World) prioritiesAtRest() {
	for _, c := range w.workers {
		for name, obj := range c.copies {
			item := w.hub.items[name]
			if obj.ours && obj.uid == item.uid && item.quota && !item.evicted {
				w.must(lawPriority, obj.priority == item.priority, "%s on %s", name, c.name)
			}
		}
	}
}

// outlived reports whether the hub has lost the record of a Workload of which a worker remembers a later epoch, with nothing left that
// shows it: the worker refuses what the hub offers, for as long as it remembers, and says so.
func (w *World) outlived(item workload) bool {
	return w.ledger.forgotten[item.uid] && slices.ContainsFunc(w.workers, func(c *worker) bool {
		return c.knowsOf(item.name, item.uid) > item.state().Epoch
	})
}

// final heals and then checks what must hold once nothing happens any more.
func (w *World) final() {
	w.heal()
	w.keptAtRest()
	for _, name := range w.hub.names() {
		item := w.hub.items[name]
		if w.outlived(item) {
			continue
		}
		plan := w.parts.Step(item.state(), w.observe(item), w.policyToStep(item))
		w.must(lawFixed, !plan.Writes(item.state(), w.local(item)) && len(plan.Actions) == 0, "%s: %s %v", name, plan.Because, plan.Actions)
		w.must(lawRest, item.finished != nil || w.waitsTruly(item, plan.Because), "%s says %s: %s", name, plan.Because, plan.Message)
	}
	for _, c := range w.workers {
		for _, name := range c.names() {
			w.finalObject(c, name)
		}
	}
}

// waitsTruly reports whether a reason to wait for ever is true.
func (w *World) waitsTruly(item workload, because dispatch.Reason) bool {
	switch because {
	case dispatch.ResultUnknown:
		job, there := w.worker(item.bound).jobs[item.name]
		return !there || jobHolder(item, job) == dispatch.Foreign // somebody's own, whatever label it bears
	case dispatch.NoQuota:
		return item.inactive || w.hub.free() < item.gpu
	case dispatch.NoCluster:
		pin := w.local(item).Pin
		return !slices.ContainsFunc(w.hub.listed, func(c string) bool {
			fits := w.policy.Dispatcher != dispatch.BestFit || w.couldEver(item, c)
			return !w.collides(w.worker(c), item.name) && (pin == "" || pin == c) && fits
		})
	case dispatch.SiblingWait:
		return w.local(item).AwaitsSibling
	case dispatch.Offered:
		if w.local(item).AwaitsSibling {
			return w.policy.Dispatcher == dispatch.External // which may nominate who has to wait for a sibling
		}
		pin := w.local(item).Pin
		for _, cluster := range w.hub.listed {
			c := w.worker(cluster)
			if w.collides(c, item.name) || pin != "" && pin != cluster || w.policy.Dispatcher == dispatch.External && !slices.Contains(item.nominated, cluster) {
				continue
			}
			if obj := c.copies[item.name]; obj.finished == nil && (obj.admitted || w.couldEver(item, c.name) && c.free()+c.squatted >= item.gpu) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

func (w *World) collides(c *worker, name string) bool {
	obj, hasCopy := c.copies[name]
	job, hasJob := c.jobs[name]
	return hasCopy && !obj.ours || hasJob && (!job.ours || job.uid == 0 && !job.named)
}

// finalObject checks that a remote object has an owner that wants it there.
func (w *World) finalObject(c *worker, name string) {
	item, alive := w.hub.items[name]
	wanted := func(o owner, epoch int64, isJob bool) bool {
		if !o.ours {
			return true
		}
		s := item.state()
		offered := s.Bound == "" && !isJob && slices.Contains(s.Nominated, c.name)
		return alive && o.uid == item.uid && item.finished == nil && item.quota && epoch == s.Epoch && (offered || s.Bound == c.name)
	}
	if obj, ok := c.copies[name]; ok {
		w.must(lawOutlives, wanted(obj.owner, obj.stamp(), false), "copy of %s on %s", name, c.name)
	}
	if job, ok := c.jobs[name]; ok && (job.uid != 0 || job.named) {
		w.must(lawOutlives, wanted(job.owner, job.stamp(), true), "job of %s on %s", name, c.name)
	}
}
