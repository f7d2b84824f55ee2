package integration

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// offers lists the workers on which something was ever created for the team, failed attempts left out.
func offers(t team) []string {
	GinkgoHelper()
	var names []string
	for _, w := range workers {
		for _, event := range auditEvents(w) {
			ref := event.ObjectRef
			if event.Verb == "create" && ref.Resource == "workloads" && ref.Namespace == t.name && !slices.Contains(names, w.Name) &&
				event.ResponseStatus != nil && event.ResponseStatus.Code < 300 {
				names = append(names, w.Name)
			}
		}
	}
	return names
}

// expectRunOn submits a job and expects it to complete there, after offers to exactly the given workers.
func expectRunOn(ctx context.Context, t team, name string, offered ...string) {
	GinkgoHelper()
	job := t.job("train", 1, "100ms")
	expectCompleteOn(ctx, name, job)
	Expect(offers(t)).To(Equal(offered))
	expectNothingLeft(ctx, t)
}

var _ = Describe("The incremental dispatcher", Ordered, ContinueOnFailure, func() {
	var metrics clusters.Port

	BeforeAll(func(ctx SpecContext) {
		var err error
		metrics, err = clusters.ReservePort()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(metrics.Release()).To(Succeed()) })
		all := runAlone(map[string]any{
			"dispatcherName":              "kueue.x-k8s.io/multikueue-dispatcher-incremental",
			"incrementalDispatcherConfig": map[string]any{"stepSize": 1},
		})
		all["metrics"] = map[string]any{"bindAddress": fmt.Sprintf("0.0.0.0:%d", metrics.Number)}
		otherHub{name: "hub-incremental", configuration: all}.takeOver(ctx)
		By("waiting until it knows both workers")
		for i, only := range [][]int{{8, 0}, {0, 8}} {
			job := newTeamOf(ctx, 8, only...).job("train", 1, "100ms")
			expectCompleteOn(ctx, workers[i].Name, job)
		}
	})

	It("offers a job to the first cluster of the config and to no other while that may take it", func(ctx SpecContext) {
		expectRunOn(ctx, newTeam(ctx, 8), "w1", "w1")
	})

	// A round lasts five minutes; its end is not waited for here.
	It("goes on to the next cluster at once when one refuses", func(ctx SpecContext) {
		expectRunOn(ctx, newTeamOf(ctx, 8, 0, 8), "w2", "w1", "w2")
	})

	It("offers a job that everybody has refused to a cluster that is put into the config", func(ctx SpecContext) {
		t := newTeamOn(ctx, "", []string{"w1"}, 0, 8)
		job := t.job("train", 1, "100ms")
		Expect(hub.Create(ctx, job)).To(Succeed())
		Eventually(copiesOf).WithContext(ctx).WithArguments(job).Should(Equal([]string{"w1"}))
		relist(ctx, t, "w1", "w2")
		expectComplete(ctx, job)
		Expect(offersOf(job)).To(Equal([]string{"w1", "w2"}))
		expectNothingLeft(ctx, t)
	})

	It("goes by the config's new order, but for rounds that have begun, and moves on from who is taken out of it", func(ctx SpecContext) {
		t := newTeamOn(ctx, "", []string{"w1", "w2"}, 8, 8)
		occupy(ctx, w1, t, 8)
		early, late := t.job("early", 1, "100ms"), t.job("late", 8, "100ms")
		Expect(hub.Create(ctx, early)).To(Succeed())
		Eventually(copiesOf).WithContext(ctx).WithArguments(early).Should(Equal([]string{"w1"}))
		Expect(hub.Create(ctx, late)).To(Succeed())
		Eventually(workloadCondition).WithContext(ctx).WithArguments(client.Object(late), kueue.WorkloadQuotaReserved).
			Should(HavePrefix("False WaitingForQuota"))

		By("reordering while one job waits on a worker and another one on the hub")
		relist(ctx, t, "w2", "w1", "nobody")
		Eventually(checkActive).WithContext(ctx).WithArguments(t.name).
			Should(Equal("True SomeActiveClusters Missing clusters: [nobody]"), "the hub knows the new list")
		changeQueue(ctx, hub, t, gpuQuota(9))
		expectComplete(ctx, late)
		Expect(offersOf(late)).To(Equal([]string{"w2"}))
		Expect(offersOf(early)).To(Equal([]string{"w1"}), "its round goes on")

		By("taking that worker out")
		relist(ctx, t, "w2")
		expectComplete(ctx, early)
		Expect(offersOf(early)).To(Equal([]string{"w1", "w2"}))
		expectNothingLeftBut(ctx, t, "local")
	})

	It("shows its metrics beyond this machine by TLS only, and to those only who may read them", func(ctx SpecContext) {
		url := fmt.Sprintf("https://127.0.0.1:%d/metrics", metrics.Number)
		status, _ := read(ctx, url, "")
		Expect(status).To(Equal(http.StatusUnauthorized))
		status, _ = read(ctx, url, token(ctx, "nobody", nil))
		Expect(status).To(Equal(http.StatusForbidden))
		reader := rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics"}}
		status, text := read(ctx, url, token(ctx, "prometheus", []rbacv1.PolicyRule{reader}))
		Expect(status).To(Equal(http.StatusOK))
		Expect(text).To(ContainSubstring(`multikueue_workloads_admitted_total{cluster="w2"`))
		Expect(text).To(ContainSubstring(`replica_role="standalone"`))
	})
})

