package epoch

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// DefaultCacheSize is how many Workloads that are gone a Memory knows at least, once there were so many.
const DefaultCacheSize = 16384

// key names what has epochs: a Workload here that was made for one of a hub.
type key struct{ namespace, name, owner string }

// Cache knows the highest epoch of every Workload that a hub has made here: of those that exist by the cache, of those that
// are gone by what its watch has seen of them. Those that were never in another epoch than the first, as nearly all are, take
// no room. It lives as long as the program, in every replica.
type Cache struct {
	remembered int
	reader     client.Reader
	synced     func() bool

	mu sync.Mutex
	// current and old are the epochs of what is gone; when young is full, old is forgotten and young becomes old.
	current, previous map[key]int64
}

// NewCache makes a memory that knows nothing and refuses nothing until [Memory.Watch].
func NewCache(remembered int) *Cache {
	return &Cache{remembered: remembered, current: map[key]int64{}}
}

// Watch lets the memory learn from a cache, which need not have started. Call it once, before any other method.
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

// record remembers the epoch of a deleted copy. The older half of what is remembered is dropped when the newer is full.
func (m *Cache) record(gone client.Object) {
	epoch := Read(gone)
	if !isCopy(gone) || epoch == first {
		return
	}
	k := key{gone.GetNamespace(), gone.GetName(), owner(gone)}
	m.mu.Lock()
	defer m.mu.Unlock()
	epoch = max(epoch, m.current[k], m.previous[k])
	if len(m.current) >= m.remembered {
		m.previous, m.current = m.current, map[key]int64{}
	}
	m.current[k] = epoch
}

func (m *Cache) recordDeleted(k key) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(m.current[k], m.previous[k])
}

// ValidateCreate refuses a new object of a hub, a Workload or a job, whose epoch is over for the Workload of that name, and a job whose
// Workload here was made for another of a hub's. While the cache is still being filled it goes by what it has seen.
func (m *Cache) ValidateCreate(ctx context.Context, object client.Object, workload string) *field.Error {
	if !isCopy(object) || workload == "" {
		return nil
	}
	epoch := Read(object)
	seen := m.recordDeleted(key{object.GetNamespace(), workload, owner(object)})
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
