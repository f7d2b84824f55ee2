package capacity

import (
	"cmp"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
	"switchyard.dev/worker/view"
)

// books are the parts of the report as they were computed last. What changes is computed again, tree by tree; asking the
// source costs a short hold of its mutex for each tree, and for each LocalQueue in which something changed.
type books struct {
	fair    bool
	entries map[string]switchyard.CapacityQueue
	// versions are those of the reservations that the figures of a queue count.
	versions map[string]quota.Version
	locals   map[types.NamespacedName]resident
	// byQueue finds the LocalQueues of a ClusterQueue.
	byQueue map[string]map[types.NamespacedName]bool
}

// resident is a LocalQueue and who is in it.
type resident struct {
	queue string
	view.Population
}

func newBooks(fair bool) *books {
	return &books{
		fair: fair, entries: map[string]switchyard.CapacityQueue{}, versions: map[string]quota.Version{},
		locals: map[types.NamespacedName]resident{}, byQueue: map[string]map[types.NamespacedName]bool{},
	}
}

// changes are names of what changed since the books were kept last.
type changes struct {
	queues map[string]bool
	locals map[types.NamespacedName]bool
}

func newChanges() changes {
	return changes{queues: map[string]bool{}, locals: map[types.NamespacedName]bool{}}
}

// addAll adds everything that there is now or was when the books were kept last.
func (b *books) addAll(source *view.View, changed changes) {
	for _, name := range source.ClusterQueueNames() {
		changed.queues[name] = true
	}
	for name := range b.entries {
		changed.queues[name] = true
	}
	for _, name := range source.LocalQueueNames() {
		changed.locals[name] = true
	}
	for name := range b.locals {
		changed.locals[name] = true
	}
}

// keep brings the books up to date.
func (b *books) keep(source *view.View, changed changes) {
	queues := maps.Clone(changed.queues)
	for name := range changed.locals {
		was, is := b.count(source, name)
		for _, queue := range []string{was, is} {
			if queue != "" {
				queues[queue] = true
			}
		}
	}
	done := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(queues)) {
		if done[name] {
			continue
		}
		rooms, version := source.Rooms(name)
		if rooms == nil {
			delete(b.entries, name)
			delete(b.versions, name)
			continue
		}
		b.enter(rooms, version)
		for i := range rooms {
			done[rooms[i].Name] = true
		}
	}
}

// count counts who is in a LocalQueue, and returns the ClusterQueues that it pointed to before and points to now.
func (b *books) count(source *view.View, name types.NamespacedName) (was, is string) {
	was = b.locals[name].queue
	delete(b.locals, name)
	delete(b.byQueue[was], name)
	if len(b.byQueue[was]) == 0 {
		delete(b.byQueue, was)
	}
	people, is, known := source.Population(name)
	if !known {
		return was, ""
	}
	b.locals[name] = resident{queue: is, Population: people}
	if b.byQueue[is] == nil {
		b.byQueue[is] = map[types.NamespacedName]bool{}
	}
	b.byQueue[is][name] = true
	return was, is
}

// enter computes the queues of a tree.
func (b *books) enter(rooms []view.QueueRoom, version quota.Version) {
	populations := map[string]held{}
	for i := range rooms {
		if people := b.heldIn(rooms[i].Name); len(people) > 0 {
			populations[rooms[i].Name] = people
		}
	}
	evict := evictionsOf(rooms, populations, b.fair)
	for i := range rooms {
		name := rooms[i].Name
		b.versions[name] = version
		if len(rooms[i].Locals) == 0 {
			delete(b.entries, name)
			continue
		}
		b.entries[name] = report(&rooms[i], evict, b.waitingIn(name))
	}
}

func (b *books) heldIn(queue string) held {
	sum := held{}
	for name := range b.byQueue[queue] {
		for priority, uses := range b.locals[name].Holding {
			if sum[priority] == nil {
				sum[priority] = map[quota.FlavorResource]amount.Sum{}
			}
			for cell, v := range uses {
				sum[priority][cell] = sum[priority][cell].Plus(v)
			}
		}
	}
	return sum
}

func (b *books) waitingIn(queue string) []switchyard.CapacityWaiting {
	sum := map[int32]view.Waiting{}
	for name := range b.byQueue[queue] {
		for priority, w := range b.locals[name].Waiting {
			sum[priority] = sum[priority].And(w)
		}
	}
	var list []switchyard.CapacityWaiting
	for _, priority := range slices.SortedFunc(maps.Keys(sum), func(a, b int32) int { return cmp.Compare(b, a) }) {
		w := sum[priority]
		if len(list) < maxPriorities {
			list = append(list, switchyard.CapacityWaiting{Priority: priority})
		} else {
			last := list[len(list)-1]
			w = w.And(view.Waiting{Count: int(last.Count), Since: last.Since.Time})
		}
		at := &list[len(list)-1]
		at.Count, at.Since = int32(min(w.Count, 1<<31-1)), metav1.NewTime(w.Since)
	}
	return list
}

// report is all of it; when it was observed and the kinds that are served are left to the caller.
func (b *books) report(source *view.View) *switchyard.CapacityReport {
	r := &switchyard.CapacityReport{}
	flavors := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(b.entries)) {
		entry := b.entries[name]
		r.ClusterQueues = append(r.ClusterQueues, entry)
		for _, g := range entry.Groups {
			for i := range g.Flavors {
				flavors[g.Flavors[i].Flavor] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(flavors)) {
		if f := source.ResourceFlavor(name); f != nil {
			r.Flavors = append(r.Flavors, switchyard.CapacityFlavor{
				Name: f.Name, NodeLabels: f.Spec.NodeLabels, NodeTaints: f.Spec.NodeTaints, Tolerations: f.Spec.Tolerations,
			})
		}
	}
	return r
}