var _ = Describe("An external dispatcher", func() {
	It("is waited for, and its choice is what a job is offered to, whoever it is", func(ctx SpecContext) {
		otherHub{name: "hub-external", configuration: runAlone(map[string]any{"dispatcherName": "example.com/by-hand"})}.takeOver(ctx)
		t := newTeam(ctx, 8)
		job := t.job("train", 1, "100ms")
		Expect(hub.Create(ctx, job)).To(Succeed())
		Eventually(workloadCondition).WithContext(ctx).WithArguments(client.Object(job), kueue.WorkloadQuotaReserved).
			Should(HavePrefix("True"))
		Consistently(offers).WithArguments(t).Should(BeEmpty())

		wl, err := workloadOf(ctx, job)
		Expect(err).NotTo(HaveOccurred())
		before := wl.DeepCopy()
		wl.Status.NominatedClusterNames = []string{"w2"}
		Expect(hub.Status().Patch(ctx, wl, client.MergeFrom(before), client.FieldOwner("by-hand"))).To(Succeed())
		expectComplete(ctx, job)
		Expect(clusterOf(ctx, job)).To(Equal("w2"))
		expectNothingLeft(ctx, t)
		Expect(offers(t)).To(Equal([]string{"w2"}))
	})
})

var _ = Describe("The metrics", func() {
	It("tell of a dispatch, on the hub and on the worker", func(ctx SpecContext) {
		t, won := newTeam(ctx, 8), w1
		closeQueue(ctx, w1, t)
		closeQueue(ctx, w2, t)
		job := t.unending("train", 1)
		Expect(hub.Create(ctx, job)).To(Succeed())
		Eventually(copiesOf).WithContext(ctx).WithArguments(job).Should(Equal([]string{"w1", "w2"}), "both are asked before one admits")
		openQueue(ctx, won, t)
		awaitOn(ctx, won, job)
		Eventually(metricsOf).WithContext(ctx).WithArguments(won).Should(ContainSubstring(
			`kueue_admitted_active_workloads{cluster_queue="%s",replica_role="leader"} 1`, t.name))
		endJob(ctx, won, job)
		expectComplete(ctx, job)
		expectNothingLeft(ctx, t)
		for _, line := range []string{
			`multikueue_workloads_dispatched_total{cluster="w1",cluster_queue="%s",replica_role="leader"} 1`,
			`multikueue_workloads_dispatched_total{cluster="w2",cluster_queue="%s",replica_role="leader"} 1`,
			`multikueue_workloads_admitted_total{cluster="` + won.Name + `",cluster_queue="%s",replica_role="leader"} 1`,
			`kueue_admitted_workloads_total{cluster_queue="%s",priority_class="",replica_role="leader"} 1`,
			`kueue_finished_workloads_total{cluster_queue="%s",priority_class="",replica_role="leader"} 1`,
			`kueue_admitted_active_workloads{cluster_queue="%s",replica_role="leader"} 0`,
		} {
			Eventually(metricsOf).WithContext(ctx).WithArguments(hub).Should(ContainSubstring(line, t.name))
		}
		for _, line := range []string{
			`kueue_admitted_workloads_total{cluster_queue="%s",priority_class="",replica_role="leader"} 1`,
			`kueue_admitted_active_workloads{cluster_queue="%s",replica_role="leader"} 0`,
			`kueue_local_queue_admitted_workloads_total{name="` + queueName + `",namespace="%s",priority_class="",replica_role="leader"} 1`,
		} {
			Eventually(metricsOf).WithContext(ctx).WithArguments(won).Should(ContainSubstring(line, t.name))
		}
	})
})

// metricsOf is all that the program beside a site tells.
func metricsOf(ctx context.Context, s *installation.Site) (string, error) {
	return get(ctx, s.Program.Metrics+"/metrics", "", func(status int) error {
		if status != http.StatusOK {
			return fmt.Errorf("metrics of %s: status %d", s.Name, status)
		}
		return nil
	})
}

// read gets a URL by TLS with a token, "" for none.
func read(ctx context.Context, url, token string) (status int, text string) {
	GinkgoHelper()
	text, err := get(ctx, url, token, func(s int) error { status = s; return nil })
	Expect(err).NotTo(HaveOccurred())
	return status, text
}

func get(ctx context.Context, url, token string, check func(status int) error) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // the program made the certificate itself
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	return string(text), check(response.StatusCode)
}

// token is one of a service account on the hub that may do just that.
func token(ctx context.Context, name string, rules []rbacv1.PolicyRule) string {
	GinkgoHelper()
	kubeconfig, err := hub.ServiceAccountKubeconfig(ctx, clusters.ServiceAccount{
		Namespace: installation.Namespace, Name: name, Rules: rules,
	})
	Expect(err).NotTo(HaveOccurred())
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	return config.BearerToken
}
