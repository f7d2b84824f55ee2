package fleet

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Gone is the last that was seen of an object that is no more.
type Gone struct {
	// Last is its last known state.
	Last client.Object
	// Watched tells that the deletion itself was watched, so that Last was its very last state. Otherwise it vanished
	// while nobody looked, and may have changed since Last.
	Watched bool
}

// memory keeps what is gone from one cluster, at most one object of a kind for each Workload: the latest.
type memory struct {
	// noted, optional, is told when there begins, or ceases, to be something of a Workload.
	noted func(key types.NamespacedName, there bool)

	mu   sync.Mutex
	gone map[types.NamespacedName]map[schema.GroupVersionKind]Gone
	sum  int64 // of what they weigh, in bytes
}

func newMemory() *memory {
	return &memory{gone: map[types.NamespacedName]map[schema.GroupVersionKind]Gone{}}
}

func (m *memory) add(key types.NamespacedName, gvk schema.GroupVersionKind, g Gone) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone[key] == nil {
		m.gone[key] = map[schema.GroupVersionKind]Gone{}
		if m.noted != nil {
			m.noted(key, true)
		}
	}
	m.sum += weigh(g.Last) - weigh(m.gone[key][gvk].Last)
	m.gone[key][gvk] = g
}

// kept is what is remembered, in bytes.
func (m *memory) kept() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sum
}

func (m *memory) get(key types.NamespacedName, gvk schema.GroupVersionKind) (Gone, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g, ok := m.gone[key][gvk]
	return g, ok
}

func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range m.gone[key] {
		m.sum -= weigh(g.Last)
	}
	delete(m.gone, key)
	if m.noted != nil {
		m.noted(key, false)
	}
}
