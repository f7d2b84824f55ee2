package sim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// hub is the hub's API server and its admission core. Whatever the dispatcher's program knows besides is in program.
type hub struct {
	gpu       int64
	workloads map[string]workload
	// listed is the MultiKueueConfig; known are the MultiKueueClusters, in name order.
	listed []string
	// noConfig and noCheck are set while there is no MultiKueueConfig, or no AdmissionCheck.
	noConfig, noCheck bool
	lastVersion       int64
	// changes are the latest changes of Workloads, the oldest first, for programs whose cache begins in the past.
	changes []workloadChange
	// cordoned, draining and gone are what people have said of clusters; fenced are those on which a fence was seen.
	cordoned, draining, declaredGone, fenceSeen map[string]bool
	// sliceCount is how many Workloads each elastic job has had: no two of its slices have one name.
	sliceCount map[string]int64
	// kube are the slices as they are in the API.
	kube *kubeObjects
	// watcher is the informer of the dispatcher's process, nil while that is down.
	watcher *informer[workload]
}

// notify sends a change of a Workload to the dispatcher's process.
func (h *hub) notify(name string, change optional[workload]) {
	if h.watcher != nil {
		h.watcher.enqueue(name, change)
	}
}

// hubCluster is the hub: its API server, its admission core and its job controller. What the dispatcher does there is the program's.
type hubCluster struct {
	*history
	hub *hub
}

func newHub() *hub {
	return &hub{
		gpu: 100, workloads: map[string]workload{}, sliceCount: map[string]int64{}, kube: newKubeObjects(),
		cordoned: map[string]bool{}, draining: map[string]bool{}, declaredGone: map[string]bool{}, fenceSeen: map[string]bool{},
	}
}

// workloadChange is one change of one Workload.
type workloadChange struct {
	name          string
	before, after optional[workload]
}

// maxChanges is how many changes are remembered.
const maxChanges = 16

func (h *hub) recordChange(name string, after optional[workload]) {
	before, there := h.workloads[name]
	if len(h.changes) == maxChanges {
		copy(h.changes, h.changes[1:])
		h.changes = h.changes[:maxChanges-1]
	}
	h.changes = append(h.changes, workloadChange{name, optional[workload]{there, before}, after})
}

// rewind returns the Workloads as they were so many changes ago, and what has changed since.
func (h *hub) rewind(changes int) (map[string]workload, []watchEvent[workload]) {
	items, events := maps.Clone(h.workloads), []watchEvent[workload](nil)
	past := h.changes[max(0, len(h.changes)-changes):]
	for _, c := range slices.Backward(past) {
		delete(items, c.name)
		if c.before.exists {
			items[c.name] = c.before.value
		}
	}
	for _, c := range past {
		events = append(events, watchEvent[workload]{name: c.name, obj: c.after})
	}
	return items, events
}

// workloadNames returns the workloads in name order.
func (h *hub) workloadNames() []string {
	names := make([]string, 0, len(h.workloads))
	for name := range h.workloads {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// putWorkload stores a Workload and tells the program's informer.
func (w *hubCluster) putWorkload(item workload) workload {
	w.hub.lastVersion++
	item.ownRV = w.hub.lastVersion
	if item.finished != nil && item.finishedAt.IsZero() {
		item.finishedAt = w.now
	}
	return w.storeWorkload(item)
}

// storeWorkload is put for what is changed of the job alone; the version is counted already.
func (w *hubCluster) storeWorkload(item workload) workload {
	item.rv = w.hub.lastVersion
	w.hub.recordChange(item.name, optional[workload]{true, item})
	w.hub.workloads[item.name] = item
	w.markChanged()
	w.hub.notify(item.name, optional[workload]{true, item})
	if item.elastic {
		w.checkOneSlice(item)
	}
	return item
}

func (w *hubCluster) removeWorkload(name string) {
	item := w.hub.workloads[name]
	w.hub.recordChange(name, optional[workload]{})
	delete(w.hub.workloads, name)
	w.markChanged()
	w.hub.notify(name, optional[workload]{false, item})
}

// stepCore makes the next transition of one Workload in the hub's admission core (contract: kueue-api.md 4.11 and 4.13) and
// reports whether there was one. Prepared says that the dispatcher may add to a reservation what it would store next.
func (w *World) stepCore(name string, prepared bool) bool {
	item, ok := w.hub.workloads[name]
	if !ok || item.deleting && !item.retained || w.driver == nil {
		return false
	}
	switch {
	case w.stepJobController(item):
		return true
	case item.finished != nil:
		if !item.quota || item.elastic { // what a slice says of its quota stays
			return false
		}
		item.quota = false
	case item.quota && !item.evicted && (item.check == dispatch.Retry || item.check == dispatch.Rejected):
		item.inactive = item.check == dispatch.Rejected
		item = w.markEvicted(item, "Evicted due to AdmissionCheck in "+string(item.check)+" state: "+item.message)
		item.evictedByCheck = !item.inactive
	case !item.quota && !item.inactive && !item.deleting && !w.now.Before(item.requeueAt) && w.hub.mayReserve(item):
		item.quota, item.evicted, item.evictedMsg = true, false, ""
		item.reservedAt = w.now
		item.reservation = fmt.Sprintf("%d/%d", w.now.Unix(), item.evictions)
		item.check, item.message = item.initialCheckState(), ""
		switch {
		case item.replaces != "":
			w.reserveForSlice(item, prepared)
			return true
		case prepared:
			item = w.prepareReservation(item)
		}
	default:
		return false
	}
	w.putWorkload(item)
	return true
}

// markEvicted is the first half of an eviction.
func (w *hubCluster) markEvicted(item workload, message string) workload {
	item.evicted, item.evictedByCheck, item.evictedMsg = true, false, message
	item.evictions++
	item.requeueAt = w.now.Add(time.Second)
	return item
}

// nominate is what another dispatcher writes; the API takes it while there is a reservation and no cluster bound.
func (w *hubCluster) nominate(name string, clusters []string) {
	item, ok := w.hub.workloads[name]
	open := ok && item.quota && !item.evicted && item.bound == "" && item.finished == nil && !item.deleting
	clusters = slices.Sorted(slices.Values(clusters))
	if w.policy.Dispatcher != dispatch.External || !open || slices.Equal(item.nominated, clusters) {
		return
	}
	item.nominated = clusters
	w.putWorkload(item)
}

// nominateAll is the choice of a dispatcher that offers everything everywhere.
func (w *hubCluster) nominateAll() {
	for _, name := range w.hub.workloadNames() {
		w.nominate(name, w.hub.listed)
	}
}

func (h *hub) freeQuota() int64 {
	left := h.gpu
	for _, item := range h.workloads {
		if item.quota && item.finished == nil && (!item.deleting || item.retained) && (!item.elastic || !h.isTakenOver(item)) {
			left -= item.gpu
		}
	}
	return left
}
