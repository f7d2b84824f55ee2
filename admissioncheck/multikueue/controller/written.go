package controller

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// written remembers the version of our last write of each object until the cache has caught up with it, so that no
// decision is taken on what we ourselves have changed already. What is written and gone before the cache shows it stays
// here, a few bytes.
type written struct {
	mu       sync.Mutex
	versions map[types.UID]string
}

// note remembers the object as the server returned it.
func (w *written) note(obj client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.versions == nil {
		w.versions = map[types.UID]string{}
	}
	w.versions[obj.GetUID()] = obj.GetResourceVersion()
}

// newerThan tells whether our last write is newer than a cached object. Versions that cannot be compared count as equal.
func (w *written) newerThan(cached client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	version, known := w.versions[cached.GetUID()]
	if !known {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), version)
	if err == nil && order < 0 {
		return true
	}
	delete(w.versions, cached.GetUID())
	return false
}
