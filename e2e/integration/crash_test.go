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
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
	"switchyard.dev/e2e/network"
)

// programKiller kills the hub behind each kind of write about a job, once behind the first of it in a dispatch, once behind
// the second and so on, or onlyFirst: it took effect, the hub never learns, and nothing that it sends afterwards gets through.
type programKiller struct {
	namespace  string
	onlyFirst  bool
	checkpoint *network.Checkpoint

	mu  sync.Mutex
	job string
	// counted is how often each kind of write was seen in this dispatch; behind are the kinds, with their count, that a hub
	// was killed behind, in that order.
	counted map[string]int
	behind  []string
	// killed has room for one: nil, or why the hub could not be killed.
	killed chan error
}

// pickTarget chooses the next job, "" none. The channel gets something when the hub is dead.
func (e *programKiller) pickTarget(job string) <-chan error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.job, e.counted, e.killed = job, map[string]int{}, make(chan error, 1)
	return e.killed
}

// counts leaves out what is no state: leases and events. Events also come at times of their own.
func (e *programKiller) counts(_, path string) bool {
	return strings.Contains(path, "/namespaces/"+e.namespace+"/") && !strings.HasSuffix(path, "/events")
}

// writesPassed is called by the checkpoint, one write at a time.
func (e *programKiller) writesPassed(w network.Write) bool {
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
	if slices.Contains(e.behind, kind) || e.onlyFirst && e.counted[w.String()] > 1 {
		return true
	}
	e.job, e.behind = "", append(e.behind, kind)
	e.killed <- hub.Program.Kill()
	return false
}

// intercept puts a hub program in the place of the suite's, whose writes all go by the program killer.
func (e *programKiller) intercept(ctx context.Context, name string) {
	GinkgoHelper()
	e.checkpoint = &network.Checkpoint{Counts: e.counts, Passed: e.writesPassed}
	for _, w := range workers {
		moveTo(ctx, w, useProxy(e.checkpoint, w, rest.AnonymousClientConfig(w.Config)).Addr())
	}
	otherHub{name: name, server: useProxy(e.checkpoint, hub, restUser()).Addr(), configuration: runAlone(nil)}.takeOver(ctx)
}

// killOnWrite reports whether the hub was killed before a step of a job was done. Then it runs again.
func (e *programKiller) killOnWrite(ctx context.Context, job string, somebody func(), done func() (bool, error)) bool {
	GinkgoHelper()
	killed := e.pickTarget(job)
	somebody()
	Eventually(func() (bool, error) {
		select {
		case err := <-killed:
			return true, err
		default:
		}
		return done()
	}).WithContext(ctx).WithTimeout(2 * time.Minute).WithPolling(20 * time.Millisecond).Should(BeTrue())
	e.pickTarget("") // nobody, from here on
	if hub.Program.Running() {
		return false
	}
	e.checkpoint.Open()
	Expect(hub.Program.Start(ctx)).To(Succeed())
	return true
}

// useProxy serves a proxy before a site's API server that puts the hub's writes through the checkpoint. The hub's own
// certificate ends at the proxy, which uses the credentials; tokens are handed on.
func useProxy(checkpoint *network.Checkpoint, s *installation.Site, credentials *rest.Config) *network.Proxy {
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
		kubeconfig, err := clusters.ThroughProxy(secret.Data["kubeconfig"], address)
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

// isFinished tells whether a job has completed on the hub and nothing of it is left on the workers.
func isFinished(ctx context.Context, t team, job *batchv1.Job) (bool, error) {
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

var _ = Describe("A hub that is killed", begunEarly, func() {
	// A hub that is killed forgets all: nothing is there before a write that was not there behind the last one. So these are
	// the states that a crash can leave. The jobs that were hit go on while the next one is submitted; some are hit again.
	It("behind any one write of a dispatch: each job runs once, ends well, and leaves nothing", func(ctx SpecContext) {
		executioner := &programKiller{}
		executioner.intercept(ctx, "hub-counted")
		t := newTeam(ctx, 8)
		executioner.namespace = t.name

		var jobs []*batchv1.Job
		// The first untouched dispatch may be one by a hub that has just started and did not know every worker yet.
		for untouched := 0; untouched < 2; {
			job := t.job(fmt.Sprintf("train-%02d", len(jobs)), 1, "100ms")
			jobs = append(jobs, job)
			submits := func() { Expect(hub.Create(ctx, job)).To(Succeed()) }
			if executioner.killOnWrite(ctx, job.Name, submits, func() (bool, error) { return isFinished(ctx, t, job) }) {
				untouched = 0
			} else {
				untouched++
			}
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

	// The job goes to and fro, because its cluster is taken out of the config each time, until no kind of write is left.
	It("behind any kind of write of a move: the job has ended there before it runs elsewhere", func(ctx SpecContext) {
		executioner := &programKiller{onlyFirst: true}
		executioner.intercept(ctx, "hub-moving")
		t := newTeamOn(ctx, switchyard.NeverLose, []string{"w1"}, 8, 8)
		executioner.namespace = t.name
		seen := watchPods(t)
		job := t.unending("train", 1)
		// A hub that is killed does not see the pods end, and waits for as long as they may take.
		job.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](1)
		Expect(hub.Create(ctx, job)).To(Succeed())
		awaitOn(ctx, w1, job)

		moves := []string{"w1"}
		for hit := true; hit; {
			to := workers[len(moves)%2]
			moves = append(moves, to.Name)
			hit = executioner.killOnWrite(ctx, job.Name, func() { relist(ctx, t, to.Name) }, func() (bool, error) { return seenOn(ctx, to, job) })
			awaitOn(ctx, to, job)
		}
		AddReportEntry("killed behind", strings.Join(executioner.behind, "\n"), ReportEntryVisibilityFailureOrVerbose)
		endJob(ctx, workers[(len(moves)-1)%2], job)
		expectComplete(ctx, job)
		Expect(countRuns(job)).To(Equal(moves))
		Expect(seen.listFaults()).To(BeEmpty())
		expectNothingLeft(ctx, t)
	}, SpecTimeout(10*time.Minute))
})

// seenOn tells whether a job of one pod is bound to that worker, runs there, and is seen to run on the hub.
func seenOn(ctx context.Context, w *installation.Site, job *batchv1.Job) (bool, error) {
	at, err := clusterOf(ctx, job)
	if err != nil || at != w.Name {
		return false, err
	}
	there, err := activePodsAt(ctx, w, job)
	if err != nil || there != 1 {
		return false, err
	}
	here, err := activePodsAt(ctx, hub, job)
	return here == 1, err
}
