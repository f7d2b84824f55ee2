package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

var errNoGroups = errors.New("not even the core group is there")

// kindLister lists the objects of a kind that others bring. When its CRD is removed, the objects go with it, and a watch that is cut off
// does not tell: without this a cache would show them until the CRD comes again.
type kindLister struct {
	list toolscache.ListWithContextFunc
	kind schema.GroupVersionKind
	api  discovery.DiscoveryInterfaceWithContext
}

// List lists; of a kind that the API server says that it does not serve there are no objects.
func (l kindLister) List(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	list, err := l.list(ctx, o)
	if !apierrors.IsNotFound(err) {
		return list, err
	}
	served, discoveryErr := l.isServed(ctx)
	if discoveryErr != nil {
		return nil, fmt.Errorf("%w (%w)", err, discoveryErr)
	}
	if served {
		return nil, err
	}
	return &metav1.PartialObjectMetadataList{}, nil
}

// isServed asks the API server whether it serves the kind, in whatever version: where only the version has gone, the objects are still there. A
// proxy that answers everything with "not found" is an error: it must know of the core group at least.
func (l kindLister) isServed(ctx context.Context) (bool, error) {
	groups, err := l.api.ServerGroupsWithContext(ctx)
	if err == nil && !slices.ContainsFunc(groups.Groups, func(g metav1.APIGroup) bool { return g.Name == "" && len(g.Versions) > 0 }) {
		err = errNoGroups
	}
	if err != nil {
		return false, fmt.Errorf("look for the groups of the API: %w", err)
	}
	versions := []string{l.kind.GroupVersion().String()}
	for _, group := range groups.Groups {
		for _, version := range group.Versions {
			if group.Name == l.kind.Group {
				versions = append(versions, version.GroupVersion)
			}
		}
	}
	for _, version := range versions {
		if served, err := l.isServedIn(ctx, version); served || err != nil {
			return served, err
		}
	}
	return false, nil
}

func (l kindLister) isServedIn(ctx context.Context, version string) (bool, error) {
	resources, err := l.api.ServerResourcesForGroupVersionWithContext(ctx, version)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for %s in %s: %w", l.kind.Kind, version, err)
	}
	return slices.ContainsFunc(resources.APIResources, func(r metav1.APIResource) bool { return r.Kind == l.kind.Kind }), nil
}

// isBroughtByOthers tells of a group whether its kinds come and go with a CRD that is not ours: whoever removes one of ours takes
// Switchyard away.
func isBroughtByOthers(group string) bool {
	return strings.Contains(group, ".") && group != "kueue.x-k8s.io" && group != "switchyard.dev" &&
		(!strings.HasSuffix(group, ".k8s.io") || strings.HasSuffix(group, ".x-k8s.io"))
}

// kindOf is the kind of an object, empty if it is not known.
func kindOf(of runtime.Object, scheme *runtime.Scheme) schema.GroupVersionKind {
	gvk, err := apiutil.GVKForObject(of, scheme)
	if err != nil {
		return schema.GroupVersionKind{}
	}
	return gvk
}
