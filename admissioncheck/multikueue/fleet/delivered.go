package fleet

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// deliveredObjects is what the hub has been told of the objects of one kind in one session. An informer's store is ahead of it: an
// object that is in here and no more in the store is going, and its memory is about to be made.
type deliveredObjects struct {
	index     *clusterIndex
	kindIndex int // its number, see kindSet
	entry     indexEntry

	mu      sync.RWMutex
	objects map[string]deliveredObject // by the keys of the store
}

// deliveredObject is an object that is shown, and what it weighs, in bytes.
type deliveredObject struct {
	client.Object
	bytes int64
}

// newDeliveredObjects has none. It enters what it is given into the index that all clusters share.
func (s *session) newDeliveredObjects(k WatchedKind) *deliveredObjects {
	number := s.options.kinds.number(k.GVK)
	return &deliveredObjects{index: s.index, kindIndex: number, entry: indexEntry{supervisor: s.supervisor, session: s}, objects: map[string]deliveredObject{}}
}

// storeKey is what an informer keeps an object under.
func storeKey(key types.NamespacedName) string {
	return cache.NewObjectName(key.Namespace, key.Name).String()
}

func (s *deliveredObjects) put(obj client.Object) {
	s.entry.session.addMemoryUsage(s.update(storeKey(client.ObjectKeyFromObject(obj)), obj, memorySize(obj)))
}

func (s *deliveredObjects) remove(obj client.Object) {
	s.entry.session.addMemoryUsage(s.update(storeKey(client.ObjectKeyFromObject(obj)), nil, 0))
}

// update shows an object, or none any more, and returns how much more is kept by that.
func (s *deliveredObjects) update(key string, obj client.Object, weight int64) (more int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, known := s.objects[key]
	if obj == nil {
		delete(s.objects, key)
	} else {
		s.objects[key] = deliveredObject{obj, weight}
	}
	if known != (obj != nil) || obj == nil {
		s.index.update(indexKey{s.kindIndex, key}, s.entry, obj != nil)
	}
	return weight - was.bytes
}

// removeFromIndex forgets where the objects were, once they are those of no session that the hub sees.
func (s *deliveredObjects) removeFromIndex() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.objects {
		s.index.update(indexKey{s.kindIndex, key}, s.entry, false)
	}
}

// drop forgets all objects: the kind is followed no more.
func (s *deliveredObjects) drop() {
	s.removeFromIndex()
	s.mu.Lock()
	var bytes int64
	for _, shown := range s.objects {
		bytes += shown.bytes
	}
	s.objects = map[string]deliveredObject{}
	s.mu.Unlock()
	s.entry.session.addMemoryUsage(-bytes)
}

// get returns the object as the last event showed it; nil if there is none. Callers must not change it.
func (s *deliveredObjects) get(key string) client.Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.objects[key].Object
}

// lookup returns an object of the kind, or nil if there is none; then what is remembered of it is complete. A caller that saw
// neither the object nor its memory would make it again, although it may have ended.
func (f *kindInformer) lookup(key string) client.Object {
	item, found, _ := f.informer.GetStore().GetByKey(key)
	if found {
		return asObject(item)
	}
	return f.delivered.get(key)
}

// list returns the objects of the kind that are there or going.
func (f *kindInformer) list() []client.Object {
	f.delivered.mu.RLock()
	defer f.delivered.mu.RUnlock()
	var objects []client.Object
	for _, item := range f.informer.GetStore().List() {
		objects = append(objects, asObject(item))
	}
	for key, obj := range f.delivered.objects {
		if _, found, _ := f.informer.GetStore().GetByKey(key); !found {
			objects = append(objects, obj.Object)
		}
	}
	return objects
}

// belongsTo tells whether an object of the kind is one of the Workload's.
func (f *kindInformer) belongsTo(item any, workload types.NamespacedName) bool {
	obj := asObject(item)
	if obj == nil {
		return false
	}
	key, ok := f.kind.WorkloadKey(obj)
	return ok && key == workload
}
