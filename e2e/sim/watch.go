package sim

import "maps"

// watch is what the hub's program has opened on one worker: one stream per kind, so that one kind may be shown before
// the other. It belongs to the program: a crash ends it.
type watch struct {
	copies *stream[copied]
	jobs   *stream[remoteJob]
}

func newWatch() *watch {
	return &watch{copies: newStream[copied](), jobs: newStream[remoteJob]()}
}

// stream is an informer: a cache, and the events that it has not seen yet. A closed one gets no more events, nor does
// anybody tell it so.
type stream[T any] struct {
	open  bool
	queue []event[T]
	cache map[string]T
	// gone keeps the last state of an object whose deletion was watched, until the next list.
	gone map[string]T
}

// event is one change of one object, or (list) the state of all.
type event[T any] struct {
	name string
	obj  present[T]
	list map[string]T
}

func newStream[T any]() *stream[T] {
	return &stream[T]{cache: map[string]T{}, gone: map[string]T{}}
}

func (s *stream[T]) send(name string, obj present[T]) {
	if s.open {
		s.queue = append(s.queue, event[T]{name: name, obj: obj})
	}
}

// relist opens the stream again: the state of all objects comes first, whatever was under way is lost.
func (s *stream[T]) relist(all map[string]T) {
	s.open = true
	s.queue = []event[T]{{list: maps.Clone(all)}}
}

// drop ends the stream without a word; what was under way is lost.
func (s *stream[T]) drop() {
	s.open = false
	s.queue = nil
}

// deliver lets the cache see the next event and returns its name, "" for a list; ok is false if there is none.
func (s *stream[T]) deliver() (name string, ok bool) {
	if len(s.queue) == 0 {
		return "", false
	}
	e := s.queue[0]
	s.queue = s.queue[1:]
	switch {
	case e.list != nil:
		s.cache = e.list
		s.gone = map[string]T{}
	case e.obj.there:
		s.cache[e.name] = e.obj.value
	default:
		if _, seen := s.cache[e.name]; seen {
			s.gone[e.name] = e.obj.value
		}
		delete(s.cache, e.name)
	}
	return e.name, true
}

func (s *stream[T]) get(name string) present[T] {
	obj, there := s.cache[name]
	return present[T]{there, obj}
}

// stopped is dispatch.ClusterView.Stopped; believing takes whatever was deleted in the foreground for what has ended, whoever may have
// hurried it.
func (w *watch) stopped(name string, believing bool) (epoch int64) {
	job, hadJob := w.jobs.gone[name]
	if hadJob && job.foreground && (believing || !job.running) {
		epoch = job.epoch
	}
	if obj, had := w.copies.gone[name]; had && !obj.adopted && (!hadJob || obj.epoch > job.epoch) {
		epoch = obj.epoch
	}
	return epoch
}
