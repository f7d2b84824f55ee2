package kind

import (
	"context"
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// passing are kinds of objects that come and go on a cluster where nothing happens.
var passing = []string{"events", "leases", "pods", "endpoints", "endpointslices", "certificatesigningrequests", "componentstatuses"}

// inventory lists all objects of the cluster of all kinds, but for passing ones and what the JobSet controller makes.
func (c *kindCluster) inventory(ctx context.Context) ([]string, error) {
	served, err := discovery.NewDiscoveryClientForConfig(c.config)
	if err != nil {
		return nil, err
	}
	lists, err := served.ServerPreferredResources()
	if err != nil {
		return nil, err
	}
	objects, err := metadata.NewForConfig(c.config)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "list") || slices.Contains(passing, resource.Name) {
				continue
			}
			found, err := objects.Resource(version.WithResource(resource.Name)).List(ctx, metav1.ListOptions{})
			if err != nil {
				return nil, fmt.Errorf("list %s of %s: %w", resource.Name, c.name, err)
			}
			for i := range found.Items {
				if found.Items[i].Namespace == jobSetNamespace {
					continue
				}
				all = append(all, resource.Name+"."+version.Group+" "+found.Items[i].Namespace+"/"+found.Items[i].Name)
			}
		}
	}
	return all, nil
}

// inventoryDifference is what the cluster has now and had not then.
func (c *kindCluster) inventoryDifference(ctx context.Context, then []string) ([]string, error) {
	now, err := c.inventory(ctx)
	return slices.DeleteFunc(now, func(object string) bool { return slices.Contains(then, object) }), err
}

// leavesNothing uninstalls as the guide says, and compares with what there was before the installation.
func leavesNothing(ctx context.Context, before map[string][]string) {
	GinkgoHelper()
	for _, c := range []*kindCluster{hub, w1, w2} {
		Expect(c.inventoryDifference(ctx, before[c.name])).NotTo(BeEmpty(), "there is something to remove")
	}
	By("deleting what uses queues while the programs run")
	for _, object := range []client.Object{
		&kueue.ClusterQueue{}, &kueue.AdmissionCheck{}, &kueue.MultiKueueConfig{}, &kueue.WorkloadPriorityClass{},
	} {
		Expect(hub.DeleteAllOf(ctx, object)).To(Succeed())
	}
	Eventually(func() ([]kueue.MultiKueueConfig, error) {
		var list kueue.MultiKueueConfigList
		err := hub.List(ctx, &list)
		return list.Items, err
	}).WithContext(ctx).Should(BeEmpty())
	for _, w := range workers {
		switchctl(ctx, "cluster", "unregister", w.name, "--context", w.name, "--hub-context", "hub")
		Expect(w.DeleteAllOf(ctx, &kueue.ClusterQueue{})).To(Succeed())
	}
	for _, c := range []*kindCluster{hub, w1, w2} {
		Expect(c.DeleteAllOf(ctx, &kueue.ResourceFlavor{})).To(Succeed())
		Eventually(func() ([]kueue.ClusterQueue, error) {
			var list kueue.ClusterQueueList
			err := c.List(ctx, &list)
			return list.Items, err
		}).WithContext(ctx).Should(BeEmpty(), "queues of %s", c.name)
		Eventually(func() ([]kueue.ResourceFlavor, error) {
			var list kueue.ResourceFlavorList
			err := c.List(ctx, &list)
			return list.Items, err
		}).WithContext(ctx).Should(BeEmpty(), "flavors of %s", c.name)
	}
	By("uninstalling the releases, and then what they keep")
	Expect(onAll(ctx, []*kindCluster{hub, w1, w2}, uninstall)).To(Succeed())
	for _, c := range []*kindCluster{hub, w1, w2} {
		Eventually(c.inventoryDifference).WithContext(ctx).WithArguments(before[c.name]).Should(BeEmpty(), "left on %s", c.name)
	}
	logf("the programs are uninstalled, and nothing of them is left")
}

// deleteCRDs lists every kind first: an API server that has not listed one since its CRD changed may keep it for minutes.
func (c *kindCluster) deleteCRDs(ctx context.Context) error {
	ours := client.MatchingLabels{"app.kubernetes.io/part-of": "switchyard"}
	crds := &unstructured.UnstructuredList{}
	crds.SetAPIVersion("apiextensions.k8s.io/v1")
	crds.SetKind("CustomResourceDefinitionList")
	if err := c.List(ctx, crds, ours); err != nil {
		return err
	}
	for i := range crds.Items {
		if err := c.List(ctx, kindOf(&crds.Items[i])); err != nil {
			return err
		}
	}
	crd := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}}
	return c.DeleteAllOf(ctx, crd, ours)
}

// kindOf is an empty list of what a CRD defines.
func kindOf(crd *unstructured.Unstructured) *metav1.PartialObjectMetadataList {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedStringSlice(crd.Object, "status", "storedVersions")
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: versions[len(versions)-1], Kind: kind + "List"})
	return list
}

func uninstall(ctx context.Context, c *kindCluster) error {
	if _, err := command(ctx, "helm", "uninstall", "switchyard", "--kube-context", c.name, "--namespace", system, "--wait", "--timeout", helmTime); err != nil {
		return err
	}
	if err := c.deleteCRDs(ctx); err != nil {
		return err
	}
	// Kubernetes' own controller may have brought one back that Helm has just deleted.
	for _, name := range []string{"kueue-batch-admin-role", "kueue-batch-user-role"} {
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := client.IgnoreNotFound(c.Delete(ctx, role)); err != nil {
			return err
		}
	}
	for _, name := range []string{team, system} {
		if err := c.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
	}
	return nil
}
