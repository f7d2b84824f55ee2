package sim

import (
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// The hub's run leases: how they are renewed, and how they stand as far as the hub can tell.

// tenure is what the hub's program knows of its lease on a worker.
type tenure struct {
	// until is when the last renewal runs out that was answered, zero if none was; tried is when one was begun first, and refused
	// whether the last one that was answered was turned down.
	until, tried time.Time
	refused      bool
}

// renewing reports whether the hub's program renews a worker's lease, as far as it can tell.
func (w *World) renewing(c *worker) bool {
	return w.program != nil && !w.frozen["renew"] && !c.guard.stock && w.program.remote[c.name].link.State == dispatch.Connected
}

// renewAll makes the renewals that are due. Those that go nowhere have an outcome that the hub does not know.
func (w *World) renewAll(to time.Time) {
	for _, c := range w.workers {
		if !w.renewing(c) {
			continue
		}
		r := w.program.remote[c.name]
		last := r.renewedAt
		if last.Before(w.program.started) {
			last = w.program.started
		}
		if begun := to.Add(-(to.Sub(last) % renewEvery)); begun.After(r.renewedAt) {
			w.renewal(c, begun, true)
		}
	}
}

// renew is one renewal, now; its answer may get lost.
func (w *World) renew(c *worker, answered bool) {
	if w.renewing(c) && c.up {
		w.renewal(c, w.now, answered)
	}
}

// renewal is one that begins at a time. A worker that is away may have got it all the same, for all that the hub knows; one that
// turns it down has not.
func (w *World) renewal(c *worker, at time.Time, answered bool) {
	r, before := w.program.remote[c.name], w.lease(c)
	if r.tenure.tried.IsZero() {
		r.tenure.tried = at
	}
	switch {
	case c.up && c.guard.denied:
		r.tenure.refused = r.tenure.refused || answered
	case c.up && answered:
		c.guard.renewed, r.renewedAt = at, at
		r.tenure.until, r.tenure.refused = at.Add(leaseDuration), false
	case c.up:
		c.guard.renewed = at
		fallthrough
	default:
		if !w.parts.Shell.ForgetsUnanswered || !c.up {
			r.renewedAt = at
		}
	}
	if w.lease(c) != before {
		w.changed()
	}
}

// lease says how the run lease stands on a worker, for all that the hub's program knows.
func (w *World) lease(c *worker) dispatch.LeaseState {
	t := w.program.remote[c.name].tenure
	switch {
	case c.guard.stock, w.now.Before(t.until):
		return dispatch.Leased
	case t.refused && !w.now.Before(t.tried.Add(leaseDuration)):
		w.reach(Lapsed)
		return dispatch.LeaseLapsed
	}
	return dispatch.LeaseAwaited
}

// keepLeases renews the leases for which a Workload waits.
func (t *turn) keepLeases() {
	if t.policy.OnHubLost != dispatch.Stop || t.state.Bound != "" {
		return
	}
	for _, v := range t.obs.Clusters {
		if c := t.worker(v.Name); c != nil && v.Lease == dispatch.LeaseAwaited && t.lease(c) == dispatch.LeaseAwaited {
			t.renew(c, true)
		}
	}
}

// leased reports whether no fence would stop a Workload's job on a cluster, as far as the hub has been told.
func (t *turn) leased(cluster string) bool {
	c := t.worker(cluster)
	return t.policy.OnHubLost != dispatch.Stop || c == nil || t.lease(c) == dispatch.Leased
}

// lapsed reports whether a fence would surely stop it.
func (t *turn) lapsed(cluster string) bool {
	c := t.worker(cluster)
	return t.policy.OnHubLost == dispatch.Stop && c != nil && t.lease(c) == dispatch.LeaseLapsed
}

// deny w1: the hub loses its right to renew its lease there; grant w1: it has it back.
func deny(denied bool) func(command) error {
	return func(c command) error {
		c.worker(c.arg(0)).guard.denied = denied
		c.changed()
		return nil
	}
}
