package sim

import (
	"slices"
	"strings"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// Drains go job by job, as controller/drain.go has it, and a person's word about a cluster may be wrong.

// drainEvery is the time between two turns of a cluster.
const drainEvery = 10 * time.Second

// drainTurn is whose turn it is to leave a cluster, since when, and who had one before.
type drainTurn struct {
	gang   string
	since  time.Time
	passed []string
}

// giveTurn gives the next Workload that runs on a cluster which is being drained, and its siblings, their turn.
func (w *World) giveTurn(c *worker) {
	old := w.program.turns[c.name]
	switch {
	case !w.hub.draining[c.name]:
		delete(w.program.turns, c.name)
		return
	case old.gang != "" && w.now.Before(old.since.Add(drainEvery)):
		return
	}
	var there []string
	for _, name := range w.hub.names() {
		if item := w.program.local.get(name); item.there && holds(item.value, c.name) && !slices.Contains(there, item.value.gang()) {
			there = append(there, item.value.gang())
		}
	}
	next := drainTurn{since: w.now, passed: slices.DeleteFunc(slices.Clone(old.passed), func(gang string) bool { return !slices.Contains(there, gang) })}
	if len(next.passed) == len(there) {
		next.passed = nil
	}
	for _, gang := range there {
		if next.gang == "" && !slices.Contains(next.passed, gang) {
			next.gang = gang
			next.passed = append(next.passed, gang)
		}
	}
	if next.gang != old.gang {
		w.changed()
	}
	w.program.turns[c.name] = next
}

// turn w1: somebody who runs there has the turn to leave.
func (c command) turnOf() error {
	if w := c.worker(c.arg(0)); c.program != nil {
		c.giveTurn(w)
	}
	return nil
}

// declare w1: somebody says of a cluster that is alive and in reach that nothing runs there any more.
func (c command) declare() error {
	if w := c.worker(c.arg(0)); w.up {
		c.hub.gone[w.name] = true
		c.changed()
	}
	return nil
}

// blink w1: the connection ends, and no attempt was made to connect again.
func (c command) blink() error {
	w := c.worker(c.arg(0))
	if c.program == nil || c.program.remote[w.name].link.State != dispatch.Connected {
		return nil
	}
	r := c.program.remote[w.name]
	r.link = dispatch.Link{State: dispatch.Unreachable, Since: c.now, Untried: true}
	r.live = map[string]answer{}
	w.watch.copies.drop()
	w.watch.jobs.drop()
	c.followCutOff()
	c.changed()
	return nil
}

// sluggish w1 2m: that worker's fence needs so long to stop its jobs, and says so.
func (c command) sluggish() error {
	d, err := time.ParseDuration(c.arg(1))
	if w := c.worker(c.arg(0)); err == nil && d > skewMargin-maxSkew {
		w.guard.within = d
		c.hub.fenced[w.name] = c.hub.fenced[w.name] && c.parts.Shell.TakesAnyFence
	}
	return err
}

// wordOf checks that a person's word is heeded only where an attempt to connect has failed.
func (l *ledger) wordOf(t *turn, cluster string) {
	link := t.program.remote[cluster].link
	overdue := !t.now.Before(t.lostSince(cluster).Add(t.policy.WorkerLostTimeout))
	t.must(lawWord, link.State == dispatch.Unreachable && (!link.Untried || overdue), "%s about %s", t.item.name, cluster)
}

// leavingNote checks that the check goes on saying why a job stays on a cluster that it is to leave.
func (l *ledger) leavingNote(t *turn, before, after workload) {
	const words = "; it is to leave "
	said, says := strings.Contains(before.message, words), strings.Contains(after.message, words)
	if said && t.hub.draining[before.bound] && before.check == dispatch.Ready && after.check == dispatch.Ready && after.bound == before.bound {
		cut := strings.HasPrefix(before.message, after.message) // and nothing else said instead
		t.must(lawLeaves, says || !cut, "%s says %q", before.name, after.message)
		t.reach(Stays)
	}
}
