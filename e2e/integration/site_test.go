package integration

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// site is a cluster with its Switchyard program and an administrator's client.
type site struct {
	*clusters.Cluster
	client.Client
	program *installation.Program
}

func scheme() *runtime.Scheme {
	s := installation.Scheme()
	Expect(jobset.AddToScheme(s)).To(Succeed())
	return s
}

func newSite(c *clusters.Cluster) *site {
	GinkgoHelper()
	made, err := client.New(c.Config, client.Options{Scheme: scheme()})
	Expect(err).NotTo(HaveOccurred())
	return &site{Cluster: c, Client: made}
}

func (s *site) startProgram(ctx context.Context, binary string) {
	GinkgoHelper()
	program, err := installation.Start(ctx, installation.Options{
		Cluster: s.Cluster, Binary: binary,
		Configuration: map[string]any{"multiKueue": map[string]any{"workerLostTimeout": "15s", "gcInterval": "2s"}},
	})
	Expect(err).NotTo(HaveOccurred())
	s.program = program
	DeferCleanup(func() { Expect(program.Stop()).To(Succeed()) })
}

// condition renders a condition as "<status> <reason> <message>", or "" when there is none.
func condition(conditions []metav1.Condition, kind string) string {
	c := meta.FindStatusCondition(conditions, kind)
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message)
}

func (s *site) connected(ctx context.Context, name string) (string, error) {
	cluster := &kueue.MultiKueueCluster{}
	err := s.Get(ctx, client.ObjectKey{Name: name}, cluster)
	return condition(cluster.Status.Conditions, kueue.MultiKueueClusterActive), err
}

func (s *site) checkActive(ctx context.Context, name string) (string, error) {
	check := &kueue.AdmissionCheck{}
	err := s.Get(ctx, client.ObjectKey{Name: name}, check)
	return condition(check.Status.Conditions, kueue.AdmissionCheckActive), err
}
