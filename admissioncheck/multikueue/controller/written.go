package controller

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// written remembers the version of our last write of each object until the cache has caught up with it, so that no
// decision is taken on what we ourselves have changed already.
type written struct {
	mu       sync.Mutex
	versions map[types.UID]string
	uids     map[client.ObjectKey][]types.UID
}

// note remembers the object as the server returned it.
func (w *written) note(subject client.ObjectKey, obj client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.versions == nil {
		w.versions, w.uids = map[types.UID]string{}, map[client.ObjectKey][]types.UID{}
	}
	if _, known := w.versions[obj.GetUID()]; !known {
		w.uids[subject] = append(w.uids[subject], obj.GetUID())
	}
	w.versions[obj.GetUID()] = obj.GetResourceVersion()
}

// newerThan tells whether our last write is newer than a cached object. Versions that cannot be compared are equal.
func (w *written) newerThan(cached client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	version, known := w.versions[cached.GetUID()]
	if !known {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), version)
	return err == nil && order < 0
}

// forget drops what was remembered of a Workload and its job.
func (w *written) forget(subject client.ObjectKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, uid := range w.uids[subject] {
		delete(w.versions, uid)
	}
	delete(w.uids, subject)
}
