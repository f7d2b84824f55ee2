package sim

import (
	"cmp"
	"slices"
	"strconv"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/elastic"
)

// What the hub does with the slices of an elastic job: its controller makes, resizes and ends them, its core gives them quota. The real
// package elastic chooses.

// slicesOf lists the slices of a job, the oldest first, those of an earlier job of its name included.
func (h *hub) slicesOf(job string) []workload {
	var list []workload
	for name, item := range h.workloads {
		if item.elastic && jobOf(name) == job {
			list = append(list, item)
		}
	}
	slices.SortFunc(list, func(a, b workload) int { return cmp.Compare(a.number, b.number) })
	return list
}

// sliceSet are the slices of a job as its controller sorts them.
type sliceSet struct {
	running, next optional[workload]
	// endings are of no use any more, each with how it ends; released have ended and are to go; kept are to stay though somebody deletes them.
	endings  []workload
	released []workload
	kept     []string
	// outcome is one that says how the job has ended.
	outcome optional[workload]
}

// sortSlices does what the job's controller does (observeSlices of package job).
func (w *hubCluster) sortSlices(name string, jobUID int64) (set sliceSet) {
	all := w.hub.slicesOf(name)
	all = slices.DeleteFunc(all, func(s workload) bool { return s.ownerUID != jobUID })
	var live, ended []workload
	for _, s := range all {
		over := s.finished != nil && (s.finished.Reason == dispatch.SliceReplaced || s.finished.Reason == dispatch.OutOfSync)
		switch {
		case s.finished != nil:
			if !over {
				set.outcome = optional[workload]{true, s}
			}
			ended = append(ended, s)
		case s.deleting && !s.quota && !s.isRecorded() && !w.awaitsRecord(s) && len(all) > 1:
			set.released = append(set.released, s)
		default:
			live = append(live, s)
		}
	}
	list := make([]elastic.Slice, len(live))
	for i, s := range live {
		list[i] = elastic.Slice{
			Name: s.name, UID: strconv.FormatInt(s.uid, 10), Created: s.creationTime(), Reserved: s.quota, Evicted: s.evicted, Recorded: s.isRecorded(),
		}
		if slices.ContainsFunc(live, func(older workload) bool { return s.claimsPlaceOf(older.name, older.slicePlace) }) {
			list[i].Replaces = s.replaces
		}
	}
	choice := elastic.Choose(list)
	if choice.Running != elastic.None {
		set.running = optional[workload]{true, live[choice.Running]}
	}
	if choice.Next != elastic.None {
		set.next = optional[workload]{true, live[choice.Next]}
	}
	set.kept = w.keptSlices(set.running)
	for _, s := range ended {
		if s.deleting && s.name != set.outcome.value.name && !slices.Contains(set.kept, s.name) {
			set.released = append(set.released, s)
		}
	}
	for _, end := range choice.End {
		s := live[end.Slice]
		s.finished = &dispatch.Outcome{Reason: dispatch.OutOfSync}
		if end.Replaced {
			s.finished = &dispatch.Outcome{Reason: dispatch.SliceReplaced}
		}
		set.endings = append(set.endings, s)
	}
	return set
}

// earlierSlices are those that a slice has taken over from, or is to (package job has the same).
func (h *hub) earlierSlices(of workload) []workload {
	var earlier []workload
	for older, there := h.workloads[of.replaces]; of.replaces != "" && there; older, there = h.workloads[of.replaces] {
		if older.ownerUID != of.ownerUID || !of.claimsPlaceOf(older.name, older.slicePlace) {
			break
		}
		earlier, of = append(earlier, older), older
	}
	return earlier
}

// keptSlices are the slices before the one by which the job runs, as long as that has not been admitted (keptSlices of package job).
func (w *hubCluster) keptSlices(running optional[workload]) (names []string) {
	of := running.value
	earlier := w.hub.earlierSlices(of)
	hasRecord := func(s workload) bool { return s.bound != "" || s.record != nil }
	isDone := hasRecord(of) && (w.isAdmitted(of) || of.bound == "")
	if !running.exists || isDone || !slices.ContainsFunc(earlier, hasRecord) {
		return nil
	}
	for _, s := range earlier {
		names = append(names, s.name)
	}
	return names
}

// isAdmitted reports whether a slice has quota, and its checks are ready.
func (w *hubCluster) isAdmitted(item workload) bool {
	return item.quota && (item.check == dispatch.Ready || item.check == "") && !item.otherChecksPending
}

