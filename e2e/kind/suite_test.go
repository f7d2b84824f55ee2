package kind

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/kind/pkg/cluster"
)

//go:embed testdata/audit-policy.yaml
var auditPolicy []byte

// preparedVariable names the directory in which run.sh has put programs and images.
const preparedVariable = "SWITCHYARD_E2E_KIND"

var (
	// prepared is that directory; kubeconfig has the contexts hub, w1 and w2.
	prepared, kubeconfig string
	hub, w1, w2          *kindCluster
	workers              []*kindCluster
	// started is when the suite was.
	started time.Time
)

func TestKind(t *testing.T) {
	prepared = os.Getenv(preparedVariable)
	if prepared == "" {
		t.Skip("needs a container engine and prepared images: make e2e-kind")
	}
	RegisterFailHandler(Fail)
	EnforceDefaultTimeoutsWhenUsingContexts()
	SetDefaultEventuallyTimeout(5 * time.Minute) // for a busy machine; what bounds a part is its own timeout
	SetDefaultEventuallyPollingInterval(250 * time.Millisecond)
	SetDefaultConsistentlyDuration(3 * time.Second)
	ctrllog.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	RunSpecs(t, "Switchyard on kind clusters")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	started = time.Now()
	dir, err := os.MkdirTemp("", "switchyard-kind-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(os.RemoveAll, dir)
	Expect(os.WriteFile(filepath.Join(dir, "audit-policy.yaml"), auditPolicy, 0o644)).To(Succeed())

	all := createAll(dir, "hub", "w1", "w2")
	hub, w1, w2, workers = all[0], all[1], all[2], all[1:]
	kubeconfig, err = mergeKubeconfigs(dir, "hub", "w1", "w2")
	Expect(err).NotTo(HaveOccurred())
	logf("a hub and two workers are ready")
}, NodeTimeout(25*time.Minute))

// createAll makes all clusters at once, and deletes them after the suite.
func createAll(dir string, names ...string) []*kindCluster {
	GinkgoHelper()
	provider := cluster.NewProvider(cluster.ProviderWithDocker())
	all := make([]*kindCluster, len(names))
	var group errgroup.Group
	for i, name := range names {
		DeferCleanup(func() { Expect(provider.Delete(prefix+name, filepath.Join(dir, name+".kubeconfig"))).To(Succeed()) })
		group.Go(func() (err error) {
			all[i], err = create(provider, name, os.Getenv("KIND_NODE_IMAGE"), dir)
			return err
		})
	}
	Expect(group.Wait()).To(Succeed())
	return all
}

// logf prints a step with the time since the start.
func logf(format string, args ...any) {
	_, _ = fmt.Fprintf(os.Stdout, "e2e-kind [%4.0fs] %s\n", time.Since(started).Seconds(), fmt.Sprintf(format, args...))
}

// onAll does the same on several clusters at once.
func onAll(ctx context.Context, on []*kindCluster, do func(context.Context, *kindCluster) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, c := range on {
		group.Go(func() error { return do(ctx, c) })
	}
	return group.Wait()
}
