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
	w.healed = true
	for _, c := range w.workers {
		c.up, c.slow = true, false
	}
	if w.program == nil {
		w.boot()
	}
	w.untilQuiet()
	if slices.ContainsFunc(w.workers, func(c *worker) bool { return c.down(w.now) }) {
		w.pass(w.now.Add(maxDown))
		w.untilQuiet()
	}
	w.cordonsAtRest()
	clear(w.hub.cordoned)
	clear(w.hub.draining)
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
		w.ledger.checks++
		job, there := c.jobs[name]
		if !there || !job.ours || job.uid != item.uid {
			continue
		}
		if item.evicted && job.running && job.stopAt.IsZero() {
			w.violate("what the hub evicts stops", "%s runs on %s", name, c.name)
		}
		if item.status != job.status() {
			w.violate("the hub shows what the worker shows", "%s on %s", name, c.name)
		}
	}
	w.prioritiesAtRest()
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
			w.now.Sub(item.reservedAt) < time.Duration(1<<len(w.workers))*w.policy.HedgeAfter {
			continue
		}
		for _, cluster := range w.hub.listed {
			c := w.worker(cluster)
			if c.gpu >= item.gpu && !w.collides(c, name) && !slices.Contains(item.nominated, cluster) {
				w.violate("whoever does not admit in time is hedged against", "%s waits on %v, not on %s", name, item.nominated, cluster)
			}
		}
	}
}

// cordonsAtRest checks that no offer waits on a cordoned cluster.
func (w *World) cordonsAtRest() {
	for _, c := range w.workers {
		for name, obj := range c.copies {
			closed := w.hub.cordoned[c.name] || w.hub.draining[c.name]
			if closed && obj.ours && !obj.quota && obj.finished == nil && w.hub.items[name].bound != c.name {
				w.violate(lawCordon, "%s still waits on %s", name, c.name)
			}
		}
	}
}

func (w *World) prioritiesAtRest() {
	for _, c := range w.workers {
		for name, obj := range c.copies {
			item := w.hub.items[name]
			if obj.ours && obj.uid == item.uid && item.quota && !item.evicted && obj.priority != item.priority {
				w.violate("a copy has the Workload's priority", "%s on %s", name, c.name)
			}
		}
	}
}

// final heals and then checks what must hold once nothing happens any more.
func (w *World) final() {
	w.heal()
	for _, name := range w.hub.names() {
		item := w.hub.items[name]
		w.ledger.checks++
		plan := w.parts.Step(item.state(), w.observe(item), w.policy)
		if plan.Writes(item.state(), w.local(item)) || len(plan.Actions) > 0 {
			w.violate("at a fixed point Step returns the same state and no actions", "%s: %s %v", name, plan.Because, plan.Actions)
		}
		if item.finished == nil && !w.waitsTruly(item, plan.Because) {
			w.violate("after faults heal every workload finishes or waits with a true reason", "%s says %s: %s", name, plan.Because, plan.Message)
		}
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
		return !there || !job.ours
	case dispatch.NoQuota:
		return item.inactive || w.hub.free() < item.gpu
	case dispatch.NoCluster:
		pin := w.local(item).Pin
		return !slices.ContainsFunc(w.hub.listed, func(c string) bool {
			fits := w.policy.Dispatcher != dispatch.BestFit || w.worker(c).gpu >= item.gpu
			return !w.collides(w.worker(c), item.name) && (pin == "" || pin == c) && fits
		})
	case dispatch.SiblingWait:
		first, there := w.hub.items[item.sibling]
		return there && first.finished == nil && first.bound == ""
	case dispatch.Offered:
		pin := w.local(item).Pin
		for _, cluster := range w.hub.listed {
			c := w.worker(cluster)
			if w.collides(c, item.name) || pin != "" && pin != cluster || w.policy.Dispatcher == dispatch.External && !slices.Contains(item.nominated, cluster) {
				continue
			}
			if obj := c.copies[item.name]; obj.finished == nil && (obj.admitted || c.free() >= item.gpu) {
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
	return hasCopy && !obj.ours || hasJob && !job.ours
}

// finalObject checks that a remote object has an owner that wants it there.
func (w *World) finalObject(c *worker, name string) {
	w.ledger.checks++
	item, alive := w.hub.items[name]
	wanted := func(o owner, epoch int64, isJob bool) bool {
		if !o.ours {
			return true
		}
		s := item.state()
		offered := s.Bound == "" && !isJob && slices.Contains(s.Nominated, c.name)
		return alive && o.uid == item.uid && item.finished == nil && item.quota && epoch == s.Epoch && (offered || s.Bound == c.name)
	}
	if obj, ok := c.copies[name]; ok && !wanted(obj.owner, obj.epoch, false) {
		w.violate("no remote object outlives its owner", "copy of %s on %s", name, c.name)
	}
	if job, ok := c.jobs[name]; ok && !wanted(job.owner, job.epoch, true) {
		w.violate("no remote object outlives its owner", "job of %s on %s", name, c.name)
	}
}
