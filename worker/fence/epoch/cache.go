package epoch

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// DefaultCacheSize is how many Workloads that are gone a Cache remembers.
const DefaultCacheSize = 16384

// key names what has epochs: a Workload here that was made for one of a hub.
type key struct{ namespace, name, owner string }

// Cache knows the highest epoch of every Workload that a hub has made here: of those that exist by the cache, of those that
// are gone by what its watch has seen of them. Those that were never in another epoch than the first, as nearly all are, take
// no room. It lives as long as the program, in every replica.
type Cache struct {
	reader client.Reader
	synced func() bool

	// deleted has the epochs of what is gone, an int64 by key. When it is full, what was neither recorded nor asked for the
	// longest is forgotten. Only the handler writes to it, one event at a time.
	deleted *lru.Cache
}

// NewCache returns a Cache of a size. It knows nothing and refuses nothing until [Cache.Watch].
func NewCache(size int) *Cache { return &Cache{deleted: lru.New(size)} }

// Watch lets it learn from a cache, which need not have started. Call it once, before any other method.
func (m *Cache) Watch(ctx context.Context, from cache.Cache) error {
	informer, err := from.GetInformer(ctx, &kueue.Workload{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("get the informer of Workloads: %w", err)
	}
	registration, err := informer.AddEventHandler(m.handler())
	if err != nil {
		return fmt.Errorf("watch Workloads: %w", err)
	}
	m.reader, m.synced = from, registration.HasSynced
	return nil
}

// handler notes what is gone, also if the watch has missed that and shows another object of the name.
func (m *Cache) handler() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(was, is any) {
			old, ok := was.(client.Object)
			object, ok2 := is.(client.Object)
			if ok && ok2 && old.GetUID() != object.GetUID() {
				m.record(old)
			}
		},
		DeleteFunc: func(gone any) {
			if missed, ok := gone.(toolscache.DeletedFinalStateUnknown); ok {
				gone = missed.Obj
			}
			if object, ok := gone.(client.Object); ok {
				m.record(object)
			}
		},
	}
}

// record remembers the epoch of a deleted copy, unless a later one is known.
func (m *Cache) record(gone client.Object) {
	epoch := Read(gone)
	if !isCopy(gone) || epoch == first {
		return
	}
	k := key{gone.GetNamespace(), gone.GetName(), owner(gone)}
	m.deleted.Add(k, max(epoch, m.lastDeleted(k)))
}

// lastDeleted returns the highest epoch of a Workload that is gone; 0 if none is remembered.
func (m *Cache) lastDeleted(k key) int64 {
	last, _ := m.deleted.Get(k)
	epoch, _ := last.(int64)
	return epoch
}

// ValidateCreate refuses a new object of a hub, a Workload or a job, whose epoch is over for the Workload of that name, and a job whose
// Workload here was made for another of a hub's. While the cache is still being filled it goes by what it has seen.
func (m *Cache) ValidateCreate(ctx context.Context, object client.Object, workload string) *field.Error {
	if !isCopy(object) || workload == "" {
		return nil
	}
	epoch := Read(object)
	seen := m.lastDeleted(key{object.GetNamespace(), workload, owner(object)})
	if there := m.exists(ctx, object.GetNamespace(), workload); there != nil {
		if _, is := object.(*kueue.Workload); !is && AreUnrelated(object, there) {
			return errUnrelated()
		}
		if isCopy(there) && owner(there) == owner(object) {
			seen = max(seen, Read(there))
		}
	}
	if epoch >= seen {
		return nil
	}
	return errEpochOver(epoch, seen)
}

// exists is the Workload of a name, nil if there is none, or while that is not known yet.
func (m *Cache) exists(ctx context.Context, namespace, name string) *kueue.Workload {
	if m.synced == nil || !m.synced() {
		return nil
	}
	wl := &kueue.Workload{}
	if err := m.reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, wl, client.UnsafeDisableDeepCopy); err != nil {
		return nil // a cache that has synced fails for nothing but absence
	}
	return wl
}
