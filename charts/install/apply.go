// Package install puts rendered manifests onto a cluster as "helm upgrade --install" does, by server-side apply, and holds
// the tests of the chart on real API servers.
package install

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Manager is the field manager under which Helm 4 applies.
const Manager = "helm"

// first are the kinds on which others depend, in order; what is not named comes after them.
var first = []string{"Namespace", "ServiceAccount", "Secret", "ConfigMap", "CustomResourceDefinition", "ClusterRole",
	"ClusterRoleBinding", "Role", "RoleBinding", "Service"}

// Applier applies manifests to one cluster.
type Applier struct {
	client    dynamic.Interface
	discovery discovery.DiscoveryInterface
}

// NewApplier connects to the cluster.
func NewApplier(config *rest.Config) (*Applier, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("dynamic client: %w", err)
	}
	served, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("discovery client: %w", err)
	}
	return &Applier{client: client, discovery: served}, nil
}

// Apply applies the objects, kinds on which others depend first, and stops at the first error.
func (a *Applier) Apply(ctx context.Context, objects []*unstructured.Unstructured) error {
	groups, err := restmapper.GetAPIGroupResources(a.discovery)
	if err != nil {
		return fmt.Errorf("ask what the API server serves: %w", err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	for _, o := range inOrder(objects) {
		kind := o.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
		_, err = a.client.Resource(mapping.Resource).Namespace(o.GetNamespace()).
			Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: Manager})
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// inOrder leaves the order of like kinds as it is.
func inOrder(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	rank := func(o *unstructured.Unstructured) int {
		if i := slices.Index(first, o.GetKind()); i >= 0 {
			return i
		}
		return len(first)
	}
	sorted := slices.Clone(objects)
	slices.SortStableFunc(sorted, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	return sorted
}
