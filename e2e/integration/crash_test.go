package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
	"switchyard.dev/e2e/network"
)

// executioner kills the hub behind each kind of write about a job, once behind the first of it in a dispatch, once behind
// the second and so on: it took effect, the hub never learns, and nothing that it sends afterwards gets through.
type executioner struct {
	namespace string

	mu  sync.Mutex
	job string
	// counted is how often each kind of write was seen in this dispatch; behind are the kinds, with their count, that a hub
	// was killed behind, in that order.
	counted map[string]int
	behind  []string
	// killed has room for one: nil, or why the hub could not be killed.
	killed chan error
}

// target chooses the next job, "" none. The channel gets something when the hub is dead.
func (e *executioner) target(job string) <-chan error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.job, e.counted, e.killed = job, map[string]int{}, make(chan error, 1)
	return e.killed
}

// counts leaves out what is no state: leases and events. Events also come at times of their own.
func (e *executioner) counts(_, path string) bool {
	return strings.Contains(path, "/namespaces/"+e.namespace+"/") && !strings.HasSuffix(path, "/events")
}

// passed is called by the checkpoint, one write at a time.
func (e *executioner) passed(w network.Write) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.job == "" || !w.Mentions(e.job) {
		return true
	}
	if w.Server != hub.Name {
		w.Server = "a worker" // which one is chance
	}
	e.counted[w.String()]++
	kind := fmt.Sprintf("%s, no. %d", w, e.counted[w.String()])
	if slices.Contains(e.behind, kind) {
		return true
	}
	e.job, e.behind = "", append(e.behind, kind)
	e.killed <- hub.Program.Kill()
	return false
}

// through serves a proxy before a site's API server that puts the hub's writes through the checkpoint. The hub's own
// certificate ends at the proxy, which uses the credentials; tokens are handed on.
func through(checkpoint *network.Checkpoint, s *installation.Site, credentials *rest.Config) *network.Proxy {
	GinkgoHelper()
	transport, err := rest.TransportFor(credentials)
	Expect(err).NotTo(HaveOccurred())
	certificate, err := s.ServingCertificate()
	Expect(err).NotTo(HaveOccurred())
	proxy, err := network.Serve(certificate, s.Config.Host, checkpoint.RoundTripper(s.Name, transport))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(proxy.Close()).To(Succeed()) })
	return proxy
}

// moveTo makes the hub reach a worker at another address, until the end of the spec.
func moveTo(ctx context.Context, w *installation.Site, address string) {
	GinkgoHelper()
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: installation.Namespace, Name: w.Name + "-kubeconfig"}
	write := func(ctx context.Context, address string) {
		GinkgoHelper()
		Expect(hub.Get(ctx, key, secret)).To(Succeed())
		kubeconfig, err := clusters.Through(secret.Data["kubeconfig"], address)
		Expect(err).NotTo(HaveOccurred())
		secret.Data["kubeconfig"] = kubeconfig
		Expect(hub.Update(ctx, secret)).To(Succeed())
	}
	write(ctx, address)
	DeferCleanup(func(ctx SpecContext) { write(ctx, w.Link.Addr()) })
}

// restUser is the connection of the hub program's user.
func restUser() *rest.Config {
	GinkgoHelper()
	kubeconfig, err := hub.UserKubeconfig("switchyard-hub")
	Expect(err).NotTo(HaveOccurred())
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	return config
}

// done tells whether a job has completed on the hub and nothing of it is left on the workers.
func done(ctx context.Context, t team, job *batchv1.Job) (bool, error) {
	ended, err := complete(ctx, job)
	if err != nil || !ended {
		return false, err
	}
	finished, err := workloadCondition(ctx, job, kueue.WorkloadFinished)
	if err != nil || !strings.HasPrefix(finished, "True") {
		return false, err
	}
	left, err := leftovers(ctx, t)
	for _, name := range left {
		if strings.Contains(name, job.Name) {
			return false, err
		}
	}
	return err == nil, err
}

var _ = Describe("A hub that is killed", Serial, func() {
	// A hub that is killed forgets all: nothing is there before a write that was not there behind the last one. So these are
	// the states that a crash can leave. The jobs that were hit go on while the next one is submitted; some are hit again.
	It("behind any one write of a dispatch: each job runs once, ends well, and leaves nothing", func(ctx SpecContext) {
		executioner := &executioner{}
		checkpoint := &network.Checkpoint{Counts: executioner.counts, Passed: executioner.passed}
		for _, w := range workers {
			moveTo(ctx, w, through(checkpoint, w, rest.AnonymousClientConfig(w.Config)).Addr())
		}
		other := otherHub{
			name: "hub-counted", server: through(checkpoint, hub, restUser()).Addr(), configuration: alone(nil),
		}.takePlace(ctx)
		t := newTeam(ctx, 8)
		executioner.namespace = t.name

		var jobs []*batchv1.Job
		// The first untouched dispatch may be one by a hub that has just started and did not know every worker yet.
		for untouched := 0; untouched < 2; {
			job := t.job(fmt.Sprintf("train-%02d", len(jobs)), 1, "100ms")
			killed := executioner.target(job.Name)
			Expect(hub.Create(ctx, job)).To(Succeed())
			jobs = append(jobs, job)
			Eventually(func() (bool, error) {
				select {
				case err := <-killed:
					return true, err
				default:
				}
				return done(ctx, t, job)
			}).WithContext(ctx).WithPolling(20 * time.Millisecond).Should(BeTrue())
			executioner.target("") // nobody, from here on
			if other.Running() {
				untouched++
				continue
			}
			untouched = 0
			checkpoint.Open()
			Expect(other.Start(ctx)).To(Succeed())
		}
		AddReportEntry("killed behind", strings.Join(executioner.behind, "\n"), ReportEntryVisibilityFailureOrVerbose)
		Expect(executioner.behind).To(ContainElements(
			"POST workloads at a worker (201), no. 2", "POST jobs at a worker (201), no. 1", "DELETE jobs/... at a worker (200), no. 1",
		))
		for _, job := range jobs {
			expectComplete(ctx, job)
			Expect(creations(t, "jobs", job.Name)).To(Equal(1), job.Name)
		}
		expectNothingLeft(ctx, t)
	}, SpecTimeout(10*time.Minute))
})
