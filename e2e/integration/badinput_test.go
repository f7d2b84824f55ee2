package integration

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/installation"
)

func localQueueActive(ctx context.Context, s *installation.Site, namespace, name string) (string, error) {
	queue := &kueue.LocalQueue{}
	err := s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, queue)
	return condition(queue.Status.Conditions, kueue.LocalQueueActive), err
}

// expectWaiting submits a job and expects its Workload to wait for the reason, and to be on no worker.
func expectWaiting(ctx context.Context, job client.Object, reason string) {
	GinkgoHelper()
	Expect(hub.Create(ctx, job)).To(Succeed())
	Eventually(workloadCondition).WithContext(ctx).WithArguments(job, kueue.WorkloadQuotaReserved).
		Should(HavePrefix("False " + reason))
	Expect(leftovers(ctx, team{name: job.GetNamespace()})).To(BeEmpty())
	Expect(hub.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
}

var _ = Describe("Bad input at the hub", func() {
	It("names the flavor that does not exist, and starts the work when it is created", func(ctx SpecContext) {
		t := newTeam(ctx, 4)
		flavor := &kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "late-" + t.name}}
		changeQueue(ctx, hub, t, func(spec *kueue.ClusterQueueSpec) {
			spec.ResourceGroups[0].Flavors[0].Name = kueue.ResourceFlavorReference(flavor.Name)
		})
		Eventually(queueCondition).WithContext(ctx).WithArguments(hub, t).
			Should(And(HavePrefix("False FlavorNotFound"), ContainSubstring(flavor.Name)))

		job := t.job("train", 1, "1s")
		Expect(hub.Create(ctx, job)).To(Succeed())
		Eventually(workloadCondition).WithContext(ctx).WithArguments(client.Object(job), kueue.WorkloadQuotaReserved).
			Should(HavePrefix("False Suspended"))
		Expect(hub.Create(ctx, flavor)).To(Succeed())
		expectComplete(ctx, job)
		expectNothingLeft(ctx, t)
	})

	It("names the ClusterQueue that does not exist", func(ctx SpecContext) {
		t := newTeam(ctx, 4)
		queue := t.localQueue("nowhere")
		queue.Spec.ClusterQueue = "no-such-queue"
		Expect(hub.Create(ctx, queue)).To(Succeed())
		Eventually(localQueueActive).WithContext(ctx).WithArguments(hub, t.name, "nowhere").
			Should(HavePrefix("False ClusterQueueDoesNotExist"))
		job := t.job("train", 1, "1s")
		job.Labels[kueue.QueueNameLabel] = "nowhere"
		expectWaiting(ctx, job, "Misconfigured")
	})

	It("says that the namespace is not selected", func(ctx SpecContext) {
		t := newTeam(ctx, 4)
		changeQueue(ctx, hub, t, func(spec *kueue.ClusterQueueSpec) {
			spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "another"}}
		})
		expectWaiting(ctx, t.job("train", 1, "1s"), "Misconfigured")
	})

	It("says that the request is larger than any quota", func(ctx SpecContext) {
		t := newTeam(ctx, 4)
		expectWaiting(ctx, t.job("train", 5, "1s"), "ExceedsMaxQuota")
	})

	DescribeTable("says what is wrong with a kubeconfig",
		func(ctx SpecContext, spoil func(string) string, expected string) {
			kubeconfig, err := installation.WorkerAccess(ctx, w1.Cluster)
			Expect(err).NotTo(HaveOccurred())
			name := "bad-" + strings.ToLower(strings.NewReplacer(" ", "-").Replace(CurrentSpecReport().LeafNodeText))
			for _, object := range installation.Registration(name, []byte(spoil(string(kubeconfig)))) {
				Expect(hub.Create(ctx, object)).To(Succeed())
				DeferCleanup(func(ctx context.Context) { Expect(hub.Delete(ctx, object)).To(Succeed()) })
			}
			Eventually(connected).WithContext(ctx).WithArguments(name).Should(HavePrefix("False " + expected))
		},
		Entry("not yaml", func(string) string { return "{" }, "InsecureKubeConfig load client config failed"),
		Entry("insecure", func(k string) string {
			return strings.Replace(k, "certificate-authority-data:", "insecure-skip-tls-verify: true\n    x-ca:", 1)
		}, "InsecureKubeConfig load client config failed"),
		Entry("plain http", func(k string) string { return strings.Replace(k, "https://", "http://", 1) },
			"InsecureKubeConfig load client config failed"),
		Entry("token file", func(k string) string {
			return strings.Replace(k, "token:", "tokenFile: /var/run/token\n    x-token:", 1)
		},
			"InsecureKubeConfig load client config failed: tokenFile is not allowed"),
		Entry("nobody there", func(k string) string { return strings.Replace(k, "https://127.0.0.1:", "https://127.0.0.1:1", 1) },
			"ClientConnectionFailed"),
	)

	It("says that the Secret of a cluster does not exist, and connects when it is created", func(ctx SpecContext) {
		kubeconfig, err := installation.WorkerAccess(ctx, w1.Cluster)
		Expect(err).NotTo(HaveOccurred())
		objects := installation.Registration("late", kubeconfig)
		secret, cluster := objects[0], objects[1]
		Expect(hub.Create(ctx, cluster)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(hub.Delete(ctx, cluster)).To(Succeed()) })
		Eventually(connected).WithContext(ctx).WithArguments("late").Should(HavePrefix("False BadKubeConfig"))
		Expect(hub.Create(ctx, secret)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(hub.Delete(ctx, secret)).To(Succeed()) })
		Eventually(connected).WithContext(ctx).WithArguments("late").Should(Equal("True Active Connected"))
	})
})

