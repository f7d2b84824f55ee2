package view

import (
	"k8s.io/apimachinery/pkg/types"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
)

// lookupBatch is how many Workloads are looked up while the mutex is held once.
const lookupBatch = 500

// PendingOrder is what waits in a ClusterQueue at one moment. List needs the View no more.
type PendingOrder struct {
	*admission.PendingOrder
	// stopped are the LocalQueues of the ClusterQueue that are closed.
	stopped map[admission.Key]bool
}

// List puts the workloads in the order in which the ClusterQueue looks at them, without those that came through a LocalQueue that is
// closed (contract: kueue-api.md 1.17).
func (p PendingOrder) List() *admission.PendingList {
	if len(p.stopped) == 0 {
		return p.PendingOrder.List(nil)
	}
	return p.PendingOrder.List(func(local admission.Key) bool { return p.stopped[local] })
}

// PendingOrder takes what waits in a ClusterQueue. Only a copy is made while the mutex is held, since the scheduler waits for it, and
// room for it before.
func (r *Reports) PendingOrder(queue string) PendingOrder {
	p := PendingOrder{PendingOrder: admission.NewPendingOrder(r.pendingCount(queue))}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.snap.TakePending(queue, p.PendingOrder)
	for key, lq := range r.objects.localQueuesByClusterQueue[queue] {
		if lq.isStopped() {
			if p.stopped == nil {
				p.stopped = map[admission.Key]bool{}
			}
			p.stopped[key] = true
		}
	}
	return p
}

func (r *Reports) pendingCount(queue string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.snap.PendingCount(queue)
}

// HasClusterQueue tells whether the ClusterQueue is known.
func (r *Reports) HasClusterQueue(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.objects.clusterQueues[name] != nil
}

// OpenLocalQueue returns the ClusterQueue that a LocalQueue points to, which need not exist; false for a LocalQueue that is not known
// or closed.
func (r *Reports) OpenLocalQueue(name types.NamespacedName) (clusterQueue string, open bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := keyOf(name.Namespace, name.Name)
	return r.objects.clusterQueueOf(key), !r.objects.isLocalQueueStopped(key)
}

// WorkloadObjects returns the Workloads behind those of a list, nil for one that is gone. They are shared: make copies before
// changing them.
func (r *Reports) WorkloadObjects(list []*admission.Workload) []*kueue.Workload {
	objects := make([]*kueue.Workload, len(list))
	for begin := 0; begin < len(list); begin += lookupBatch {
		r.lookupObjects(list[begin:min(begin+lookupBatch, len(list))], objects[begin:])
	}
	return objects
}

func (r *Reports) lookupObjects(list []*admission.Workload, into []*kueue.Workload) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, want := range list {
		if w := r.index.workloads[want.Key]; w != nil && string(w.obj.UID) == want.UID {
			into[i] = w.obj
		}
	}
}
