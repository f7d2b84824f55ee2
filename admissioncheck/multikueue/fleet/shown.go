package fleet

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// shown is what the hub has been told of the objects of one kind in one session. An informer's store is ahead of it: an
// object that is in here and no more in the store is going, and its memory is about to be made.
type shown struct {
	places *places
	kind   int // its number among the Options' kinds
	by     finding

	mu      sync.RWMutex
	objects map[string]showing // by the keys of the store
}

// showing is an object that is shown, and what it weighs, in bytes.
type showing struct {
	client.Object
	weight int64
}

func (s *session) newShown(k Kind) *shown {
	number := s.options.number(k.GVK)
	return &shown{places: s.places, kind: number, by: finding{on: s.owner, session: s}, objects: map[string]showing{}}
}

// storeKey is what an informer keeps an object under.
func storeKey(key types.NamespacedName) string {
	return cache.NewObjectName(key.Namespace, key.Name).String()
}

func (s *shown) put(obj client.Object) {
	s.by.session.hold(s.set(storeKey(client.ObjectKeyFromObject(obj)), obj, weigh(obj)))
}

func (s *shown) drop(obj client.Object) {
	s.by.session.hold(s.set(storeKey(client.ObjectKeyFromObject(obj)), nil, 0))
}

// set shows an object, or none any more, and returns how much more is kept by that.
func (s *shown) set(key string, obj client.Object, weight int64) (more int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, known := s.objects[key]
	if obj == nil {
		delete(s.objects, key)
	} else {
		s.objects[key] = showing{obj, weight}
	}
	if known != (obj != nil) || obj == nil {
		s.places.note(place{s.kind, key}, s.by, obj != nil)
	}
	return weight - was.weight
}

// retire forgets where the objects were, once they are those of no session that the hub sees.
func (s *shown) retire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.objects {
		s.places.note(place{s.kind, key}, s.by, false)
	}
}

func (s *shown) get(key string) client.Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.objects[key].Object
}

// find returns an object of the kind; nil if there is none, and what is remembered of it is complete. Whoever saw neither the
// object nor a memory of it would make it again, although it may have ended.
func (f *followed) find(key string) client.Object {
	item, found, _ := f.informer.GetStore().GetByKey(key)
	if found {
		return object(item)
	}
	return f.shown.get(key)
}

// all returns the objects of the kind that are there or going.
func (f *followed) all() []client.Object {
	f.shown.mu.RLock()
	defer f.shown.mu.RUnlock()
	var objects []client.Object
	for _, item := range f.informer.GetStore().List() {
		objects = append(objects, object(item))
	}
	for key, obj := range f.shown.objects {
		if _, found, _ := f.informer.GetStore().GetByKey(key); !found {
			objects = append(objects, obj.Object)
		}
	}
	return objects
}

// belongs tells whether an object of the kind is one of the Workload's.
func (f *followed) belongs(item any, workload types.NamespacedName) bool {
	obj := object(item)
	if obj == nil {
		return false
	}
	key, ok := f.kind.Key(obj)
	return ok && key == workload
}
