package kube

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CacheUnstructured returns the client, reading objects without Go type from the cache like all others. It is for kinds that are watched: each kind
// that is read is cached from then on.
func CacheUnstructured(c client.Client, cache client.Reader) client.Client {
	return cachedUnstructured{Client: c, cache: cache}
}

type cachedUnstructured struct {
	client.Client
	cache client.Reader
}

// Get implements client.Reader.
func (c cachedUnstructured) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if _, ok := obj.(runtime.Unstructured); !ok {
		return c.Client.Get(ctx, key, obj, opts...)
	}
	return c.cache.Get(ctx, key, obj, opts...)
}

// List implements client.Reader.
func (c cachedUnstructured) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, ok := list.(runtime.Unstructured); !ok {
		return c.Client.List(ctx, list, opts...)
	}
	return c.cache.List(ctx, list, opts...)
}
