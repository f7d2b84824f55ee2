package kind

import (
	"context"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// One set of clusters for the whole story: each part begins where the one before it has left them, with no job anywhere.
var _ = Describe("Switchyard on kind clusters", Ordered, func() {
	var firstInstall time.Time
	before := map[string][]string{}

	It("is installed by its chart, in namespaces that enforce the restricted standard", func(ctx SpecContext) {
		all := []*kindCluster{hub, w1, w2}
		Expect(onAll(ctx, all, loadImages)).To(Succeed())
		logf("images are loaded")
		manifests, err := jobSetManifests()
		Expect(err).NotTo(HaveOccurred(), "manifests of JobSet")
		Expect(onAll(ctx, all, func(ctx context.Context, c *kindCluster) error { return installJobSet(ctx, c, manifests) })).To(Succeed())
		for _, c := range all {
			before[c.name], err = c.inventory(ctx)
			Expect(err).NotTo(HaveOccurred())
		}
		firstInstall = time.Now()
		Expect(onAll(ctx, all, install)).To(Succeed())
		logf("the chart is installed everywhere, and ready")
		for _, w := range workers {
			Eventually(w.available).WithContext(ctx).WithArguments(jobSetNamespace, "jobset-controller-manager").Should(Succeed())
		}
		logf("so is the JobSet controller on the workers")
	}, NodeTimeout(20*time.Minute))

	It("knows its workers and queues when switchctl has registered them and set them up", func(ctx SpecContext) {
		for _, w := range workers {
			switchctl(ctx, "cluster", "register", w.name, "--context", w.name, "--hub-context", "hub",
				"--address", "https://"+w.ip+":6443", "--config", "workers", "--access", "logs", "--timeout", "6m")
		}
		logf("both workers are registered and connected")
		switchctl(ctx, "queue", "setup", "-f", "testdata/teams.yaml", "--yes")
		for _, w := range workers {
			switchctl(ctx, "cluster", "check", w.name)
		}
		logf("queues are set up on the hub and both workers")
		for _, c := range []*kindCluster{hub, w1, w2} {
			program := "worker"
			if c == hub {
				program = "hub"
			}
			memory, err := c.memory(ctx, program)
			Expect(err).NotTo(HaveOccurred())
			Expect(memory).NotTo(BeEmpty())
			logf("memory at rest of the programs on %s: %s", c.name, memory)
		}
	}, NodeTimeout(15*time.Minute))

	It("runs a Job of the hub as a container of a worker, and its log reaches the user", func(ctx SpecContext) {
		hello := job("hello", main, "echo", "hello")
		Expect(hub.Create(ctx, hello)).To(Succeed())
		Eventually(clusterOf).WithContext(ctx).WithArguments(client.Object(hello)).Should(BeElementOf("w1", "w2"))
		logf("the first job is dispatched %.0f s after the start of helm install", time.Since(firstInstall).Seconds())
		expectComplete(ctx, hello)
		talk := job("talk", main, "sleep", "1h") // what has ended is taken from the worker, with its log
		Expect(hub.Create(ctx, talk)).To(Succeed())
		Eventually(running).WithContext(ctx).WithArguments(talk).ShouldNot(BeEmpty())
		Eventually(command).WithContext(ctx).WithArguments("switchctl", "logs", "job/talk", "--namespace", team).
			Should(Equal("sleeping for 1h0m0s\n"))
		remove(ctx, hello, talk)
		logf("a Job ran, and its log was read")
	}, NodeTimeout(10*time.Minute))

	It("runs a JobSet in one worker's containers", func(ctx SpecContext) {
		set := jobSet("sweep", main, "echo", "part")
		Expect(hub.Create(ctx, set)).To(Succeed())
		Eventually(func() ([]metav1.Condition, error) {
			err := hub.Get(ctx, client.ObjectKeyFromObject(set), set)
			return set.Status.Conditions, err
		}).WithContext(ctx).Should(ContainElement(And(
			HaveField("Type", string(jobset.JobSetCompleted)), HaveField("Status", metav1.ConditionTrue))))
		remove(ctx, set)
		logf("a JobSet ran")
	}, NodeTimeout(10*time.Minute))

	It("lets users look into a Job's container through the hub", looksInside, NodeTimeout(12*time.Minute))

	It("stops a Job on its worker for a more urgent one, and runs it again later", preempts, NodeTimeout(12*time.Minute))

	It("runs every Job once although the hub's program is killed while it dispatches", survivesTheHubsDeath, NodeTimeout(12*time.Minute))

	It("runs a Job elsewhere when its worker is cut off, and only when it was stopped there", Label("slow"), survivesAPartition,
		NodeTimeout(20*time.Minute))

	It("is upgraded while Jobs run and come, without one being refused or run twice", upgradesUnderLoad, NodeTimeout(20*time.Minute))

	It("was never denied a call", wasDeniedNothing, NodeTimeout(5*time.Minute))

	It("leaves nothing behind when it is uninstalled", func(ctx SpecContext) { leavesNothing(ctx, before) }, NodeTimeout(15*time.Minute))
})

func preempts(ctx SpecContext) {
	low := job("low", scarce, "sleep", "1h")
	low.Labels[kueue.PriorityClassLabel] = "background"
	Expect(hub.Create(ctx, low)).To(Succeed())
	Eventually(running).WithContext(ctx).WithArguments(low).ShouldNot(BeEmpty())
	first := podOf(ctx, low)
	high := job("high", scarce, "sleep", "1h")
	high.Labels[kueue.PriorityClassLabel] = "urgent"
	Expect(hub.Create(ctx, high)).To(Succeed())
	Eventually(running).WithContext(ctx).WithArguments(high).ShouldNot(BeEmpty())
	Expect(workloadState(ctx, low, kueue.WorkloadPreempted)).To(HavePrefix("True"))
	Eventually(running).WithContext(ctx).WithArguments(low).Should(BeEmpty())
	Expect(hub.Delete(ctx, high, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
	Eventually(running).WithContext(ctx).WithArguments(low).ShouldNot(BeEmpty())
	Expect(podOf(ctx, low)).NotTo(Equal(first), "it was stopped, and runs again")
	remove(ctx, low, high)
	logf("a Job was preempted, and ran again after the urgent one")
}

// images are the prepared ones that each cluster needs, its program's first.
var images = map[string][]string{
	"hub": {"hub"},
	"w1":  {"worker", "job", "jobset"},
	"w2":  {"worker", "job", "jobset"},
}

// loadImages also gives the program's image the tag to which it will be upgraded: what counts is that every pod is replaced.
func loadImages(ctx context.Context, c *kindCluster) error {
	for _, name := range images[c.name] {
		if err := c.load(filepath.Join(prepared, name+".tar")); err != nil {
			return err
		}
	}
	return c.tag(ctx, "switchyard.dev/"+images[c.name][0], nextTag)
}
