package serving

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// Index is one index of a cache.
type Index struct {
	// Of is an empty object of the kind that is found, Name that of the index, By what it is found by.
	Of   client.Object
	Name string
	By   client.IndexerFunc
}

// AddIndexes adds indexes to a cache.
func AddIndexes(to client.FieldIndexer, indexes []Index) error {
	for _, i := range indexes {
		if err := to.IndexField(context.Background(), i.Of, i.Name, i.By); err != nil {
			return fmt.Errorf("add index %s: %w", i.Name, err)
		}
	}
	return nil
}

// Owner names the object that another one is about, if there is one.
type Owner func(client.Object) (types.NamespacedName, bool)

// ByName makes an index by the name of the owner.
func ByName(owner Owner) client.IndexerFunc {
	return func(obj client.Object) []string {
		if key, ok := owner(obj); ok {
			return []string{key.Name}
		}
		return nil
	}
}

// WorkloadOwner is the object of a kind that a Workload is of.
func WorkloadOwner(gvk schema.GroupVersionKind) Owner {
	return func(obj client.Object) (types.NamespacedName, bool) {
		wl, ok := obj.(*kueue.Workload)
		if !ok {
			return types.NamespacedName{}, false
		}
		ref := ownerReference(gvk, wl)
		if ref == nil {
			return types.NamespacedName{}, false
		}
		return types.NamespacedName{Namespace: wl.Namespace, Name: ref.Name}, true
	}
}
