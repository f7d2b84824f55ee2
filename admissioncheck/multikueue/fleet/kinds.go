package fleet

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kindSet is the kinds that are followed on every cluster: those that the fleet was made with, which stay, and others that come and go.
// All sessions share one.
type kindSet struct {
	mu sync.Mutex
	// present is replaced, never changed; the first fixed of them stay.
	present []WatchedKind
	fixed   int
	// numbers are by which the index knows the kinds. One that comes back has its old number.
	numbers map[schema.GroupVersionKind]int
	// additions counts the kinds that were added.
	additions int
	// changed is closed when present is replaced.
	changed chan struct{}
}

func newKindSet(kinds []WatchedKind) *kindSet {
	s := &kindSet{present: slices.Clip(kinds), fixed: len(kinds), numbers: map[schema.GroupVersionKind]int{}, changed: make(chan struct{})}
	for i, k := range kinds {
		s.numbers[k.GVK] = i
	}
	return s
}

// list returns the kinds that are followed now; not to be changed.
func (s *kindSet) list() []WatchedKind {
	kinds, _ := s.watch()
	return kinds
}

// watch returns the kinds that are followed now, and what is closed when they change.
func (s *kindSet) watch() ([]WatchedKind, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.present, s.changed
}

// listAdded returns those that the fleet was not made with.
func (s *kindSet) listAdded() []WatchedKind {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.present[s.fixed:]
}

// number is that of a kind among all that were ever followed; for any other kind one that none has.
func (s *kindSet) number(gvk schema.GroupVersionKind) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, found := s.numbers[gvk]; found {
		return n
	}
	return len(s.numbers)
}

// add follows one more kind; one that is followed already stays as it is.
func (s *kindSet) add(k WatchedKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if containsKind(s.present, k.GVK) {
		return
	}
	if _, found := s.numbers[k.GVK]; !found {
		s.numbers[k.GVK] = len(s.numbers)
	}
	s.additions++
	k.addition = s.additions
	s.replace(append(s.present, k))
}

// remove follows a kind no more that was added.
func (s *kindSet) remove(gvk schema.GroupVersionKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if containsKind(s.present[s.fixed:], gvk) {
		s.replace(slices.DeleteFunc(slices.Clone(s.present), func(k WatchedKind) bool { return k.GVK == gvk }))
	}
}

// replace needs s.mu.
func (s *kindSet) replace(kinds []WatchedKind) {
	s.present = slices.Clip(kinds)
	close(s.changed)
	s.changed = make(chan struct{})
}

// isSame tells whether a kind was followed without a break since another was.
func (k WatchedKind) isSame(other WatchedKind) bool {
	return k.GVK == other.GVK && k.addition == other.addition
}

func containsKind(kinds []WatchedKind, gvk schema.GroupVersionKind) bool {
	return slices.ContainsFunc(kinds, func(k WatchedKind) bool { return k.GVK == gvk })
}

// AddKind follows one more kind on every cluster. A cluster that does not serve it stays connected. See KnowsKind.
func (f *Fleet) AddKind(k WatchedKind) {
	k.Required = false
	f.options.kinds.add(k)
}

// RemoveKind follows a kind no more that was added, and forgets what was seen of it.
func (f *Fleet) RemoveKind(gvk schema.GroupVersionKind) { f.options.kinds.remove(gvk) }

// KnowsKind tells whether it is known what there is of a kind on a cluster: its objects are all seen, or the cluster does not serve it. A
// cluster that was not connected since the kind was added knows nothing of it.
func (f *Fleet) KnowsKind(cluster string, gvk schema.GroupVersionKind) bool {
	s := f.lookup(cluster)
	return s != nil && s.informerFor(gvk).isKnown()
}

// AddedKinds returns the kinds that were added, and not removed.
func (f *Fleet) AddedKinds() []WatchedKind { return f.options.kinds.listAdded() }
