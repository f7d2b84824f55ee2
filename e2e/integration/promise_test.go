package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/e2e/installation"
)

var _ = Describe("A worker whose controllers are down", Label("slow"), func() {
	It("does not count as fenced while what is suspended there runs on", func(ctx SpecContext) {
		newTenants(ctx, terms{"multikueue", switchyard.RunOnce})
		Eventually(fenced).WithContext(ctx).WithArguments(w1).Should(HavePrefix("True Fenced"))
		t := newTeamAt(ctx, w1, 8)
		job := t.job("local", 1, "1h")
		job.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](1)
		Expect(w1.Create(ctx, job)).To(Succeed())
		expectRunning(ctx, w1, job)
		Eventually(activePodsAt).WithContext(ctx).WithArguments(w1, job).Should(Equal(int32(1)))

		By("stopping kube-controller-manager there, and suspending a job")
		Expect(w1.PauseControllers()).To(Succeed())
		DeferCleanup(func() { Expect(w1.ResumeControllers()).To(Succeed()) })
		wl, err := workloadAt(ctx, w1, job)
		Expect(err).NotTo(HaveOccurred())
		Expect(w1.Patch(ctx, wl, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"active":false}}`)))).To(Succeed())
		Eventually(func() (*bool, error) {
			err := w1.Get(ctx, client.ObjectKeyFromObject(job), job)
			return job.Spec.Suspend, err
		}).WithContext(ctx).Should(HaveValue(BeTrue()))
		Expect(t.pods(ctx, w1)).To(HaveLen(1))

		Eventually(fenced).WithContext(ctx).WithTimeout(2 * time.Minute).WithArguments(w1).
			Should(MatchRegexp(`^False NoFence .*Job.batch ` + t.name + `/local is suspended and keeps active pods`))
		Expect(t.pods(ctx, w1)).To(HaveLen(1))
		Expect(eventReasons(ctx, w1, team{name: installation.Namespace})).To(ContainElement("CannotStop"))

		By("letting it go on")
		Expect(w1.ResumeControllers()).To(Succeed())
		Eventually(t.pods).WithContext(ctx).WithArguments(w1).Should(BeEmpty())
		Eventually(fenced).WithContext(ctx).WithTimeout(time.Minute).WithArguments(w1).Should(HavePrefix("True Fenced"))
	}, SpecTimeout(6*time.Minute))
})