var _ = Describe("Bad input at a worker", func() {
	It("runs the Job on the other worker when a LocalQueue is missing", func(ctx SpecContext) {
		t := newTeam(ctx, 4)
		Expect(w1.Delete(ctx, t.localQueue(queueName))).To(Succeed())
		job := t.job("train", 1, "1s")
		expectCompleteOn(ctx, "w2", job)
		expectNothingLeft(ctx, t)
	})

	It("runs the Job on the other worker when the namespace is missing", func(ctx SpecContext) {
		t := newTeam(ctx, 4)
		Expect(w1.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.name}})).To(Succeed())
		Eventually(func() error {
			return w1.Get(ctx, client.ObjectKey{Name: t.name}, &corev1.Namespace{})
		}).WithContext(ctx).Should(MatchError(ContainSubstring("not found")))
		job := t.job("train", 1, "1s")
		expectCompleteOn(ctx, "w2", job)
		expectNothingLeft(ctx, t)
	})

	It("says, cluster by cluster, why a Job waits that no worker has a LocalQueue for", func(ctx SpecContext) {
		t := newTeam(ctx, 4)
		for _, w := range workers {
			Expect(w.Delete(ctx, t.localQueue(queueName))).To(Succeed())
		}
		job := t.job("train", 1, "1s")
		Expect(hub.Create(ctx, job)).To(Succeed())
		Eventually(func() (string, error) {
			wl, err := workloadOf(ctx, job)
			if err != nil || wl == nil || len(wl.Status.AdmissionChecks) == 0 {
				return "", err
			}
			return wl.Status.AdmissionChecks[0].Message, nil
		}).WithContext(ctx).Should(And(ContainSubstring("w1"), ContainSubstring("w2")))
		By("running it as soon as one has")
		Expect(w2.Create(ctx, t.localQueue(queueName))).To(Succeed())
		expectComplete(ctx, job)
		expectNothingLeft(ctx, t)
	})

	It("never touches a stranger's object of the same name, and runs the Job on the other worker", func(ctx SpecContext) {
		t := newTeam(ctx, 4)
		stranger := t.job("train", 1, "1h")
		delete(stranger.Labels, kueue.QueueNameLabel)
		Expect(w1.Create(ctx, stranger)).To(Succeed())
		job := t.job("train", 1, "1s")
		expectCompleteOn(ctx, "w2", job)
		after := stranger.DeepCopy()
		Expect(w1.Get(ctx, client.ObjectKeyFromObject(stranger), after)).To(Succeed())
		Expect(after.UID).To(Equal(stranger.UID))
		Expect(after.DeletionTimestamp).To(BeNil())
		Expect(after.Labels).To(Equal(stranger.Labels))
		Expect(w1.Delete(ctx, stranger, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		expectNothingLeft(ctx, t)
	})
})
