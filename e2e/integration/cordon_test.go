package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

var _ = Describe("A worker that somebody looks after", func() {
	It("is left alone while it is cordoned: offers go at once and come back afterwards, and what runs there stays", func(ctx SpecContext) {
		t := newTeam(ctx, 8)
		stays, waits := t.job("stays", 1, "1h"), t.job("waits", 1, "100ms")
		startOn(ctx, w1, t, stays)
		pods, err := t.pods(ctx, w1)
		Expect(err).NotTo(HaveOccurred())
		for _, w := range workers {
			closeQueue(ctx, w, t)
		}
		Expect(hub.Create(ctx, waits)).To(Succeed())
		Eventually(copiesOf).WithContext(ctx).WithArguments(waits).Should(Equal([]string{"w1", "w2"}))

		setAnnotation(ctx, w1, switchyard.CordonedAnnotation, "true")
		Eventually(copiesOf).WithContext(ctx).WithArguments(waits).Should(Equal([]string{"w2"}))
		Eventually(checkMessage).WithContext(ctx).WithArguments(waits).Should(ContainSubstring(`"w1" not eligible: is cordoned`))
		Expect(clusterOf(ctx, stays)).To(Equal("w1"))

		removeAnnotation(ctx, w1, switchyard.CordonedAnnotation)
		Eventually(copiesOf).WithContext(ctx).WithArguments(waits).Should(Equal([]string{"w1", "w2"}))
		openQueue(ctx, w1, t)
		expectComplete(ctx, waits)
		Expect(clusterOf(ctx, waits)).To(Equal("w1"))
		Expect(t.pods(ctx, w1)).To(ContainElements(pods))
		Expect(creations(t, "jobs", "stays")).To(Equal(1))
	})

	It("is drained one job after the other, the last admitted first; none runs twice at a time", func(ctx SpecContext) {
		t := newTeam(ctx, 8)
		seen := watchPods(t)
		first, last := t.job("b-first", 1, "1h"), t.job("a-last", 1, "1h")
		startOn(ctx, w1, t, first, last)

		setAnnotation(ctx, w1, switchyard.DrainAnnotation, "true")
		during := t.job("during", 1, "100ms")
		expectCompleteOn(ctx, "w2", during)
		for _, job := range []*batchv1.Job{last, first} {
			Eventually(clusterOf).WithContext(ctx).WithArguments(client.Object(job)).Should(Equal("w2"))
			Eventually(activePodsAt).WithContext(ctx).WithArguments(w2, job).Should(Equal(int32(1)))
			Eventually(jobAt).WithContext(ctx).WithArguments(w1, job).Should(BeFalse())
		}
		// When the short job ran is no matter of a drain: the moves are compared with each other.
		lasts, firsts := creationsOf(last, "jobs", last.Name), creationsOf(first, "jobs", first.Name)
		Expect(lasts).To(HaveLen(2), "on w1, and moved")
		Expect(firsts).To(HaveLen(2), "on w1, and moved")
		Expect(firsts[1].at.Sub(lasts[1].at)).To(BeNumerically(">", 5*time.Second), "there are ten seconds between two turns")
		Expect(creationsOf(during, "jobs", during.Name)).To(HaveLen(1))
		Expect(seen.listFaults()).To(BeEmpty())

		By("being a worker like any other afterwards")
		removeAnnotation(ctx, w1, switchyard.DrainAnnotation)
		after := t.job("after", 1, "1h")
		startOn(ctx, w1, t, after)
		for _, job := range []*batchv1.Job{first, last, after} {
			Expect(hub.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		}
		expectNothingLeft(ctx, t)
	}, SpecTimeout(2*time.Minute))
})
