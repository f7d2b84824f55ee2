package install_test

import (
	"context"
	"flag"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"switchyard.dev/charts/install"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/guide"
)

var uninstalls = flag.Int("uninstalls", 3, "how many times the CRDs are installed and deleted")

// The guide's commands delete the CRDs on API servers that have not looked at a kind since its CRD was made. There are
// objects in them whose finalizers are not taken off any more: the program is gone.
func TestTheGuideDeletesTheCRDsEveryTime(t *testing.T) {
	c, err := clusters.Start(t.Context(), clusters.Options{Name: "crds", Controllers: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	shell, err := guide.CommandEnv{
		Contexts: map[string]*clusters.Cluster{"hub": c}, Tree: "../..", Programs: map[string]string{"kubectl": c.Kubectl()},
	}.Setup(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for range *uninstalls {
		installCRDs(t, c)
		leave(t, c)
		start := time.Now()
		follow(t, shell, deletionOfCRDs(t))
		t.Logf("deleted in %v", time.Since(start).Round(time.Millisecond))
		if left := follow(t, shell, guide.Block{Commands: "kubectl --context hub get crds --output name"}); strings.Contains(left, "kueue") {
			t.Fatalf("left: %s", left)
		}
	}
}

// deletionOfCRDs is the block of the guide that deletes the CRDs.
func deletionOfCRDs(t *testing.T) guide.Block {
	t.Helper()
	for _, block := range blocks(t, "../README.md") {
		if strings.Contains(block.Commands, "delete customresourcedefinitions") {
			return block
		}
	}
	t.Fatal("no block deletes the CRDs")
	return guide.Block{}
}

func installCRDs(t *testing.T, c *clusters.Cluster) {
	t.Helper()
	r, err := rendered(map[string]any{"role": "hub"})
	if err != nil {
		t.Fatal(err)
	}
	var crds []*unstructured.Unstructured
	for _, o := range r.Objects {
		if o.GetKind() == "CustomResourceDefinition" {
			crds = append(crds, o)
		}
	}
	applier, err := install.NewApplier(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	if err := applier.Apply(t.Context(), crds); err != nil {
		t.Fatal(err)
	}
}

// leave makes a Workload that has our finalizer, as one of a job has that is still there.
func leave(t *testing.T, c *clusters.Cluster) {
	t.Helper()
	client, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	left := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
		"metadata": map[string]any{"name": "left", "finalizers": []any{"kueue.x-k8s.io/resource-in-use"}},
		"spec": map[string]any{"podSets": []any{map[string]any{
			"name": "main", "count": int64(1),
			"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}}},
		}}},
	}}
	workloads := schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: "v1beta2", Resource: "workloads"}
	eventually(t, "a Workload is made", func() error {
		_, err := client.Resource(workloads).Namespace("default").Create(context.Background(), left, metav1.CreateOptions{})
		return err
	})
}
