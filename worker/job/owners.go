package job

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxNesting is how many owners above a job are looked at.
const maxNesting = 10

// ancestry is what the owners of a job say about it.
type ancestry struct {
	// tooDeep tells that there were more owners than the framework follows.
	tooDeep bool
	// external is set if the top-most managed ancestor is of a kind that another program manages.
	external bool
	// free is set for a job that clears away what its owner has left, which is being deleted.
	free bool
	// top is the top-most managed ancestor, nil if there is none; kind is its integration, nil if external.
	top  client.Object
	kind Integration
}

// findAncestors walks up the controller owners of a job for as long as they are of known kinds (contract: kueue-api.md 3.1
// step 3). An owner reference is its writer's claim. So the walk ends where the owner is gone or was replaced by another of its
// name, and where its kind does not make such objects, or not this one (see [Children]). gvk is the job's kind.
func findAncestors(ctx context.Context, r fallbackReader, o *Options, job client.Object, gvk schema.GroupVersionKind) (ancestry, error) {
	var found ancestry
	for current, depth := job, 0; ; depth++ {
		ref := metav1.GetControllerOfNoCopy(current)
		if ref == nil {
			return found, nil
		}
		if depth == maxNesting {
			return ancestry{tooDeep: true}, nil
		}
		owner, kind, external := controllerOf(o, ref)
		if owner == nil {
			return found, nil
		}
		enabled := kind == nil || o.isEnabled(kind)
		err := r.of(enabled).Get(ctx, client.ObjectKey{Namespace: job.GetNamespace(), Name: ref.Name}, owner)
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) || err == nil && owner.GetUID() != ref.UID {
			return found, nil
		}
		if err == nil && kind != nil {
			owner, err = r.whoCovers(ctx, kind, owner, withKind(current, gvk), enabled)
		}
		switch {
		case err != nil:
			return ancestry{}, fmt.Errorf("get owner %s %s/%s: %w", ref.Kind, job.GetNamespace(), ref.Name, err)
		case owner == nil:
			return found, nil
		case kind != nil && depth == 0 && kind.cleansUp(owner, current):
			return ancestry{free: true}, nil
		}
		if enabled && (QueueName(owner) != "" || kind != nil && o.ManageJobsWithoutQueueName) {
			found = ancestry{top: owner, kind: kind, external: external}
		}
		current, gvk = owner, schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	}
}

// withKind is the object, or a copy of it, that says what kind it is of. Objects of Go types may have lost that on the way.
func withKind(obj client.Object, gvk schema.GroupVersionKind) client.Object {
	if obj.GetObjectKind().GroupVersionKind() == gvk {
		return obj
	}
	named := deepCopy(obj)
	named.GetObjectKind().SetGroupVersionKind(gvk)
	return named
}

// controllerOf returns an empty object of the owner's kind, nil if the kind is not known.
func controllerOf(o *Options, ref *metav1.OwnerReference) (owner client.Object, kind Integration, external bool) {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return nil, nil, false
	}
	gvk := gv.WithKind(ref.Kind)
	for _, k := range slices.Concat(o.Kinds, o.Known) {
		if k.GVK() == gvk {
			return k.New(), k, false
		}
	}
	if slices.Contains(o.ExternalFrameworks, gvk) {
		return newMetadata(gvk), nil, true
	}
	return nil, nil, false
}

// isEnabled tells whether jobs of the kind are managed.
func (o *Options) isEnabled(kind Integration) bool {
	return slices.ContainsFunc(o.Kinds, func(k Integration) bool { return k.GVK() == kind.GVK() })
}

func newMetadata(gvk schema.GroupVersionKind) client.Object {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(gvk)
	return m
}

// fallbackReader reads from the cache, and live what the cache does not have: an object that another one speaks of may be too
// young for the cache. Of kinds that it knows by their metadata only it reads nothing into the cache.
type fallbackReader struct {
	client.Reader
	live client.Reader
}

// of is what to read with for an owner. Of a kind that nobody manages here nothing is cached.
func (r fallbackReader) of(enabled bool) client.Reader {
	if !enabled && r.live != nil {
		return r.live
	}
	return r
}

// whoCovers returns the owner if its quota is meant for the child too, else nil. What the cache's owner does not cover is asked of the API
// server's: the owner may have named the child a moment ago.
func (r fallbackReader) whoCovers(ctx context.Context, kind Integration, owner, child client.Object, enabled bool) (client.Object, error) {
	covered, err := kind.coversChild(ctx, r.of(enabled), owner, child)
	switch {
	case err != nil:
		return nil, err
	case covered:
		return owner, nil
	case r.live == nil:
		return nil, nil
	}
	fresh := kind.New()
	err = r.live.Get(ctx, client.ObjectKeyFromObject(owner), fresh)
	if err != nil || fresh.GetUID() != owner.GetUID() {
		return nil, client.IgnoreNotFound(err)
	}
	if covered, err := kind.coversChild(ctx, r.live, fresh, child); err != nil || !covered {
		return nil, err
	}
	return fresh, nil
}

// Get implements client.Reader.
func (r fallbackReader) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if _, foreign := obj.(*metav1.PartialObjectMetadata); foreign && r.live != nil {
		return r.live.Get(ctx, key, obj, opts...)
	}
	err := r.Reader.Get(ctx, key, obj, opts...)
	if apierrors.IsNotFound(err) && r.live != nil {
		return r.live.Get(ctx, key, obj, opts...)
	}
	return err
}
