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
	// orphanEvery is the time between two orphans of one cluster that the hub is made to look at: each costs it calls of its own API
	// server, in the queue that all clusters share, and whoever may make a job on a worker can make any number of them.
	orphanEvery = 100 * time.Millisecond
	// orphanBurst is how many it looks at without that wait, after a time in which there were none.
	orphanBurst = 100
)

// orphans are the Workloads that one cluster shows something of and that are not the hub's. They wait here for their turn, each once,
// the first first, as long as there is anything of them.
type orphans struct {
	clock clock.WithDelayedExecution
	look  func(types.NamespacedName)

	mu      sync.Mutex
	waiting map[types.NamespacedName]struct{}
	order   []types.NamespacedName // of those waiting, and of some that went
	spent   time.Time              // the time up to which all turns were taken
	timer   clock.Timer            // nil while nobody waits
}

func newOrphans(c clock.WithDelayedExecution, look func(types.NamespacedName)) *orphans {
	return &orphans{clock: c, look: look, waiting: map[types.NamespacedName]struct{}{}}
}

// add has the hub look at an orphan when it is its turn.
func (o *orphans) add(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, waits := o.waiting[key]; waits {
		return
	}
	o.waiting[key] = struct{}{}
	o.order = append(o.order, key)
	if o.timer == nil {
		o.serve()
	}
}

// drop forgets one of which there is nothing any more.
func (o *orphans) drop(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.waiting, key)
	const few = 64
	if len(o.order) > 2*len(o.waiting)+few {
		o.compact()
	}
}

// compact needs the lock. One that went and came again is in the order twice, and keeps its first place.
func (o *orphans) compact() {
	seen := make(map[types.NamespacedName]struct{}, len(o.waiting))
	o.order = slices.Clip(slices.DeleteFunc(o.order, func(key types.NamespacedName) bool {
		_, waits := o.waiting[key]
		_, twice := seen[key]
		seen[key] = struct{}{}
		return !waits || twice
	}))
}

// clear forgets all.
func (o *orphans) clear() {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.waiting)
	o.order = nil
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
}

// turn is called by the timer.
func (o *orphans) turn() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.timer = nil
	o.serve()
}

// serve needs the lock. It has those looked at whose turn it is, and comes back for the next.
func (o *orphans) serve() {
	now := o.clock.Now()
	if earliest := now.Add(-orphanBurst * orphanEvery); o.spent.Before(earliest) {
		o.spent = earliest
	}
	for len(o.order) > 0 {
		key := o.order[0]
		if _, waits := o.waiting[key]; !waits {
			o.order = o.order[1:]
			continue
		}
		next := o.spent.Add(orphanEvery)
		if next.After(now) {
			o.timer = o.clock.AfterFunc(next.Sub(now), func() { go o.turn() }) // a clock may hold its own lock meanwhile
			return
		}
		o.spent, o.order = next, o.order[1:]
		delete(o.waiting, key)
		o.look(key)
	}
	o.order = nil
}

// look makes the hub look at a Workload after a delay, or at an orphan when it is its turn.
func (s *supervisor) look(key types.NamespacedName, delay time.Duration) {
	if s.options.Owned(key) {
		s.workloads.Send(key, delay)
		return
	}
	s.orphans.add(key)
}

// lookLater is look for what has time.
func (s *supervisor) lookLater(key types.NamespacedName) {
	if s.options.Owned(key) {
		s.workloads.Later(key)
		return
	}
	s.orphans.add(key)
}

// bury forgets an orphan of which a session shows nothing any more, and tells whether it was one. There is nobody to be told.
func (s *supervisor) bury(key types.NamespacedName, session *session) bool {
	if s.options.Owned(key) || session.shows(key) {
		return false
	}
	s.orphans.drop(key)
	s.lanes.forget(key)
	s.memory.forget(key)
	return true
}

// shows tells whether there is any object of a Workload.
func (s *session) shows(key types.NamespacedName) bool {
	return slices.ContainsFunc(s.options.Kinds, func(k Kind) bool { return len(s.get(k.GVK).of(key)) > 0 })
}

// of lists the objects of the kind that belong to a Workload.
func (f *followed) of(workload types.NamespacedName) []client.Object {
	if f.informer == nil {
		return nil
	}
	items, _ := f.informer.GetIndexer().ByIndex(byWorkload, workload.String())
	if namesake, found, _ := f.informer.GetStore().GetByKey(storeKey(workload)); found && f.belongs(namesake, workload) {
		items = append(items, namesake)
	}
	objects := make([]client.Object, 0, len(items))
	for _, item := range items {
		objects = append(objects, object(item))
	}
	return objects
}

// Look makes the hub look at a Workload that a cluster shows something of.
func (f *Fleet) Look(cluster string, workload types.NamespacedName) {
	if s := f.lookup(cluster); s != nil {
		s.look(workload, 0)
	}
}
