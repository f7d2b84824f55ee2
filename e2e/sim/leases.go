package sim

import (
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// The hub's run leases: how they are renewed, and how they stand as far as the hub can tell.

// leaseRecord is what the hub's program knows of its lease on a worker.
type leaseRecord struct {
	// expiresAt is when the last renewal runs out that was answered, zero if none was; tried is when one was begun first, and refused
	// whether the last one that was answered was turned down.
	expiresAt, firstTryAt time.Time
	refused               bool
}

// canRenew reports whether the hub's program renews a worker's lease, as far as it can tell.
func (w *program) canRenew(c *worker) bool {
	return w.driver != nil && !w.frozen["renew"] && !c.fence.stock && w.driver.remotes[c.name].link.State == dispatch.Connected
}

// renewDueLeases makes the renewals that are due. Those that go nowhere have an outcome that the hub does not know.
func (w *program) renewDueLeases(to time.Time) {
	for _, c := range w.workers {
		if !w.canRenew(c) {
			continue
		}
		r := w.driver.remotes[c.name]
		last := r.renewedAt
		if last.Before(w.driver.started) {
			last = w.driver.started
		}
		if begun := to.Add(-(to.Sub(last) % renewEvery)); begun.After(r.renewedAt) {
			w.applyRenewal(c, begun, true)
		}
	}
}

// renewLease is one renewal, now; its answer may get lost.
func (w *program) renewLease(c *worker, answered bool) {
	if w.canRenew(c) && c.up {
		w.applyRenewal(c, w.now, answered)
	}
}

// applyRenewal is one that begins at a time. A worker that is away may have got it all the same, for all that the hub knows; one that
// turns it down has not.
func (w *program) applyRenewal(c *worker, at time.Time, answered bool) {
	r, before := w.driver.remotes[c.name], w.leaseState(c)
	if r.lease.firstTryAt.IsZero() {
		r.lease.firstTryAt = at
	}
	switch {
	case c.up && c.fence.denied:
		r.lease.refused = r.lease.refused || answered
	case c.up && answered:
		c.fence.renewed, r.renewedAt = at, at
		r.lease.expiresAt, r.lease.refused = at.Add(leaseDuration), false
	case c.up:
		c.fence.renewed = at
		fallthrough
	default:
		if !w.parts.DriverBugs.ForgetsUnansweredRenewals || !c.up {
			r.renewedAt = at
		}
	}
	if w.leaseState(c) != before {
		w.markChanged()
	}
}

// leaseState says how the run lease stands on a worker, for all that the hub's program knows.
func (w *program) leaseState(c *worker) dispatch.LeaseState {
	t := w.driver.remotes[c.name].lease
	switch {
	case c.fence.stock, w.now.Before(t.expiresAt):
		return dispatch.Leased
	case t.refused && !w.now.Before(t.firstTryAt.Add(leaseDuration)):
		w.recordEvent(LeaseExpired)
		return dispatch.LeaseLapsed
	}
	return dispatch.LeaseAwaited
}

// renewAwaitedLeases renews the leases for which a Workload waits.
func (t *decision) renewAwaitedLeases() {
	if t.policy.OnHubLost != dispatch.Stop || t.state.Bound != "" {
		return
	}
	for _, v := range t.obs.Clusters {
		if c := t.lookupWorker(v.Name); c != nil && v.Fence.Lease == dispatch.LeaseAwaited && t.leaseState(c) == dispatch.LeaseAwaited {
			t.renewLease(c, true)
		}
	}
}

// hasLease reports whether no fence would stop a Workload's job on a cluster, as far as the hub has been told.
func (t *decision) hasLease(cluster string) bool {
	c := t.lookupWorker(cluster)
	return t.policy.OnHubLost != dispatch.Stop || c == nil || t.leaseState(c) == dispatch.Leased
}

// leaseExpired reports whether a fence would surely stop it.
func (t *decision) leaseExpired(cluster string) bool {
	c := t.lookupWorker(cluster)
	return t.policy.OnHubLost == dispatch.Stop && c != nil && t.leaseState(c) == dispatch.LeaseLapsed
}

// setRenewalDenied w1: the hub loses its right to renew its lease there; grant w1: it has it back.
func setRenewalDenied(denied bool) func(command) error {
	return func(c command) error {
		c.lookupWorker(c.arg(0)).fence.denied = denied
		c.markChanged()
		return nil
	}
}
