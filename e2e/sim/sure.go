package sim

import "errors"

// What the dispatcher's program asks the hub's API server right before it removes a job or makes an offer (controller/sure.go): its cache
// may be behind, and what it does, unlike what it writes, is not guarded by a version.

var errBehind = errors.New("the hub's cache is behind")

// sure reports whether the Workload still is what the removal was decided on. That one has finished, or goes, cannot change any more.
func (w *World) sure(c *worker, seen workload) error {
	own := w.madeFor(c, seen)
	now, there := w.hub.items[seen.name]
	switch {
	case w.parts.Shell.BelievesItsCache, seen.finished != nil && own, !there:
		return nil
	case now.uid == seen.uid && (now.ownRV == seen.ownRV || seen.deleting && own):
		return nil
	}
	w.reach(CacheBehind)
	w.say("%s: nothing is removed from %s, because %v", seen.name, c.name, errBehind)
	return errBehind
}

// current reports whether the Workload still is what an offer was decided on, if that may be as another program has left it.
func (t *turn) current() error {
	now, there := t.hub.items[t.item.name]
	if t.item.ownRV > t.program.began || t.parts.Shell.OffersUnasked || there && now.ownRV == t.item.ownRV {
		return nil
	}
	t.reach(OfferedBehind)
	t.say("%s: nothing is offered, because %v", t.item.name, errBehind)
	return errBehind
}

// madeFor reports whether all that is seen on a worker was made for the Workload.
func (w *World) madeFor(c *worker, item workload) bool {
	r := w.program.remote[c.name]
	obj, job := r.watch.copies.get(item.name), r.watch.jobs.get(item.name)
	return (obj.there || job.there) && (!obj.there || obj.value.uid == item.uid) && (!job.there || job.value.uid == item.uid)
}

// sureOfOrphan is sure for what the cache has no Workload of, or another.
func (w *World) sureOfOrphan(c *worker, name string, cached present[workload]) error {
	if cached.there {
		return w.sure(c, cached.value)
	}
	if _, there := w.hub.items[name]; there && !w.parts.Shell.BelievesItsCache {
		w.reach(CacheBehind)
		return errBehind
	}
	return nil
}
