package integration

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/guide"
	"switchyard.dev/e2e/installation"
)

// Every guide goes on where those before it ended, as it says itself.
var _ = Describe("The guides, one after the other, on a hub that knows no worker yet", Ordered, begunEarly, func() {
	var r reader

	BeforeAll(func(ctx SpecContext) { r = newReader(ctx) }, NodeTimeout(5*time.Minute))

	for _, g := range []struct{ teaches, file string }{
		{"register workers, with switchctl and by hand", "cmd/switchctl/register.md"},
		{"set up the queues of two teams from one file", "config/samples/README.md"},
		{"submit jobs and watch them", "cmd/switchctl/submit.md"},
		{"find out why a job is pending, and a cluster not connected", "cmd/switchctl/trouble.md"},
		{"rotate credentials, drain a cluster and take it away", "cmd/switchctl/maintain.md"},
		{"register a worker by its ClusterProfile", profileGuide},
	} {
		It(g.teaches, func(ctx SpecContext) { r.follow(ctx, g.file) }, SpecTimeout(10*time.Minute))
	}

	It("are followed without a denied call, and of each right that they leave unused it is known where it is used", func() {
		r.expectRights()
		r.expectNoComplaints()
	})
})

// profileGuide has values for the hub's chart, which must be known before the hub starts.
const profileGuide = "admissioncheck/multikueue/clusterprofiles.md"

// blockTimeout is for one block of a guide; the commands in it have timeouts of their own.
const blockTimeout = 2 * time.Minute

// reader follows guides, on clusters of their own.
type reader struct {
	root  string
	shell guide.Shell
	// clusters are the hub and its workers, programs those beside them.
	clusters []*clusters.Cluster
	programs []*installation.Program
	// credentials is what is mounted into the hub's pod, where there are pods.
	credentials string
}

// newReader starts a hub and two workers, as the samples describe them, that know nothing of each other.
func newReader(ctx context.Context) reader {
	GinkgoHelper()
	root, err := clusters.SourceRoot()
	Expect(err).NotTo(HaveOccurred())
	worker := func(name string, nodes clusters.NodePool) clusters.Options {
		return clusters.Options{Name: name, Operators: []clusters.Operator{clusters.JobSet}, Nodes: []clusters.NodePool{nodes}, CountReadsOf: installation.Users()}
	}
	started, err := clusters.StartAll(ctx,
		clusters.Options{Name: "hub", Controllers: true, OperatorCRDs: []clusters.Operator{clusters.JobSet}, CountReadsOf: installation.Users()},
		worker("w1", clusters.NodePool{Name: "h100", Count: 2, GPUClass: "H100", GPUs: 8}),
		worker("w2", clusters.NodePool{Name: "a100", Count: 2, GPUClass: "A100", GPUs: 8}))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(clusters.StopAll(started...)).To(Succeed()) })
	r := reader{root: root, clusters: started, credentials: GinkgoT().TempDir()}
	contexts := map[string]*clusters.Cluster{}
	for i, c := range started {
		contexts[c.Name] = c
		o := installation.Options{Cluster: c, Binary: filepath.Join(root, "bin", "worker")}
		if i == 0 {
			o.Binary, o.Configuration = filepath.Join(root, "bin", "hub"), r.configurationOfHub()
		}
		program, err := installation.Start(ctx, o)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(program.Stop()).To(Succeed()) })
		r.programs = append(r.programs, program)
	}
	r.shell, err = guide.CommandEnv{
		Contexts: contexts, Current: "hub", Tree: root, Shows: []string{"config", "charts", "go.mod", "go.sum"},
		Programs: map[string]string{"kubectl": started[0].Kubectl(), "switchctl": filepath.Join(root, "bin", "switchctl")},
	}.Setup(GinkgoT().TempDir())
	Expect(err).NotTo(HaveOccurred())
	modules, err := exec.CommandContext(ctx, "go", "env", "GOMODCACHE").Output()
	Expect(err).NotTo(HaveOccurred())
	r.shell.Env = append(r.shell.Env, "GOMODCACHE="+strings.TrimSpace(string(modules))) // not under the reader's own home
	return r
}

// configurationOfHub is what the values of the guide to ClusterProfiles say, with paths of this machine.
func (r reader) configurationOfHub() map[string]any {
	GinkgoHelper()
	text, err := guide.YAML(filepath.Join(r.root, profileGuide))
	Expect(err).NotTo(HaveOccurred())
	var values struct {
		Config map[string]any `json:"config"`
	}
	text = strings.NewReplacer("/plugins/bin/cat", "cat", "/credentials/", r.credentials+"/").Replace(text)
	Expect(yaml.Unmarshal([]byte(text), &values)).To(Succeed())
	Expect(values.Config).To(HaveKey("multiKueue"))
	return values.Config
}

// follow runs the blocks of a guide.
func (r reader) follow(ctx context.Context, file string) {
	GinkgoHelper()
	blocks, err := guide.Read(filepath.Join(r.root, file))
	Expect(err).NotTo(HaveOccurred())
	for _, b := range blocks {
		r.run(ctx, file, b)
		r.mount(ctx)
	}
}

func (r reader) run(ctx context.Context, file string, b guide.Block) {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, blockTimeout)
	defer cancel()
	began := time.Now()
	printed, err := r.shell.Run(ctx, b)
	GinkgoWriter.Printf("%s:%d (%s)\n%s\n--- printed:\n%s\n", file, b.Line, time.Since(began).Round(time.Millisecond), b.Commands, printed)
	if err != nil {
		for _, program := range r.programs {
			GinkgoWriter.Println(program.LogTail())
		}
	}
	Expect(err).NotTo(HaveOccurred(), "%s:%d\n%s\nprinted\n%s\nand the guide shows\n%s", file, b.Line, b.Commands, printed, b.Shows)
}

// mount plays the kubelet of the hub's pod, which mounts the Secret with the credential of w1 if there is one.
func (r reader) mount(ctx context.Context) {
	GinkgoHelper()
	c, err := installation.Client(r.clusters[0])
	Expect(err).NotTo(HaveOccurred())
	secret := &corev1.Secret{}
	err = c.Get(ctx, client.ObjectKey{Namespace: installation.Namespace, Name: "w1-credential"}, secret)
	Expect(client.IgnoreNotFound(err)).To(Succeed())
	for name, data := range secret.Data {
		Expect(os.WriteFile(filepath.Join(r.credentials, name), data, 0o600)).To(Succeed())
	}
}
