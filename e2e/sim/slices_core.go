package sim

import (
	"slices"
	"strconv"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// The hub's quota of slices, and what people do with elastic jobs.

// replacedSlice is the slice from which one takes over when it gets quota, if that has not finished (replacedBy of package view).
func (h *hub) replacedSlice(item workload) optional[workload] {
	old, there := h.workloads[item.replaces]
	found := item.replaces != "" && there && old.finished == nil && old.ownerUID == item.ownerUID && item.claimsPlaceOf(old.name, old.slicePlace)
	return optional[workload]{found, old}
}

// isTakenOver reports whether another slice with quota has taken over what a slice holds, which counts nowhere then.
func (h *hub) isTakenOver(item workload) bool {
	for _, by := range h.workloads {
		if by.elastic && by.quota && by.finished == nil && by.replaces == item.name && h.replacedSlice(by).exists {
			return true
		}
	}
	return false
}

// mayReserve reports whether the core gives a Workload quota: a slice pays for the difference, and waits for as long as the one that it
// replaces has none to be taken over (replace of package view).
func (h *hub) mayReserve(item workload) bool {
	free := h.freeQuota()
	if old := h.replacedSlice(item); old.exists {
		if !old.value.quota || old.value.evicted {
			return false
		}
		free += old.value.gpu
	}
	return free >= item.gpu
}

// reserveForSlice stores the reservation of a slice: it goes where the job runs, and ends the slice from which it takes over, in two writes. A core
// that knows nothing of that leaves it to the dispatcher and to the job's controller.
func (w *hubCluster) reserveForSlice(item workload, knows bool) {
	old := w.hub.replacedSlice(item)
	if before, there := w.hub.workloads[item.replaces]; there {
		w.history.joinRuns(before, item)
	}
	if old.exists {
		w.recordEvent(TakesOver)
	}
	if knows && old.exists && item.bound == "" {
		item.bound = old.value.bound
	}
	w.putWorkload(item)
	if knows && old.exists {
		old.value.finished = &dispatch.Outcome{Reason: dispatch.SliceReplaced}
		w.putWorkload(old.value)
	}
}

// workloadsOfJob are the Workload and, of an elastic job, the other slices of its job.
func (h *hub) workloadsOfJob(item workload) []workload {
	if !item.elastic {
		return []workload{item}
	}
	return slices.DeleteFunc(h.slicesOf(jobOf(item.name)), func(s workload) bool { return s.jobUID != item.jobUID })
}

// scaleJob j1 4: a user has the job ask for so many pods.
func scaleJob(c command) error {
	n, err := strconv.ParseInt(c.arg(1), 10, 64)
	all := c.hub.slicesOf(c.arg(0))
	if err != nil || len(all) == 0 {
		return err
	}
	c.hub.lastVersion++
	for _, item := range all {
		if item.jobUID != 0 && !item.status.finished && item.asked != n {
			item.asked, item.jobRV = n, c.hub.lastVersion
			c.storeWorkload(item)
		}
	}
	return nil
}

// isTakingOver reports whether a slice has quota and is not all that its job runs by yet.
func (w *program) isTakingOver() bool {
	for _, item := range w.hub.workloads {
		if item.elastic && item.replaces != "" && item.quota && item.finished == nil && item.check == dispatch.Pending {
			return true
		}
	}
	return false
}

// noteEvictedWithNext notes that a slice is evicted while another waits to replace it.
func (w *hubCluster) noteEvictedWithNext(item workload) {
	if !item.elastic {
		return
	}
	for _, next := range w.hub.slicesOf(jobOf(item.name)) {
		if next.replaces == item.name && !next.quota && next.finished == nil {
			w.recordEvent(EvictedWithNext)
		}
	}
}
