package jobkind

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kindClient reads objects without a Go type, which are jobs of the kind, where the kind's own cache is, and all others as the program does.
type kindClient struct {
	client.Client
	cache *kindCache
}

// Get implements client.Reader.
func (c kindClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if _, ok := obj.(runtime.Unstructured); ok {
		return c.cache.Get(ctx, key, obj, opts...)
	}
	return c.Client.Get(ctx, key, obj, opts...)
}

// List implements client.Reader.
func (c kindClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, ok := list.(runtime.Unstructured); ok {
		return c.cache.List(ctx, list, opts...)
	}
	return c.Client.List(ctx, list, opts...)
}
