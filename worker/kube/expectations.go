package kube

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// MaxCacheLag is how long a cache is given to show our own write. After that the write is forgotten: a server that was
	// restored from a backup counts versions anew, and a conflict is not the end of the world.
	MaxCacheLag = time.Minute
	// minSweepSize is how many writes are remembered before forgotten ones are looked for.
	minSweepSize = 1024
)

// Expectations remembers, by UID, our last write of each object until the cache shows it or a later one, and a value with each write.
//
//   - A write is expected for MaxCacheLag at most.
//   - An object that was made again under the same name has another UID, and nothing is expected of it.
//   - Versions that cannot be compared count as equal: then nothing is expected.
//   - A write of an object that was deleted meanwhile is forgotten by Forget, or when many are remembered.
//
// The zero Expectations has none. It is safe for concurrent use.
type Expectations[V any] struct {
	mu        sync.Mutex
	writes    map[types.UID]expectedWrite[V]
	sweepSize int
}

type expectedWrite[V any] struct {
	resourceVersion string
	value           V
	writtenAt       time.Time
}

func (w expectedWrite[V]) isOverdue(now time.Time) bool { return now.Sub(w.writtenAt) > MaxCacheLag }

// Record expects the cache to show the object as the server returned it. One without UID or version is not expected.
func (e *Expectations[V]) Record(obj client.Object, value V, now time.Time) {
	if obj.GetUID() == "" || obj.GetResourceVersion() == "" {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.writes == nil {
		e.writes, e.sweepSize = map[types.UID]expectedWrite[V]{}, minSweepSize
	}
	e.writes[obj.GetUID()] = expectedWrite[V]{resourceVersion: obj.GetResourceVersion(), value: value, writtenAt: now}
	if len(e.writes) >= e.sweepSize {
		e.sweep(now)
	}
}

// sweep forgets what was deleted before the cache showed it. It takes time that grows with the writes since the last time.
func (e *Expectations[V]) sweep(now time.Time) {
	for uid, write := range e.writes {
		if write.isOverdue(now) {
			delete(e.writes, uid)
		}
	}
	e.sweepSize = max(minSweepSize, 2*len(e.writes))
}

// IsNewerThan reports whether our last write is newer than a cached object, and forgets the write if it is not.
func (e *Expectations[V]) IsNewerThan(cached client.Object, now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	last, known := e.writes[cached.GetUID()]
	if !known {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), last.resourceVersion)
	if err == nil && order < 0 && !last.isOverdue(now) {
		return true
	}
	delete(e.writes, cached.GetUID())
	return false
}

// Forget forgets the write of an object that is no more.
func (e *Expectations[V]) Forget(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.writes, uid)
}

// Values returns the values of all writes that are expected, in no order.
func (e *Expectations[V]) Values() []V {
	e.mu.Lock()
	defer e.mu.Unlock()
	values := make([]V, 0, len(e.writes))
	for _, write := range e.writes {
		values = append(values, write.value)
	}
	return values
}

// Len returns how many writes are expected.
func (e *Expectations[V]) Len() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.writes)
}
