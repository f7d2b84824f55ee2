// Package integration runs a hub and two workers, each the real program as a process of its own beside a real API server,
// and looks at them as a user would: through the API.
package integration

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// The whole stage: one hub, two workers with the same nodes. Specs share it and keep to a namespace of their own.
var (
	hub, w1, w2 *site
	workers     []*site
)

func TestIntegration(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(60 * time.Second)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	SetDefaultConsistentlyDuration(2 * time.Second)
	SetDefaultConsistentlyPollingInterval(200 * time.Millisecond)
	ctrllog.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	RunSpecs(t, "Switchyard on real API servers")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	root, err := clusters.SourceRoot()
	Expect(err).NotTo(HaveOccurred())
	nodes := []clusters.NodePool{{Name: "gpu", Count: 2, GPUClass: "H100", GPUs: 8}}
	all, err := clusters.StartAll(context.WithoutCancel(ctx),
		clusters.Options{Name: "hub", Controllers: true, JobSetCRD: true},
		clusters.Options{Name: "w1", Nodes: nodes, JobSet: true},
		clusters.Options{Name: "w2", Nodes: nodes, JobSet: true})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(clusters.StopAll(all...)).To(Succeed()) })

	hub, w1, w2 = newSite(all[0]), newSite(all[1]), newSite(all[2])
	workers = []*site{w1, w2}
	for _, s := range []*site{hub, w1, w2} {
		name := "worker"
		if s == hub {
			name = "hub"
		}
		s.startProgram(ctx, filepath.Join(root, "bin", name))
	}
	registerWorkers(ctx)
}, NodeTimeout(3*time.Minute))

// A failed spec shows the ends of the programs' logs, and keeps the whole logs where CI can pick them up.
var _ = ReportAfterEach(func(report SpecReport) {
	if !report.Failed() {
		return
	}
	for _, s := range []*site{hub, w1, w2} {
		if s != nil && s.program != nil {
			GinkgoWriter.Printf("--- %s\n%s\n", s.Name, s.program.LogTail())
			keepLog(s)
		}
	}
})

func keepLog(s *site) {
	dir := os.Getenv("SWITCHYARD_LOGS")
	if dir == "" {
		return
	}
	data, err := os.ReadFile(s.program.Log)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, s.Name+".log"), data, 0o600)
	}
	if err != nil {
		GinkgoWriter.Printf("keeping the log of %s: %v\n", s.Name, err)
	}
}

func registerWorkers(ctx context.Context) {
	GinkgoHelper()
	for _, w := range workers {
		Expect(installation.Register(ctx, hub.Cluster, w.Cluster)).To(Succeed())
	}
	for _, object := range multikueueCheck("multikueue", "w1", "w2") {
		Expect(hub.Create(ctx, object)).To(Succeed())
	}
	for _, w := range workers {
		Eventually(hub.connected).WithContext(ctx).WithArguments(w.Name).Should(Equal("True Active Connected"))
	}
	Eventually(hub.checkActive).WithContext(ctx).WithArguments("multikueue").
		Should(Equal("True Active The admission check is active"))
}
