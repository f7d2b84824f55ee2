package sim

import "maps"

// informers is what the hub's program has opened on one worker: one stream per kind, so that one kind may be shown before
// the other. It belongs to the program: a crash ends it.
type informers struct {
	workloads *informer[remoteWorkload]
	jobs      *informer[remoteJob]
}

func newInformers() *informers {
	return &informers{workloads: newInformer[remoteWorkload](), jobs: newInformer[remoteJob]()}
}

// informer is an informer: a cache, and the events that it has not seen yet. A closed one gets no more events, nor does it
// learn that it is closed.
type informer[T any] struct {
	watching bool
	queue    []watchEvent[T]
	cache    map[string]T
	// deleted keeps the last state of an object whose deletion was watched, until the next list.
	deleted map[string]T
}

// watchEvent is one change of one object, or (list) the state of all.
type watchEvent[T any] struct {
	name string
	obj  optional[T]
	list map[string]T
}

func newInformer[T any]() *informer[T] {
	return &informer[T]{cache: map[string]T{}, deleted: map[string]T{}}
}

func (s *informer[T]) enqueue(name string, obj optional[T]) {
	if s.watching {
		s.queue = append(s.queue, watchEvent[T]{name: name, obj: obj})
	}
}

// relist opens the stream again: the state of all objects comes first, whatever was under way is lost.
func (s *informer[T]) relist(all map[string]T) {
	s.watching = true
	s.queue = []watchEvent[T]{{list: maps.Clone(all)}}
}

// stop ends the stream without a word; what was under way is lost.
func (s *informer[T]) stop() {
	s.watching = false
	s.queue = nil
}

// deliverNext lets the cache see the next event and returns its name, "" for a list; ok is false if there is none.
func (s *informer[T]) deliverNext() (name string, ok bool) {
	if len(s.queue) == 0 {
		return "", false
	}
	e := s.queue[0]
	s.queue = s.queue[1:]
	switch {
	case e.list != nil:
		s.cache = e.list
		s.deleted = map[string]T{}
	case e.obj.exists:
		s.cache[e.name] = e.obj.value
	default:
		if _, seen := s.cache[e.name]; seen {
			s.deleted[e.name] = e.obj.value
		}
		delete(s.cache, e.name)
	}
	return e.name, true
}

func (s *informer[T]) get(name string) optional[T] {
	obj, there := s.cache[name]
	return optional[T]{there, obj}
}

// stoppedEpoch is dispatch.ClusterView.Stopped; believing takes whatever was deleted in the foreground for what has ended,
// even if a user has hurried it.
func (w *informers) stoppedEpoch(item workload, cluster string, believing bool) (epoch int64) {
	job, hadJob := w.jobs.deleted[jobOf(item.name)]
	if hadJob && job.foreground && (believing || !job.running) {
		epoch = job.epoch
	}
	if obj, had := w.workloads.deleted[item.name]; had && !obj.adopted && !item.hadJobOn(cluster, obj) && (!hadJob || obj.epoch > job.epoch) {
		epoch = obj.epoch
	}
	return epoch
}
