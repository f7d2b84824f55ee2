package kind

import (
	"context"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// One set of clusters for the whole story: each part begins where the one before it has left them, with no job anywhere.
var _ = Describe("Switchyard on kind clusters", Ordered, func() {
	var firstInstall time.Time

	It("is installed by its chart, in namespaces that enforce the restricted standard", func(ctx SpecContext) {
		all := []*kindCluster{hub, w1, w2}
		Expect(onAll(ctx, all, loadImages)).To(Succeed())
		say("images are loaded")
		Expect(onAll(ctx, all, installJobSet)).To(Succeed())
		for _, w := range workers {
			Eventually(w.available).WithContext(ctx).WithArguments("jobset-system", "jobset-controller-manager").Should(Succeed())
		}
		say("the JobSet controller runs on the workers")
		firstInstall = time.Now()
		Expect(onAll(ctx, all, install)).To(Succeed())
		say("the chart is installed everywhere, and ready")
	}, NodeTimeout(8*time.Minute))

	It("knows its workers and queues when switchctl has registered them and set them up", func(ctx SpecContext) {
		for _, w := range workers {
			switchctl(ctx, "cluster", "register", w.name, "--context", w.name, "--hub-context", "hub",
				"--address", "https://"+w.ip+":6443", "--config", "workers", "--allow-logs", "--timeout", "2m")
		}
		say("both workers are registered and connected")
		switchctl(ctx, "queue", "setup", "-f", "testdata/teams.yaml", "--yes")
		for _, w := range workers {
			switchctl(ctx, "cluster", "check", w.name)
		}
		say("queues are set up on the hub and both workers")
	}, NodeTimeout(5*time.Minute))

	It("runs a Job of the hub as a container of a worker, whose log reaches the user", func(ctx SpecContext) {
		hello := job("hello", main, "echo", "hello", "hub")
		Expect(hub.Create(ctx, hello)).To(Succeed())
		Eventually(clusterOf).WithContext(ctx).WithArguments(client.Object(hello)).Should(BeElementOf("w1", "w2"))
		say("the first job is dispatched %.0f s after the start of helm install", time.Since(firstInstall).Seconds())
		expectComplete(ctx, hello)
		Expect(switchctl(ctx, "logs", "job/hello", "--namespace", team)).To(Equal("hello hub\n"))
		remove(ctx, hello)
		say("a Job ran, and its log was read")
	}, NodeTimeout(4*time.Minute))
})

// images are the prepared ones that each cluster needs.
var images = map[string][]string{
	"hub": {"hub.tar"},
	"w1":  {"worker.tar", "job.tar", "jobset.tar"},
	"w2":  {"worker.tar", "job.tar", "jobset.tar"},
}

func loadImages(_ context.Context, c *kindCluster) error {
	for _, file := range images[c.name] {
		if err := c.load(filepath.Join(prepared, file)); err != nil {
			return err
		}
	}
	return nil
}
