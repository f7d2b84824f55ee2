package fleet

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// orphanInterval is the time between two orphans of one cluster that the hub is made to look at. Each costs the hub calls
	// of its own API server, in the queue that all clusters share, and any user with the right to create jobs on a worker can
	// make any number of them.
	orphanInterval = 100 * time.Millisecond
	// orphanBurst is how many it looks at without that wait, after a time in which there were none.
	orphanBurst = 100
)

// orphanQueue are the Workloads that one cluster shows something of and that are not the hub's. They wait here for their turn, each once,
// the first first, as long as there is anything of them.
type orphanQueue struct {
	clock   clock.WithDelayedExecution
	enqueue func(types.NamespacedName)

	mu         sync.Mutex
	waiting    map[types.NamespacedName]struct{}
	order      []types.NamespacedName // of those waiting, and of some that went
	spentUntil time.Time              // the time up to which all turns were taken
	timer      clock.Timer            // nil while nobody waits
}

func newOrphanQueue(c clock.WithDelayedExecution, look func(types.NamespacedName)) *orphanQueue {
	return &orphanQueue{clock: c, enqueue: look, waiting: map[types.NamespacedName]struct{}{}}
}

// add has the hub look at an orphan when it is its turn.
func (o *orphanQueue) add(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, waits := o.waiting[key]; waits {
		return
	}
	o.waiting[key] = struct{}{}
	o.order = append(o.order, key)
	if o.timer == nil {
		o.releaseDue()
	}
}

// remove forgets one of which there is nothing any more.
func (o *orphanQueue) remove(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.waiting, key)
	const few = 64
	if len(o.order) > 2*len(o.waiting)+few {
		o.compact()
	}
}

// compact needs the lock. One that went and came again is in the order twice, and keeps its first place.
func (o *orphanQueue) compact() {
	seen := make(map[types.NamespacedName]struct{}, len(o.waiting))
	o.order = slices.Clip(slices.DeleteFunc(o.order, func(key types.NamespacedName) bool {
		_, waits := o.waiting[key]
		_, twice := seen[key]
		seen[key] = struct{}{}
		return !waits || twice
	}))
}

// clear forgets all.
func (o *orphanQueue) clear() {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.waiting)
	o.order = nil
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
}

// onTimer is called by the timer.
func (o *orphanQueue) onTimer() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.timer = nil
	o.releaseDue()
}

// releaseDue needs the lock. It has those looked at whose turn it is, and comes back for the next.
func (o *orphanQueue) releaseDue() {
	now := o.clock.Now()
	if earliest := now.Add(-orphanBurst * orphanInterval); o.spentUntil.Before(earliest) {
		o.spentUntil = earliest
	}
	for len(o.order) > 0 {
		key := o.order[0]
		if _, waits := o.waiting[key]; !waits {
			o.order = o.order[1:]
			continue
		}
		next := o.spentUntil.Add(orphanInterval)
		if next.After(now) {
			o.timer = o.clock.AfterFunc(next.Sub(now), func() { go o.onTimer() }) // a clock may hold its own lock meanwhile
			return
		}
		o.spentUntil, o.order = next, o.order[1:]
		delete(o.waiting, key)
		o.enqueue(key)
	}
	o.order = nil
}

// requeueWorkload makes the hub look at a Workload after a delay, or at an orphan when it is its turn.
func (s *supervisor) requeueWorkload(key types.NamespacedName, delay time.Duration) {
	if s.options.OwnsWorkload(key) {
		s.workloadRequests.Enqueue(key, delay)
		return
	}
	s.orphans.add(key)
}

// requeueLowPriority is look for what has time.
func (s *supervisor) requeueLowPriority(key types.NamespacedName) {
	if s.options.OwnsWorkload(key) {
		s.workloadRequests.EnqueueLowPriority(key)
		return
	}
	s.orphans.add(key)
}

// forgetOrphan forgets an orphan of which a session no longer shows anything, and reports whether it was one. Nothing is
// requeued for it.
func (s *supervisor) forgetOrphan(key types.NamespacedName, session *session) bool {
	if s.options.OwnsWorkload(key) || session.hasObjects(key) {
		return false
	}
	s.orphans.remove(key)
	s.actionQueues.forget(key)
	s.deletedObjects.forget(key)
	return true
}

// hasObjects tells whether there is any object of a Workload.
func (s *session) hasObjects(key types.NamespacedName) bool {
	return slices.ContainsFunc(s.options.kinds.list(), func(k WatchedKind) bool { return len(s.informerFor(k.GVK).listForWorkload(key)) > 0 })
}

// listForWorkload lists the objects of the kind that belong to a Workload.
func (f *kindInformer) listForWorkload(workload types.NamespacedName) []client.Object {
	if f.informer == nil {
		return nil
	}
	items, _ := f.informer.GetIndexer().ByIndex(byWorkload, workload.String())
	if namesake, found, _ := f.informer.GetStore().GetByKey(storeKey(workload)); found && f.belongsTo(namesake, workload) {
		items = append(items, namesake)
	}
	objects := make([]client.Object, 0, len(items))
	for _, item := range items {
		objects = append(objects, asObject(item))
	}
	return objects
}

// RequeueWorkload makes the hub look at a Workload that a cluster shows something of.
func (f *Fleet) RequeueWorkload(cluster string, workload types.NamespacedName) {
	if s := f.lookup(cluster); s != nil {
		s.requeueWorkload(workload, 0)
	}
}
