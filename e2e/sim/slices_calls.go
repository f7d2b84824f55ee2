package sim

import (
	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
)

// The calls of the dispatcher that slices add, and its sweep of what they leave.

// isLarger reports whether a copy is for more pods than the slice, which was scaled down since, and may be made smaller.
func (t *decision) isLarger(obj remoteWorkload) bool {
	return t.item.view != nil && t.item.view.isLarger(t.item, obj)
}

// resizeJob makes the job ask for what the slice is for, and name that, or only for no more than that. It is a read and a write, which demands
// that the job has not changed since.
func (t *decision) resizeJob(c *worker, a dispatch.Action) error {
	now, there := c.jobs[jobOf(t.item.name)]
	if !there {
		return nil
	}
	resized, changed := t.resized(now, a)
	if !changed {
		return nil
	}
	return t.patchJob(c, now, resized)
}

// resized is the job as it is to be.
func (t *decision) resized(now remoteJob, a dispatch.Action) (remoteJob, bool) {
	facts := jobFacts(t.item, optional[remoteJob]{true, now})
	if facts.Holder != dispatch.Ours || facts.Epoch != a.Epoch || facts.Deleting || facts.Finished != nil || a.OnlyShrink && !facts.OfSlice {
		return now, false
	}
	next := now
	if !a.OnlyShrink {
		next.pods, next.prebuilt, next.chain = t.item.gpu, t.item.name, t.item.chain
	} else if next.pods > t.item.gpu {
		next.pods = t.item.gpu
	}
	return next, next != now
}

// holdResize keeps the write of a resize under way for later: it demands that the job has not changed since.
func (t *decision) holdResize(a dispatch.Action) {
	c := t.lookupWorker(a.Cluster)
	was, there := c.jobs[jobOf(t.item.name)]
	if next, changed := t.resized(was, a); there && changed && c.up && !c.fence.stock {
		late := *t
		late.fault = callFault{}
		t.heldCalls = append(t.heldCalls, heldCall{c.name, func() error { return late.patchJob(c, was, next) }})
	}
}

// patchJob writes a job if it is still as it was read.
func (t *decision) patchJob(c *worker, was, next remoteJob) error {
	name := jobOf(t.item.name)
	if now, there := c.jobs[name]; !there || now != was {
		return errRefused
	}
	t.history.checkResize(t, c, was, next)
	t.putJob(c, name, next)
	return nil
}

// isElasticJob reports whether a name on a worker is one of the slices of an elastic job, or of their job.
func isElasticJob(r *remoteState, name string) bool {
	return r.informers.workloads.cache[name].elastic || r.informers.jobs.cache[name].elastic
}

// sweepSlices removes the copy of a slice that the hub does not have any more, and the job that names such a one, unless another slice of its chain
// has it (isSliceJob of the controller).
func (w *World) sweepSlices(c *worker, name string) {
	r := w.driver.remotes[c.name]
	if obj, there := r.informers.workloads.cache[name]; there && obj.elastic {
		w.sweepOwned(c, name, obj.owner)
	}
	job, there := r.informers.jobs.cache[name]
	if !there || !job.elastic || w.hasSliceOf(job.chain) {
		return
	}
	w.sweepOwned(c, job.prebuilt, job.owner)
}

// sweepOwned removes what bears the name of a slice, and its job, if the hub has no such slice; of an earlier owner of the name, too.
func (w *World) sweepOwned(c *worker, name string, of owner) {
	item := w.driver.localInformer.get(name)
	if !of.ours || item.exists {
		return
	}
	r := w.driver.remotes[c.name]
	job, there := r.informers.jobs.cache[jobOf(name)]
	if there && job.prebuilt == name && w.hasSliceOf(job.chain) {
		return
	}
	how := removalOptions{foreground: true, keepJob: there && job.prebuilt != name, confirm: func() error { return w.confirmOrphanRemoval(c, name, item) }}
	_ = w.retractObjects(c, workload{name: name, deleting: true}, how, func(o owner, _ int64) bool { return o.ours })
}

// hasSliceOf reports whether the hub's cache has a slice of a chain that may have the job of which a worker shows a copy.
func (w *World) hasSliceOf(chain string) bool {
	for _, item := range w.driver.localInformer.cache {
		if item.elastic && hubworkload.HasJobOf(w.kubeSlice(item), chain) && !item.deleting {
			return true
		}
	}
	return false
}
