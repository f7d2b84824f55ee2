package kube

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// MaxCacheLag is how long a cache is given to show our own write. After that the write is forgotten: a server that was
	// restored from a backup counts versions anew, and a conflict is not the end of the world.
	MaxCacheLag = time.Minute
	// minSweepSize is how many writes are remembered before those that nobody asks about any more are looked for.
	minSweepSize = 1024
)

// WriteTracker remembers the version of our last write of each object until the cache has caught up with it. Nothing is decided
// on what we ourselves have changed already: that would cost a write that meets a conflict. Who is held up by it looks again
// after MaxCacheLag at the latest: if versions went backwards, no event will come. The zero Written remembers nothing; it is safe
// for concurrent use.
type WriteTracker struct {
	mu        sync.Mutex
	versions  map[types.UID]writtenVersion
	sweepSize int
}

type writtenVersion struct {
	resourceVersion string
	writtenAt       time.Time
}

// Record remembers the object as the server returned it.
func (w *WriteTracker) Record(obj client.Object, now time.Time) {
	if obj.GetUID() == "" || obj.GetResourceVersion() == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.versions == nil {
		w.versions, w.sweepSize = map[types.UID]writtenVersion{}, minSweepSize
	}
	w.versions[obj.GetUID()] = writtenVersion{resourceVersion: obj.GetResourceVersion(), writtenAt: now}
	if len(w.versions) >= w.sweepSize {
		w.sweep(now)
	}
}

// sweep forgets what was deleted before the cache showed it. It takes time that grows with the writes since the last time.
func (w *WriteTracker) sweep(now time.Time) {
	for uid, v := range w.versions {
		if now.Sub(v.writtenAt) > MaxCacheLag {
			delete(w.versions, uid)
		}
	}
	w.sweepSize = max(minSweepSize, 2*len(w.versions))
}

// IsNewerThan tells whether our last write is newer than a cached object. Versions that cannot be compared count as equal.
func (w *WriteTracker) IsNewerThan(cached client.Object, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	last, known := w.versions[cached.GetUID()]
	if !known {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), last.resourceVersion)
	if err == nil && order < 0 && now.Sub(last.writtenAt) <= MaxCacheLag {
		return true
	}
	delete(w.versions, cached.GetUID())
	return false
}

// errCacheBehind is why nothing is compared with a cached object.
var errCacheBehind = errors.New("the cache does not show our last write yet")

// Patch is the function Patch, and remembers the write. It fails with a conflict, without a call, as long as our last write is
// newer than before: what differs from before need not differ from what is stored, and what equals it need not be there.
func (w *WriteTracker) Patch(ctx context.Context, c client.Client, before, after client.Object, now time.Time) (bool, error) {
	if err := w.checkCaughtUp(before, now); err != nil {
		return false, err
	}
	wrote, err := Patch(ctx, c, before, after)
	if wrote && err == nil {
		w.Record(after, now)
	}
	return wrote, err
}

// PatchStatus is the function PatchStatus in the same way.
func (w *WriteTracker) PatchStatus(ctx context.Context, c client.Client, before, after client.Object, now time.Time) (bool, error) {
	if err := w.checkCaughtUp(before, now); err != nil {
		return false, err
	}
	wrote, err := PatchStatus(ctx, c, before, after)
	if wrote && err == nil {
		w.Record(after, now)
	}
	return wrote, err
}

func (w *WriteTracker) checkCaughtUp(cached client.Object, now time.Time) error {
	if !w.IsNewerThan(cached, now) {
		return nil
	}
	kind := reflect.Indirect(reflect.ValueOf(cached)).Type().Name()
	return apierrors.NewConflict(schema.GroupResource{Resource: kind}, cached.GetName(), errCacheBehind)
}
