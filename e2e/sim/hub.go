package sim

import (
	"fmt"
	"slices"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// hub is the hub's API server and its admission core. Whatever the dispatcher's program knows besides is in program.
type hub struct {
	gpu   int64
	items map[string]workload
	// listed is the MultiKueueConfig; known are the MultiKueueClusters, in name order.
	listed []string
	last   int64
	// cordoned, draining and gone are what people have said of clusters; fenced are those on which a fence was seen.
	cordoned, draining, gone, fenced map[string]bool
}

func newHub() *hub {
	return &hub{
		gpu: 100, items: map[string]workload{},
		cordoned: map[string]bool{}, draining: map[string]bool{}, gone: map[string]bool{}, fenced: map[string]bool{},
	}
}

// names returns the workloads in name order.
func (h *hub) names() []string {
	names := make([]string, 0, len(h.items))
	for name := range h.items {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// put stores a Workload and tells the program's informer.
func (w *World) put(item workload) workload {
	w.hub.last++
	item.rv = w.hub.last
	w.hub.items[item.name] = item
	w.changed()
	if w.program != nil {
		w.program.local.send(item.name, present[workload]{true, item})
		w.keepBooks(item)
	}
	return item
}

func (w *World) removeLocal(name string) {
	item := w.hub.items[name]
	delete(w.hub.items, name)
	w.changed()
	if w.program != nil {
		w.program.local.send(name, present[workload]{false, item})
		w.program.books.Drop(key(name))
	}
}

// core makes the next transition of one Workload in the hub's admission core (contract: kueue-api.md 4.11 and 4.13) and
// reports whether there was one. Prepared says that the dispatcher may add to a reservation what it would store next.
func (w *World) core(name string, prepared bool) bool {
	item, ok := w.hub.items[name]
	if !ok || item.deleting || w.program == nil {
		return false
	}
	switch {
	case item.finished != nil:
		if !item.quota {
			return false
		}
		item.quota = false
	case item.status.finished:
		item.finished = &dispatch.Outcome{Reason: "Succeeded", Message: "Job finished successfully"}
	case item.quota && !item.evicted && (item.check == dispatch.Retry || item.check == dispatch.Rejected):
		item.inactive = item.check == dispatch.Rejected
		item = w.evict(item, "Evicted due to AdmissionCheck in "+string(item.check)+" state: "+item.message)
	case item.quota && item.evicted && !item.status.active:
		item.message = "Reset to Pending after eviction. Previously: " + string(item.check)
		item.quota, item.reservation, item.reservedAt = false, "", time.Time{}
		item.check, item.bound, item.nominated = dispatch.Pending, "", nil
	case !item.quota && !item.inactive && !w.now.Before(item.requeueAt) && w.hub.free() >= item.gpu:
		item.quota, item.evicted, item.evictedMsg = true, false, ""
		item.reservedAt = w.now
		item.reservation = fmt.Sprintf("%d/%d", w.now.Unix(), item.evictions)
		item.check, item.message = dispatch.Pending, ""
		if prepared {
			item = w.prepare(item)
		}
	default:
		return false
	}
	w.put(item)
	return true
}

// evict is the first half of an eviction.
func (w *World) evict(item workload, message string) workload {
	item.evicted, item.evictedMsg = true, message
	item.evictions++
	item.requeueAt = w.now.Add(time.Second)
	return item
}

// nominate is what somebody else's dispatcher writes; the API takes it while there is a reservation and no cluster bound.
func (w *World) nominate(name string, clusters []string) {
	item, ok := w.hub.items[name]
	open := ok && item.quota && !item.evicted && item.bound == "" && item.finished == nil && !item.deleting
	clusters = slices.Sorted(slices.Values(clusters))
	if w.policy.Dispatcher != dispatch.External || !open || slices.Equal(item.nominated, clusters) {
		return
	}
	item.nominated = clusters
	w.put(item)
}

// nominateAll is the choice of a dispatcher that offers everything everywhere.
func (w *World) nominateAll() {
	for _, name := range w.hub.names() {
		w.nominate(name, w.hub.listed)
	}
}

func (h *hub) free() int64 {
	left := h.gpu
	for _, item := range h.items {
		if item.quota && item.finished == nil && !item.deleting {
			left -= item.gpu
		}
	}
	return left
}
