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

// reportCache are the parts of the report as they were computed last. What changes is computed again, tree by tree; asking the
// source costs a short hold of its mutex for each tree, and for each LocalQueue in which something changed.
type reportCache struct {
	fairSharing bool
	entries     map[string]switchyard.CapacityQueue
	// versions are those of the reservations that the figures of a queue count.
	versions    map[string]quota.Version
	localQueues map[types.NamespacedName]localQueueEntry
	// localQueuesByClusterQueue finds the LocalQueues of a ClusterQueue.
	localQueuesByClusterQueue map[string]map[types.NamespacedName]bool
}

// localQueueEntry is a LocalQueue and the workloads in it.
type localQueueEntry struct {
	queue string
	view.LocalQueueWorkloads
}

func newReportCache(fair bool) *reportCache {
	return &reportCache{
		fairSharing: fair, entries: map[string]switchyard.CapacityQueue{}, versions: map[string]quota.Version{},
		localQueues: map[types.NamespacedName]localQueueEntry{}, localQueuesByClusterQueue: map[string]map[types.NamespacedName]bool{},
	}
}

// changedNames are names of what changed since the last update.
type changedNames struct {
	clusterQueues map[string]bool
	localQueues   map[types.NamespacedName]bool
}

func newChangedNames() changedNames {
	return changedNames{clusterQueues: map[string]bool{}, localQueues: map[types.NamespacedName]bool{}}
}

// markAllChanged adds everything that there is now or was at the last update.
func (b *reportCache) markAllChanged(source *view.View, changed changedNames) {
	for _, name := range source.ClusterQueueNames() {
		changed.clusterQueues[name] = true
	}
	for name := range b.entries {
		changed.clusterQueues[name] = true
	}
	for _, name := range source.LocalQueueNames() {
		changed.localQueues[name] = true
	}
	for name := range b.localQueues {
		changed.localQueues[name] = true
	}
}

// update brings the report up to date.
func (b *reportCache) update(source *view.View, changed changedNames) {
	queues := maps.Clone(changed.clusterQueues)
	for name := range changed.localQueues {
		was, is := b.refreshLocalQueue(source, name)
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
		rooms, version := source.TreeCapacities(name)
		if rooms == nil {
			delete(b.entries, name)
			delete(b.versions, name)
			continue
		}
		b.computeTree(rooms, version)
		for i := range rooms {
			done[rooms[i].Name] = true
		}
	}
}

// refreshLocalQueue counts the workloads in a LocalQueue, and returns the ClusterQueues that it pointed to before and points
// to now.
func (b *reportCache) refreshLocalQueue(source *view.View, name types.NamespacedName) (was, is string) {
	was = b.localQueues[name].queue
	delete(b.localQueues, name)
	delete(b.localQueuesByClusterQueue[was], name)
	if len(b.localQueuesByClusterQueue[was]) == 0 {
		delete(b.localQueuesByClusterQueue, was)
	}
	counts, is, known := source.LocalQueueWorkloads(name)
	if !known {
		return was, ""
	}
	b.localQueues[name] = localQueueEntry{queue: is, LocalQueueWorkloads: counts}
	if b.localQueuesByClusterQueue[is] == nil {
		b.localQueuesByClusterQueue[is] = map[types.NamespacedName]bool{}
	}
	b.localQueuesByClusterQueue[is][name] = true
	return was, is
}

// computeTree computes the queues of a tree.
func (b *reportCache) computeTree(rooms []view.QueueCapacity, version quota.Version) {
	populations := map[string]reservedByPriority{}
	for i := range rooms {
		if counts := b.reservedIn(rooms[i].Name); len(counts) > 0 {
			populations[rooms[i].Name] = counts
		}
	}
	evict := newPreemptableQuota(rooms, populations, b.fairSharing)
	for i := range rooms {
		name := rooms[i].Name
		b.versions[name] = version
		if len(rooms[i].LocalQueues) == 0 {
			delete(b.entries, name)
			continue
		}
		b.entries[name] = buildQueueReport(&rooms[i], evict, b.pendingIn(name))
	}
}

// reservedIn sums what the workloads of a ClusterQueue's LocalQueues hold, by priority.
func (b *reportCache) reservedIn(queue string) reservedByPriority {
	sum := reservedByPriority{}
	for name := range b.localQueuesByClusterQueue[queue] {
		for priority, uses := range b.localQueues[name].Reserved {
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

// pendingIn lists the pending workloads of a ClusterQueue's LocalQueues by falling priority. Beyond maxPriorities entries,
// lower priorities are merged into the last.
func (b *reportCache) pendingIn(queue string) []switchyard.CapacityWaiting {
	sum := map[int32]view.PendingGroup{}
	for name := range b.localQueuesByClusterQueue[queue] {
		for priority, w := range b.localQueues[name].Pending {
			sum[priority] = sum[priority].Merge(w)
		}
	}
	var list []switchyard.CapacityWaiting
	for _, priority := range slices.SortedFunc(maps.Keys(sum), func(a, b int32) int { return cmp.Compare(b, a) }) {
		w := sum[priority]
		if len(list) < maxPriorities {
			list = append(list, switchyard.CapacityWaiting{Priority: priority})
		} else {
			last := list[len(list)-1]
			w = w.Merge(view.PendingGroup{Count: int(last.Count), Since: last.Since.Time})
		}
		at := &list[len(list)-1]
		at.Count, at.Since = int32(min(w.Count, 1<<31-1)), metav1.NewTime(w.Since)
	}
	return list
}

// buildReport is all of it; when it was observed and the kinds that are served are left to the caller.
func (b *reportCache) buildReport(source *view.View) *switchyard.CapacityReport {
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
