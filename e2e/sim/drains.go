package sim

import (
	"slices"
	"strings"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/worker/admission"
)

// Drains go job by job, as the Drainer of the controller has it, and a person's word about a cluster may be wrong.

// drainInterval is the time between two turns of a cluster.
const drainInterval = 10 * time.Second

// assignDrainSlot gives the next Workload that runs on a cluster which is being drained, and its siblings, their turn.
func (w *program) assignDrainSlot(c *worker) {
	p := w.driver
	if !w.hub.draining[c.name] {
		p.tracker.EndDrain(c.name)
		delete(p.drainedAt, c.name)
		return
	}
	if last, had := p.drainedAt[c.name]; had && w.now.Before(last.Add(drainInterval)) {
		return
	}
	var bound []admission.Key
	owners := map[admission.Key]string{}
	for _, name := range w.hub.workloadNames() {
		if item := p.localInformer.get(name); item.exists && isBoundTo(item.value, c.name) && (!item.value.elastic || item.value.finished == nil) {
			bound = append(bound, workloadKey(name))
			owners[workloadKey(name)] = item.value.ownerName()
		}
	}
	next, ok := p.tracker.NextToDrain(c.name, bound)
	if !ok {
		p.tracker.SetDrainTargets(c.name, nil)
		delete(p.drainedAt, c.name)
		return
	}
	gang := slices.DeleteFunc(bound, func(key admission.Key) bool { return owners[key] != owners[next] })
	p.tracker.SetDrainTargets(c.name, gang)
	p.drainedAt[c.name] = w.now
	w.markChanged()
}

// turn w1: a Workload that runs there has the turn to leave.
func runDrainSlot(c command) error {
	if w := c.lookupWorker(c.arg(0)); c.driver != nil {
		c.assignDrainSlot(w)
	}
	return nil
}

// declareGone w1: an administrator says of a cluster that is alive and in reach that nothing runs there any more.
func declareGone(c command) error {
	if w := c.lookupWorker(c.arg(0)); w.up {
		c.hub.declaredGone[w.name] = true
		c.markChanged()
	}
	return nil
}

// interruptConnection w1: the connection ends, and no attempt was made to connect again.
func interruptConnection(c command) error {
	w := c.lookupWorker(c.arg(0))
	if c.driver == nil || c.driver.remotes[w.name].link.State != dispatch.Connected {
		return nil
	}
	r := c.driver.remotes[w.name]
	r.link = dispatch.Link{State: dispatch.Unreachable, Since: c.now, Untried: true}
	r.liveReads = map[string]liveAnswer{}
	w.informers.workloads.stop()
	w.informers.jobs.stop()
	c.updateCutOff()
	c.markChanged()
	return nil
}

// slowFence w1 2m: that worker's fence needs so long to stop its jobs, and says so.
func slowFence(c command) error {
	d, err := time.ParseDuration(c.arg(1))
	if w := c.lookupWorker(c.arg(0)); err == nil && d > skewMargin-maxSkew {
		w.fence.stopsWithin = d
		c.hub.fenceSeen[w.name] = c.hub.fenceSeen[w.name] && c.parts.DriverBugs.TrustsAnyFence
	}
	return err
}

// checkGoneDeclaration checks that a person's word is heeded only where an attempt to connect has failed.
func (l *history) checkGoneDeclaration(t *decision, cluster string) {
	link := t.driver.remotes[cluster].link
	overdue := !t.now.Before(t.lostSince(cluster).Add(t.policy.WorkerLostTimeout))
	t.mustHold(invGoneDeclaration, link.State == dispatch.Unreachable && (!link.Untried || overdue), "%s about %s", t.item.name, cluster)
}

// checkDrainMessage checks that the check goes on saying why a job stays on a cluster that it is to leave.
func (l *history) checkDrainMessage(t *decision, before, after workload) {
	const words = "; it is to leave "
	said, says := strings.Contains(before.message, words), strings.Contains(after.message, words)
	if said && t.hub.draining[before.bound] && before.check == dispatch.Ready && after.check == dispatch.Ready && after.bound == before.bound {
		cut := strings.HasPrefix(before.message, after.message) // and nothing else said instead
		t.mustHold(invDrainMessage, says || !cut, "%s says %q", before.name, after.message)
		t.recordEvent(DrainWaits)
	}
}
