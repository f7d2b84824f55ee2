package integration

import (
	"context"
	"fmt"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// startSingleCluster puts one cluster on a stage of its own, a hub without workers, until the end of the container.
func startSingleCluster(ctx context.Context, name string, nodes int, configuration map[string]any) *installation.Site {
	GinkgoHelper()
	root, err := clusters.SourceRoot()
	Expect(err).NotTo(HaveOccurred())
	stage, err := installation.StartStage(ctx, installation.StageOptions{
		Hub: clusters.Options{
			Name: name, Operators: []clusters.Operator{clusters.JobSet},
			Nodes: []clusters.NodePool{{Name: "gpu", Count: nodes, GPUClass: "H100", GPUs: 8}},
		},
		Programs:      filepath.Join(root, "bin"),
		Configuration: configuration,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(stage.Stop()).To(Succeed()) })
	return stage.Hub
}

// condition renders a condition as "<status> <reason> <message>", or "" when there is none.
func condition(conditions []metav1.Condition, kind string) string {
	c := meta.FindStatusCondition(conditions, kind)
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message)
}

// connected renders the hub's condition Active of a worker.
func connected(ctx context.Context, name string) (string, error) {
	cluster := &kueue.MultiKueueCluster{}
	err := hub.Get(ctx, client.ObjectKey{Name: name}, cluster)
	return condition(cluster.Status.Conditions, kueue.MultiKueueClusterActive), err
}

// checkActive renders the condition Active of an AdmissionCheck on the hub.
func checkActive(ctx context.Context, name string) (string, error) {
	check := &kueue.AdmissionCheck{}
	err := hub.Get(ctx, client.ObjectKey{Name: name}, check)
	return condition(check.Status.Conditions, kueue.AdmissionCheckActive), err
}
