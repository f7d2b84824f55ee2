package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("A job that waits", func() {
	// What is said of a cluster out of reach, or cordoned, is in policies_test.go and cordon_test.go.
	It("says, cluster by cluster, why it does not run there, and does not say it again and again", func(ctx SpecContext) {
		t := newTeamOf(ctx, 8, 4, 8)
		local := occupy(ctx, w2, t, 8)
		job := t.job("train", 8, "1s")
		Expect(hub.Create(ctx, job)).To(Succeed())
		Eventually(checkMessage).WithContext(ctx).WithArguments(job).Should(SatisfyAll(
			HavePrefix("waiting for a cluster to admit the workload (clusters: 1 waiting, 1 refused); "),
			MatchRegexp(`"w1" refused since \S+Z: cannot admit it: .*`+t.name), MatchRegexp(`"w2" waiting since \S+Z: waits for quota: .*`+t.name)))

		wl, err := workloadOf(ctx, job)
		Expect(err).NotTo(HaveOccurred())
		Consistently(func() (string, error) {
			now, err := workloadOf(ctx, job)
			return now.ResourceVersion, err
		}).WithContext(ctx).Should(Equal(wl.ResourceVersion))

		By("running it when there is room, without a word of this")
		Expect(w2.Delete(ctx, local, client.PropagationPolicy("Foreground"))).To(Succeed())
		expectComplete(ctx, job)
		Expect(checkMessage(ctx, job)).To(Equal(`The workload was admitted on "w2"`))
		expectNothingLeft(ctx, t)
	})
})
