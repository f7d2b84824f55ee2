package integration

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/e2e/network"
)

// deleteWorkload deletes the hub's Workload of a job that stays, and returns its UID.
func deleteWorkload(ctx context.Context, job client.Object) types.UID {
	GinkgoHelper()
	wl, err := workloadOf(ctx, job)
	Expect(err).NotTo(HaveOccurred())
	Expect(wl).NotTo(BeNil())
	Expect(hub.Delete(ctx, wl)).To(Succeed())
	return wl.UID
}

// workloadUID is that of the hub's Workload of a job, "" while there is none.
func workloadUID(ctx context.Context, job client.Object) (types.UID, error) {
	wl, err := workloadOf(ctx, job)
	if err != nil || wl == nil {
		return "", err
	}
	return wl.UID, nil
}

var _ = Describe("The Workload of a job that runs", func() {
	It("is replaced when somebody deletes it, and the job runs again when its pods have ended", func(ctx SpecContext) {
		one := newTenants(ctx, terms{"multikueue", switchyard.RunOnce})[0]
		closeQueue(ctx, w1, one.team)
		before := deleteWorkload(ctx, one.job)
		Eventually(activePodsAt).WithContext(ctx).WithArguments(w2, one.job).Should(Equal(int32(1)))
		Expect(workloadUID(ctx, one.job)).NotTo(Or(BeEmpty(), Equal(before)))
		Expect(one.seen.listFaults()).To(BeEmpty())
		Expect(hub.Delete(ctx, one.job, client.PropagationPolicy("Background"))).To(Succeed())
		expectNothingLeft(ctx, one.team)
	}, SpecTimeout(3*time.Minute))

	It("is kept while a worker out of reach may run the job, which it says, until somebody declares that worker gone", func(ctx SpecContext) {
		one := newTenants(ctx, terms{"multikueue", switchyard.NeverLose})[0]
		breakLink(w1, (*network.Link).Partition)
		before := deleteWorkload(ctx, one.job)
		Eventually(checkMessage).WithContext(ctx).WithArguments(client.Object(one.job)).Should(MatchRegexp(
			`^Kept although it is being deleted, because its job may still run; worker cluster "w1" cannot be reached since \S+Z: ` +
				`the workload waits for its return, or until somebody declares it gone$`))
		Expect(workloadUID(ctx, one.job)).To(Equal(before))
		Expect(one.seen.listFaults()).To(BeEmpty())

		By("believing a person")
		setAnnotation(ctx, w1, switchyard.GoneAnnotation, "true")
		Eventually(activePodsAt).WithContext(ctx).WithArguments(w2, one.job).Should(Equal(int32(1)))
		Expect(workloadUID(ctx, one.job)).NotTo(Or(BeEmpty(), Equal(before)))

		By("cleaning up there when it is back after all")
		removeAnnotation(ctx, w1, switchyard.GoneAnnotation)
		restoreLink(ctx, w1)
		Eventually(jobAt).WithContext(ctx).WithArguments(w1, one.job).Should(BeFalse())
		Expect(hub.Delete(ctx, one.job, client.PropagationPolicy("Background"))).To(Succeed())
		expectNothingLeft(ctx, one.team)
	}, SpecTimeout(4*time.Minute))
})
