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

// QueueRoom is what a ClusterQueue has room for.
type QueueRoom struct {
	// Queue shares memory with the snapshot: it must not be changed.
	admission.Queue
	// Closed says why it admits nothing; empty if it does.
	Closed string
	// Cells are in the order of admission.Grants.
	Cells []CellRoom
	// Locals point to it, in order.
	Locals []LocalRoom
}

// CellRoom is the account of one flavor-resource of a ClusterQueue.
type CellRoom struct {
	quota.FlavorResource
	// Quota is the queue's own, Usage what it uses and Borrowed the part of it above Quota.
	Quota, Usage, Borrowed amount.Amount
	// Available is what more it may use now, borrowing included, negative if too much is used. Potential is the most that it
	// could use if nobody else used anything.
	Available, Potential amount.Amount
}

// LocalRoom is a LocalQueue by which a ClusterQueue is reached.
type LocalRoom struct {
	admission.Key
	// Closed says why nothing is admitted by way of it; empty if it is.
	Closed string
}

// Rooms returns what all ClusterQueues in the cohort tree of the named one have room for, at one moment and assumed
// reservations included, and the version of these figures; nil if the queue is not known.
func (v *View) Rooms(queue string) ([]QueueRoom, quota.Version) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.queues[queue] == nil {
		return nil, quota.Version{}
	}
	var rooms []QueueRoom
	for _, name := range v.snap.QueuesAround(queue) {
		if v.queues[name] != nil {
			rooms = append(rooms, v.room(name))
		}
	}
	return rooms, v.snap.QuotaVersion(queue)
}

func (v *View) room(name string) QueueRoom {
	q, _ := v.snap.Queue(name)
	room := QueueRoom{Queue: q}
	if activity := v.queues[name].activity; !activity.Active {
		room.Closed = activity.Message
	} else if block := v.snap.Closed(name); block != nil { // such as a cycle of cohorts, of which the condition says nothing
		room.Closed = block.Message
	}
	tree := v.snap.Quota()
	for _, grant := range admission.Grants(q.Groups) {
		cell := CellRoom{FlavorResource: grant.FlavorResource}
		if c := tree.Cell(name, grant.FlavorResource); c != nil {
			cell.Quota, cell.Usage, cell.Borrowed = c.Quota(), c.Usage(), c.Borrowed()
			cell.Available, cell.Potential = c.Available(), c.Potential()
		}
		room.Cells = append(room.Cells, cell)
	}
	for key, lq := range v.byQueue[name] {
		room.Locals = append(room.Locals, LocalRoom{Key: key, Closed: v.closed(key.Namespace, lq)})
	}
	slices.SortFunc(room.Locals, func(a, b LocalRoom) int { return a.Compare(b.Key) })
	return room
}

// closed says why a LocalQueue lets nothing through, though its ClusterQueue may admit.
func (v *View) closed(namespace string, lq *localQueue) string {
	if lq.activity.Reason == kueue.ReasonStopped || !lq.obj.DeletionTimestamp.IsZero() {
		return "it is stopped"
	}
	if b := v.namespaceBlock(namespace, lq); b != nil {
		return b.Message
	}
	return ""
}

// Population is the workloads of a LocalQueue.
type Population struct {
	// Waiting are those who wait in the ClusterQueue that it points to, by priority.
	Waiting map[int32]Waiting
	// Holding is what the others hold there, by priority; those that have been told to stop or whose admission is still being
	// written left out.
	Holding map[int32]map[quota.FlavorResource]amount.Sum
}

// Waiting are workloads of one priority that wait.
type Waiting struct {
	Count int
	// Since is when the first of them was queued.
	Since time.Time
}

// And is the sum of two lines.
func (w Waiting) And(other Waiting) Waiting {
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

// Population counts the workloads of a LocalQueue, and names the ClusterQueue that it points to; false if the LocalQueue
// is not known. It costs as much as there are workloads.
func (v *View) Population(local types.NamespacedName) (Population, string, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	key := keyOf(local.Namespace, local.Name)
	lq := v.locals[key]
	if lq == nil {
		return Population{}, "", false
	}
	queue := string(lq.obj.Spec.ClusterQueue)
	in := Population{Waiting: map[int32]Waiting{}, Holding: map[int32]map[quota.FlavorResource]amount.Sum{}}
	for _, w := range v.byLocal[key] {
		switch holding, waiting := w.place.holding, w.place.waiting; {
		case w.assumed != nil:
		case waiting != nil && waiting.Queue == queue:
			in.wait(waiting)
		case holding != nil && holding.Queue == queue && !holding.Evicted && w.evicting == nil:
			in.hold(holding)
		}
	}
	return in, queue, true
}

func (in *Population) wait(w *admission.Workload) {
	in.Waiting[w.Priority] = in.Waiting[w.Priority].And(Waiting{Count: 1, Since: w.QueuedAt})
}

func (in *Population) hold(r *admission.Reservation) {
	holding := in.Holding[r.Priority]
	if holding == nil {
		holding = map[quota.FlavorResource]amount.Sum{}
		in.Holding[r.Priority] = holding
	}
	for _, use := range r.Usage {
		if use.Amount > 0 {
			holding[use.FlavorResource] = holding[use.FlavorResource].Plus(amount.SumOf(use.Amount))
		}
	}
}

// ResourceFlavor returns a ResourceFlavor, nil if there is none. It must not be changed.
func (v *View) ResourceFlavor(name string) *kueue.ResourceFlavor {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.flavors[name]
}

// PodSetOf turns a pod set into the core's, without what it requests.
func PodSetOf(ps *kueue.PodSet) admission.PodSet { return podSetOf(ps) }

// FlavorOf turns a ResourceFlavor into the core's.
func FlavorOf(f *kueue.ResourceFlavor) admission.Flavor { return flavorOf(f) }

// GroupsOf turns resource groups into the core's.
func GroupsOf(groups []kueue.ResourceGroup) []admission.ResourceGroup { return groupsOf(groups) }
