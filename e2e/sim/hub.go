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
	gpu   int64
	items map[string]workload
	// listed is the MultiKueueConfig; known are the MultiKueueClusters, in name order.
	listed []string
	// noConfig and noCheck are set while there is no MultiKueueConfig, or no AdmissionCheck.
	noConfig, noCheck bool
	last              int64
	// past are the latest changes of Workloads, the oldest first, for programs whose cache begins in the past.
	past []change
	// cordoned, draining and gone are what people have said of clusters; fenced are those on which a fence was seen.
	cordoned, draining, gone, fenced map[string]bool
}

func newHub() *hub {
	return &hub{
		gpu: 100, items: map[string]workload{},
		cordoned: map[string]bool{}, draining: map[string]bool{}, gone: map[string]bool{}, fenced: map[string]bool{},
	}
}

// change is one change of one Workload.
type change struct {
	name          string
	before, after present[workload]
}

// memory is how many changes are remembered.
const memory = 16

func (h *hub) note(name string, after present[workload]) {
	before, there := h.items[name]
	if len(h.past) == memory {
		copy(h.past, h.past[1:])
		h.past = h.past[:memory-1]
	}
	h.past = append(h.past, change{name, present[workload]{there, before}, after})
}

// ago returns the Workloads as they were so many changes ago, and what has changed since.
func (h *hub) ago(changes int) (map[string]workload, []event[workload]) {
	items, events := maps.Clone(h.items), []event[workload](nil)
	past := h.past[max(0, len(h.past)-changes):]
	for _, c := range slices.Backward(past) {
		delete(items, c.name)
		if c.before.there {
			items[c.name] = c.before.value
		}
	}
	for _, c := range past {
		events = append(events, event[workload]{name: c.name, obj: c.after})
	}
	return items, events
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
	item.ownRV = w.hub.last
	return w.store(item)
}

// store is put for what is changed of the job alone; the version is counted already.
func (w *World) store(item workload) workload {
	item.rv = w.hub.last
	w.hub.note(item.name, present[workload]{true, item})
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
	w.hub.note(name, present[workload]{})
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
	if !ok || item.deleting && !item.kept || w.program == nil {
		return false
	}
	switch {
	case w.control(item):
		return true
	case item.finished != nil:
		if !item.quota {
			return false
		}
		item.quota = false
	case item.quota && !item.evicted && (item.check == dispatch.Retry || item.check == dispatch.Rejected):
		item.inactive = item.check == dispatch.Rejected
		item = w.evict(item, "Evicted due to AdmissionCheck in "+string(item.check)+" state: "+item.message)
		item.forCheck = !item.inactive
	case !item.quota && !item.inactive && !item.deleting && !w.now.Before(item.requeueAt) && w.hub.free() >= item.gpu:
		item.quota, item.evicted, item.evictedMsg = true, false, ""
		item.reservedAt = w.now
		item.reservation = fmt.Sprintf("%d/%d", w.now.Unix(), item.evictions)
		item.check, item.message = item.entry(), ""
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
	item.evicted, item.forCheck, item.evictedMsg = true, false, message
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
		if item.quota && item.finished == nil && (!item.deleting || item.kept) {
			left -= item.gpu
		}
	}
	return left
}
