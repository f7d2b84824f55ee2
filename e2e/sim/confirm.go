package sim

import "errors"

// What the dispatcher's program asks the hub's API server right before it removes a job or makes an offer (newRemovalGuard and newOfferGuard of the controller): its cache
// may be behind, and what it does, unlike what it writes, is not guarded by a version.

var errCacheBehind = errors.New("the hub's cache is behind")

// confirmRemoval reports whether the Workload still is what the removal was decided on. That one has finished, or goes, cannot change any more.
func (w *program) confirmRemoval(c *worker, seen workload) error {
	own := w.isMadeFor(c, seen)
	now, there := w.hub.workloads[seen.name]
	switch {
	case w.parts.DriverBugs.TrustsItsCache, seen.finished != nil && own, !there:
		return nil
	case now.uid == seen.uid && (now.ownRV == seen.ownRV || seen.deleting && own):
		return nil
	}
	w.recordEvent(CacheBehind)
	w.logf("%s: nothing is removed from %s, because %v", seen.name, c.name, errCacheBehind)
	return errCacheBehind
}

// confirmOffer reports whether the Workload still is what an offer was decided on, if that may be as another program has left it.
func (t *decision) confirmOffer() error {
	now, there := t.hub.workloads[t.item.name]
	if t.item.ownRV > t.driver.startVersion || t.parts.DriverBugs.OffersFromStaleCache || there && now.ownRV == t.item.ownRV {
		return nil
	}
	t.recordEvent(OfferedBehind)
	t.logf("%s: nothing is offered, because %v", t.item.name, errCacheBehind)
	return errCacheBehind
}

// isMadeFor reports whether all that is seen on a worker was made for the Workload.
func (w *program) isMadeFor(c *worker, item workload) bool {
	r := w.driver.remotes[c.name]
	obj, job := r.informers.workloads.get(item.name), r.informers.jobs.get(jobOf(item.name))
	return (obj.exists || job.exists) && (!obj.exists || obj.value.uid == item.uid) && (!job.exists || job.value.uid == item.uid)
}

// confirmOrphanRemoval is sure for what the cache has no Workload of, or another.
func (w *program) confirmOrphanRemoval(c *worker, name string, cached optional[workload]) error {
	if cached.exists {
		return w.confirmRemoval(c, cached.value)
	}
	if _, there := w.hub.workloads[name]; there && !w.parts.DriverBugs.TrustsItsCache {
		w.recordEvent(CacheBehind)
		return errCacheBehind
	}
	return nil
}
