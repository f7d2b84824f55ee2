package sim

import (
	"slices"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/job/elastic"
)

// What a worker does with the copies of slices: they have one job, which runs by one of them. The real package elastic chooses, as on the hub,
// and the real admission core charges the next one for the difference.

// copiesOf lists the names of the copies of a job's slices, sorted.
func (c *worker) copiesOf(job string) []string {
	var names []string
	for name, obj := range c.workloads {
		if obj.elastic && jobOf(name) == job {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// ownedSlices are the copies that a job has taken up and that have not finished.
func (c *worker) ownedSlices(name string, job remoteJob) (names []string) {
	for _, n := range c.copiesOf(name) {
		if obj := c.workloads[n]; obj.adopted && obj.adoptedBy == job.id && obj.finished == nil {
			names = append(names, n)
		}
	}
	return names
}

// chooseSlice says by which copy a job runs, and which end now, and how.
func (c *worker) chooseSlice(name string, job remoteJob) (runs string, endings map[string]string) {
	owned := c.ownedSlices(name, job)
	list := make([]elastic.Slice, len(owned))
	for i, n := range owned {
		obj := c.workloads[n]
		list[i] = elastic.Slice{Name: n, UID: formatUID(obj.id), Created: obj.creationTime(), Reserved: obj.quota, Evicted: obj.evicted}
		if slices.ContainsFunc(owned, func(older string) bool { return obj.claimsPlaceOf(older, c.workloads[older].slicePlace) }) {
			list[i].Replaces = obj.replaces
		}
	}
	choice := elastic.Choose(list)
	if choice.Running != elastic.None {
		runs = owned[choice.Running]
	}
	for _, end := range choice.End {
		if endings == nil {
			endings = map[string]string{}
		}
		endings[owned[end.Slice]] = dispatch.OutOfSync
		if end.Replaced {
			endings[owned[end.Slice]] = dispatch.SliceReplaced
		}
	}
	return runs, endings
}

// permission is what a job may do: begin to run, and go on.
type permission struct{ start, goOn bool }

// permitSlice is the permission of an elastic job: the slice by which it runs may wait for its admission while the job goes on, but more pods
// than that has quota for, of a job that wants more still, stop it. Without quota a job has to ask for what the slice is for.
func (c *worker) permitSlice(name string, job remoteJob) permission {
	runs, _ := c.chooseSlice(name, job)
	obj, there := c.workloads[runs]
	if runs == "" { // what it is about to take up decides; until then it goes on
		next, awaited := c.workloads[job.prebuilt]
		return permission{goOn: awaited && !next.adopted && next.ours && job.ours && !job.deleting && !areUnrelated(job, next)}
	}
	if !there || obj.evicted || obj.deactivating || !obj.quota || job.deleting || !job.ours {
		return permission{}
	}
	overdrawn := job.running && elastic.Needed(podCounts(job.pods), podCounts(obj.gpu), map[string]int32{podSetName: int32(job.runs)}).Overdrawn
	return permission{start: obj.admitted && !overdrawn, goOn: !overdrawn}
}

// stepPods lets pods of an elastic job go, or end, one change at a time: no more than it asks for, and new ones only by an admitted slice.
func (w *workerClusters) stepPods(c *worker, name string, job remoteJob) bool {
	runs, _ := c.chooseSlice(name, job)
	obj := c.workloads[runs]
	switch now := job.runs; {
	case job.pods < now:
		job.runs = job.pods
	case obj.admitted && min(job.pods, obj.gpu) > now:
		job.runs = min(job.pods, obj.gpu)
	default:
		return false
	}
	w.history.checkPods(w, c, name, job, obj)
	w.putJob(c, name, job)
	return true
}

// stepRemoteSlice has a copy of a slice adopted, admitted, evicted, finished or removed.
func (w *workerClusters) stepRemoteSlice(c *worker, name string, obj remoteWorkload, job optional[remoteJob]) bool {
	owned := job.exists && obj.adopted && obj.adoptedBy == job.value.id
	runs, endings := "", map[string]string(nil)
	if owned {
		runs, endings = c.chooseSlice(jobOf(name), job.value)
	}
	end, ends := endings[name]
	switch {
	case obj.adopted && !owned:
		w.removeRemoteWorkload(c, name)
		return true
	case job.exists && !obj.adopted && w.adoptsSlice(c, name, obj, job.value):
		obj.adopted, obj.adoptedBy = true, job.value.id
	case obj.finished != nil:
		return false
	case ends:
		obj.finished = &dispatch.Outcome{Reason: end, Message: "Replaced to accommodate a new workload slice"}
	case runs == name && job.value.finished != nil:
		obj.finished = job.value.finished
	case obj.deactivating && !obj.evicted:
		obj.evicted = true
	case obj.evicted && obj.quota && (!owned || !job.value.running || runs != name):
		obj.quota, obj.admitted, obj.openedAt, obj.reservedAt = false, false, time.Time{}, time.Time{}
	case runs == name && !obj.quota && job.value.pods != obj.gpu && job.value.finished == nil:
		if job.value.running {
			return false // it is stopped first
		}
		obj.finished = &dispatch.Outcome{Reason: dispatch.OutOfSync, Message: "The prebuilt workload is out of sync with its user job"}
	case !obj.quota && !obj.deactivating:
		return w.runCycle(c)
	case obj.quota && !obj.evicted && !obj.admitted:
		obj.admitted, obj.admittedAt = true, w.now
	default:
		return false
	}
	w.putRemoteWorkload(c, name, obj)
	return true
}

// adoptsSlice reports whether a job takes up a copy: the one that it names, if it has none, or the next of one that it has.
func (w *workerClusters) adoptsSlice(c *worker, name string, obj remoteWorkload, job remoteJob) bool {
	if obj.finished != nil || obj.deleting || job.finished != nil || !job.ours || !obj.ours {
		return false
	}
	hasOne := false
	for _, n := range c.copiesOf(jobOf(name)) {
		older := c.workloads[n]
		if !older.adopted || older.adoptedBy != job.id {
			continue
		}
		if obj.claimsPlaceOf(n, older.slicePlace) {
			return true
		}
		hasOne = hasOne || older.finished == nil
	}
	return !hasOne && job.prebuilt == name && (c.fence.stock || !areUnrelated(job, obj) && !w.parts.Before(job, obj))
}

// isTakenOver reports whether another copy with quota has taken over what a copy holds.
func (c *worker) isTakenOver(name string, obj remoteWorkload) bool {
	for _, by := range c.workloads {
		if by.quota && by.finished == nil && by.claimsPlaceOf(name, obj.slicePlace) && c.areOfOneJob(by, obj) {
			return true
		}
	}
	return false
}

// areOfOneJob reports whether two copies are one job's, or one of them will be.
func (c *worker) areOfOneJob(next, older remoteWorkload) bool {
	return !next.adopted && next.ours && older.ours || next.adopted && next.adoptedBy == older.adoptedBy
}

// replacedCopy is the copy from which one takes over when it is admitted.
func (c *worker) replacedCopy(obj remoteWorkload) optional[remoteWorkload] {
	old, there := c.workloads[obj.replaces]
	found := there && obj.replaces != "" && old.finished == nil && obj.claimsPlaceOf(obj.replaces, old.slicePlace) && c.areOfOneJob(obj, old)
	return optional[remoteWorkload]{found, old}
}

// syncSliceCopies tells the admission core about the other copies of a job, some of which may depend on the one that has changed (syncSlices of
// package view).
func (c *worker) syncSliceCopies(name string) {
	for _, n := range c.copiesOf(jobOf(name)) {
		if n != name {
			c.syncCopy(n, optional[remoteWorkload]{true, c.workloads[n]})
		}
	}
}

// replace has a waiting copy take over from the one that it replaces, or wait for as long as that one has no quota to be taken over.
func (c *worker) replace(obj remoteWorkload, waits *admission.Workload) {
	old := c.replacedCopy(obj)
	if !old.exists {
		return
	}
	if waits.Blocked == nil && (!old.value.quota || old.value.evicted) {
		waits.Blocked = &admission.Block{Reason: admission.WaitingForQuota, LetsOthersPass: true, Message: "waiting for the workload slice that it replaces"}
	}
	if old.value.quota {
		waits.Replaces = workloadKey(obj.replaces)
		waits.PodSets[0].Flavors = []admission.ResourceFlavor{{Resource: resourceName, Flavor: flavorName}}
	}
}