// awaitsRecord reports whether a slice has got quota, and what it takes over is not recorded yet (awaitsRecord of package job).
func (w *hubCluster) awaitsRecord(item workload) bool {
	return (item.quota || item.evictions > 0) && item.bound == "" && item.record == nil && slices.ContainsFunc(w.hub.earlierSlices(item), workload.isRecorded)
}

// isRecorded reports whether the dispatcher has recorded a cluster that may run the job.
func (w workload) isRecorded() bool { return w.bound != "" || w.record != nil && w.record.Owed }

// stepElasticController makes the next transition of the controller of an elastic job.
func (w *program) stepElasticController(item workload) bool {
	name := jobOf(item.name)
	if !item.ownsJob() {
		return w.finishOrphan(item)
	}
	if item.jobUID == 0 {
		return false
	}
	set := w.sortSlices(name, item.jobUID)
	if !set.running.exists && !set.outcome.exists && len(set.released) == 0 {
		w.submitNextSlice(item, "") // all have ended, and none says how
		return true
	}
	of := orOptional(set.running, set.outcome)
	facts := w.jobControllerFacts(of.value)
	facts.Elastic, facts.StaleSlices = true, len(set.endings)+len(set.released) > 0
	target, size := w.addResize(&facts, set)
	switch plan := w.parts.Job(facts); plan.Do {
	case job.DoEndSlices:
		w.endSlices(set)
	case job.DoResize, job.DoUpdate:
		target.gpu = size
		w.putWorkload(target)
	case job.DoCreate:
		if !set.running.exists {
			return false
		}
		w.submitNextSlice(target, target.name)
	case job.DoFinish:
		of.value.finished = &dispatch.Outcome{Reason: "Succeeded", Message: "Job finished successfully"}
		w.putWorkload(of.value)
	case job.DoRelease:
		w.releaseQuota(of.value)
	case job.DoRemoveFinalizer:
		if !of.value.deleting {
			return false
		}
		w.removeFinalizer(of.value)
	default:
		return false
	}
	return true
}

func orOptional[T any](a, b optional[T]) optional[T] {
	if a.exists {
		return a
	}
	return b
}

// addResize says how the slices follow what the job asks for (compareSlices and compareWorkload of package job), and which slice gets what
// size, or is replaced.
func (w *hubCluster) addResize(f *job.Facts, set sliceSet) (target workload, size int64) {
	target = set.running.value
	size = target.asked
	if !set.running.exists || f.Ended != nil || f.Deleting || f.Finished {
		return target, size
	}
	if !target.quota {
		if target.gpu != target.asked {
			f.Link = job.LinkStale
		}
		return target, size
	}
	if f.Evicted {
		return target, size
	}
	need := elastic.Needed(podCounts(target.asked), podCounts(target.gpu), nil)
	size = int64(need.Counts[0].Pods)
	change := elastic.Compare(podCounts(target.gpu), need.Counts)
	if set.next.exists {
		target, change = set.next.value, elastic.Same
		if target.gpu != size {
			change = elastic.Shrunk
		}
	}
	switch change {
	case elastic.Shrunk:
		f.Resize = job.ResizeInPlace
	case elastic.Grown:
		f.Resize = job.ResizeBySlice
	case elastic.Same, elastic.Incompatible:
	}
	return target, size
}

// endSlices finishes what is of no use any more, and lets go of what has ended.
func (w *hubCluster) endSlices(set sliceSet) {
	for _, s := range set.endings {
		w.putWorkload(s)
		if s.deleting && !slices.Contains(set.kept, s.name) {
			w.removeWorkload(s.name)
		}
	}
	for _, s := range set.released {
		w.removeWorkload(s.name)
	}
}

// submitNextSlice makes another slice of the job that a slice is of: one that replaces it, or the first of a new chain.
func (w *hubCluster) submitNextSlice(of workload, replaces string) {
	number := w.nextSliceNumber(jobOf(of.name))
	next := workload{
		name: sliceName(jobOf(of.name), number), jobUID: of.jobUID, gpu: of.asked, asked: of.asked, priority: of.priority, duration: of.duration, ttl: of.ttl,
		killGrace: of.killGrace, staleStatus: of.staleStatus, tolerates: of.tolerates, noCheckEntry: of.noCheckEntry, status: of.status, jobRV: of.jobRV,
	}
	next.slicePlace = slicePlace{elastic: true, chain: next.name, replaces: replaces, number: number}
	if replaces != "" {
		next.chain = of.chain
	}
	w.submitWorkload(next)
}

func (w *hubCluster) nextSliceNumber(job string) int64 {
	w.hub.sliceCount[job]++
	return w.hub.sliceCount[job]
}
