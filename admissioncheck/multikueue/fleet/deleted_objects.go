package fleet

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// DeletedObject is the last that was seen of an object that is no more.
type DeletedObject struct {
	// LastState is its last known state.
	LastState client.Object
	// DeletionObserved is set if the deletion itself was watched, so that LastState was its very last state. Otherwise the
	// object vanished between two sessions, and may have changed since LastState.
	DeletionObserved bool
}

// deletedObjects keeps what is gone from one cluster, at most one object of a kind for each Workload: the latest.
type deletedObjects struct {
	// onChange, optional, is told when there begins, or ceases, to be something of a Workload.
	onChange func(key types.NamespacedName, there bool)

	mu      sync.Mutex
	objects map[types.NamespacedName]map[schema.GroupVersionKind]DeletedObject
	bytes   int64 // of what they weigh, in bytes
}

func newDeletedObjects() *deletedObjects {
	return &deletedObjects{objects: map[types.NamespacedName]map[schema.GroupVersionKind]DeletedObject{}}
}

// add remembers an object that is gone, under its Workload and kind. It replaces what was remembered there.
func (m *deletedObjects) add(key types.NamespacedName, gvk schema.GroupVersionKind, g DeletedObject) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.objects[key] == nil {
		m.objects[key] = map[schema.GroupVersionKind]DeletedObject{}
		if m.onChange != nil {
			m.onChange(key, true)
		}
	}
	m.bytes += memorySize(g.LastState) - memorySize(m.objects[key][gvk].LastState)
	m.objects[key][gvk] = g
}

// totalBytes is what is remembered, in bytes.
func (m *deletedObjects) totalBytes() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bytes
}

// get returns what the watch has last seen of a remote object that is gone; false if it has not seen one go.
func (m *deletedObjects) get(key types.NamespacedName, gvk schema.GroupVersionKind) (DeletedObject, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g, ok := m.objects[key][gvk]
	return g, ok
}

// forget drops all that is remembered of a Workload's objects.
func (m *deletedObjects) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range m.objects[key] {
		m.bytes -= memorySize(g.LastState)
	}
	delete(m.objects, key)
	if m.onChange != nil {
		m.onChange(key, false)
	}
}
