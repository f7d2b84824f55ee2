package jobkind

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// runningKind is a kind that is served.
type runningKind struct {
	generation int64
	gvk        schema.GroupVersionKind
	mapping    *meta.RESTMapping
	instance   instance
}

// runningKinds are the kinds that are served, by the UIDs of their JobKinds. The zero value are none.
type runningKinds struct {
	mu    sync.Mutex
	kinds map[types.UID]runningKind
}

func (k *runningKinds) add(v verdict, mapping *meta.RESTMapping, started instance) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kinds == nil {
		k.kinds = map[types.UID]runningKind{}
	}
	k.kinds[v.jobKind.UID] = runningKind{v.jobKind.Generation, v.program.GVK(), mapping, started}
}

// failure returns why a kind has ended by itself, nil if it runs; found tells whether it was started at all.
func (k *runningKinds) failure(uid types.UID) (err error, found bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	kind, found := k.kinds[uid]
	if !found {
		return nil, false
	}
	return kind.instance.failure(), true
}

// exceptFor returns the UIDs of those that run and are not wanted in that generation.
func (k *runningKinds) exceptFor(wanted map[types.UID]int64) []types.UID {
	k.mu.Lock()
	defer k.mu.Unlock()
	var others []types.UID
	for uid, kind := range k.kinds {
		if generation, found := wanted[uid]; !found || generation != kind.generation {
			others = append(others, uid)
		}
	}
	return slices.Sorted(slices.Values(others))
}

// stop stops a kind, and returns which it was.
func (k *runningKinds) stop(uid types.UID) schema.GroupVersionKind {
	k.mu.Lock()
	kind := k.kinds[uid]
	delete(k.kinds, uid)
	k.mu.Unlock()
	if kind.instance != nil {
		kind.instance.stop()
	}
	return kind.gvk
}

// stopAll stops all kinds.
func (k *runningKinds) stopAll() {
	for _, uid := range k.exceptFor(nil) {
		k.stop(uid)
	}
}

// serves tells whether jobs of the kind are looked after.
func (k *runningKinds) serves(kind schema.GroupKind) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, running := range k.kinds {
		if running.gvk.GroupKind() == kind {
			return true
		}
	}
	return false
}

// names are the kinds that are served, each as Kind.version.group.
func (k *runningKinds) names() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	names := make([]string, 0, len(k.kinds))
	for _, kind := range k.kinds {
		names = append(names, kind.gvk.Kind+"."+kind.gvk.Version+"."+kind.gvk.Group)
	}
	slices.Sort(names)
	return names
}

// resources are the resources of the kinds that are served, sorted.
func (k *runningKinds) resources() []schema.GroupVersionResource {
	k.mu.Lock()
	defer k.mu.Unlock()
	resources := make([]schema.GroupVersionResource, 0, len(k.kinds))
	for _, kind := range slices.Collect(maps.Values(k.kinds)) {
		resources = append(resources, kind.mapping.Resource)
	}
	slices.SortFunc(resources, func(a, b schema.GroupVersionResource) int { return strings.Compare(a.String(), b.String()) })
	return resources
}
