package view

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

// QueueCapacity is what a ClusterQueue has room for.
type QueueCapacity struct {
	// Queue shares memory with the snapshot: it must not be changed.
	admission.ClusterQueue
	// InactiveMessage says why it admits nothing; empty if it does.
	InactiveMessage string
	// Cells are in the order of admission.Grants.
	Cells []CellCapacity
	// LocalQueues point to it, in order.
	LocalQueues []LocalQueueAccess
}

// CellCapacity is the account of one flavor-resource of a ClusterQueue.
type CellCapacity struct {
	quota.FlavorResource
	// Quota is the queue's own, Usage what it uses and Borrowed the part of it above Quota.
	Quota, Usage, Borrowed amount.Amount
	// Available is what more it may use now, borrowing included, negative if too much is used. Potential is the most that it
	// could use if no other queue used anything.
	Available, Potential amount.Amount
}

// LocalQueueAccess is a LocalQueue by which a ClusterQueue is reached.
type LocalQueueAccess struct {
	admission.Key
	// InactiveMessage says why nothing is admitted by way of it; empty if it is.
	InactiveMessage string
}

// LocalQueueWorkloads is the workloads of a LocalQueue.
type LocalQueueWorkloads struct {
	// Pending are the pending workloads of the ClusterQueue that it points to, by priority.
	Pending map[int32]PendingGroup
	// Reserved is what the others hold there, by priority; those that have been told to stop or whose admission is still being
	// written left out.
	Reserved map[int32]map[quota.FlavorResource]amount.Sum
}

// PendingGroup are workloads of one priority that wait.
type PendingGroup struct {
	Count int
	// Since is when the first of them was queued.
	Since time.Time
}

// Merge is the sum of two lines.
func (w PendingGroup) Merge(other PendingGroup) PendingGroup {
	switch {
	case w.Count == 0:
		return other
	case other.Count == 0:
		return w
	case other.Since.Before(w.Since):
		w.Since = other.Since
	}
	w.Count += other.Count
	return w
}

func (in *LocalQueueWorkloads) addPending(w *admission.Workload) {
	in.Pending[w.Priority] = in.Pending[w.Priority].Merge(PendingGroup{Count: 1, Since: w.QueuedAt})
}

// addReservation adds what a reservation holds, under its priority. Negative amounts do not count.
func (in *LocalQueueWorkloads) addReservation(r *admission.Reservation) {
	holding := in.Reserved[r.Priority]
	if holding == nil {
		holding = map[quota.FlavorResource]amount.Sum{}
		in.Reserved[r.Priority] = holding
	}
	for _, use := range r.Usage {
		if use.Amount > 0 {
			holding[use.FlavorResource] = holding[use.FlavorResource].Plus(amount.NewSum(use.Amount))
		}
	}
}

// ConvertPodSet turns a pod set into the core's, without what it requests.
func ConvertPodSet(ps *kueue.PodSet) admission.PodSet { return convertPodSet(ps) }

// ConvertFlavor turns a ResourceFlavor into the core's.
func ConvertFlavor(f *kueue.ResourceFlavor) admission.Flavor { return convertFlavor(f) }

// ConvertResourceGroups turns resource groups into the core's.
func ConvertResourceGroups(groups []kueue.ResourceGroup) []admission.ResourceGroup {
	return convertResourceGroups(groups)
}

// TreeCapacities returns what all ClusterQueues in the cohort tree of the named one have room for, at one moment and assumed
// reservations included, and the version of these figures; nil if the queue is not known.
func (r *Reports) TreeCapacities(queue string) ([]QueueCapacity, quota.Version) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.objects.clusterQueues[queue] == nil {
		return nil, quota.Version{}
	}
	var rooms []QueueCapacity
	for _, name := range r.snap.QueuesInTree(queue) {
		if r.objects.clusterQueues[name] != nil {
			rooms = append(rooms, r.queueCapacity(name))
		}
	}
	return rooms, r.snap.QuotaVersion(queue)
}

// queueCapacity returns the capacity of a ClusterQueue that the view knows. The caller holds the mutex.
func (r *Reports) queueCapacity(name string) QueueCapacity {
	q, _ := r.snap.ClusterQueue(name)
	room := QueueCapacity{ClusterQueue: q}
	if activity := r.objects.clusterQueues[name].activity; !activity.Active {
		room.InactiveMessage = activity.Message
	} else if block := r.snap.QueueBlock(name); block != nil { // such as a cycle of cohorts, of which the condition says nothing
		room.InactiveMessage = block.Message
	}
	tree := r.snap.Quota()
	for _, grant := range admission.Grants(q.Groups) {
		cell := CellCapacity{FlavorResource: grant.FlavorResource}
		if c := tree.Cell(name, grant.FlavorResource); c != nil {
			cell.Quota, cell.Usage, cell.Borrowed = c.SubtreeQuota(), c.Usage(), c.Borrowed()
			cell.Available, cell.Potential = c.Available(), c.PotentialAvailable()
		}
		room.Cells = append(room.Cells, cell)
	}
	for key, lq := range r.objects.localQueuesByClusterQueue[name] {
		room.LocalQueues = append(room.LocalQueues, LocalQueueAccess{Key: key, InactiveMessage: r.objects.localQueueInactiveMessage(key.Namespace, lq)})
	}
	slices.SortFunc(room.LocalQueues, func(a, b LocalQueueAccess) int { return a.Compare(b.Key) })
	return room
}

// LocalQueueWorkloads counts the workloads of a LocalQueue, and names the ClusterQueue that it points to; false if the LocalQueue
// is not known. It costs as much as there are workloads.
func (r *Reports) LocalQueueWorkloads(local types.NamespacedName) (LocalQueueWorkloads, string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := keyOf(local.Namespace, local.Name)
	lq := r.objects.localQueues[key]
	if lq == nil {
		return LocalQueueWorkloads{}, "", false
	}
	queue := string(lq.obj.Spec.ClusterQueue)
	in := LocalQueueWorkloads{Pending: map[int32]PendingGroup{}, Reserved: map[int32]map[quota.FlavorResource]amount.Sum{}}
	for _, w := range r.index.workloadsByLocalQueue[key] {
		switch holding, waiting := w.entry.reservation, w.entry.pending; {
		case w.assumed != nil:
		case waiting != nil && waiting.Queue == queue:
			in.addPending(waiting)
		case holding != nil && holding.Queue == queue && !holding.Evicted && w.evicting == nil:
			in.addReservation(holding)
		}
	}
	return in, queue, true
}

// ResourceFlavor returns a ResourceFlavor, nil if there is none. It must not be changed.
func (r *Reports) ResourceFlavor(name string) *kueue.ResourceFlavor {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.objects.flavors[name]
}
