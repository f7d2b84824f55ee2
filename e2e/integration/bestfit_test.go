package integration

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// freeGPUs is what a worker reports to be free in a team's queue, -1 while it says nothing of that.
func freeGPUs(ctx context.Context, w *installation.Site, t team) (int64, error) {
	report := &switchyard.CapacityReport{}
	if err := w.Get(ctx, client.ObjectKey{Name: switchyard.CapacityReportName}, report); err != nil {
		return -1, client.IgnoreNotFound(err)
	}
	for _, queue := range report.ClusterQueues {
		if queue.Name != t.name || len(queue.LocalQueues) == 0 || queue.Closed != "" {
			continue
		}
		gpus := slices.Index(queue.Groups[0].Resources, string(clusters.GPUResource))
		return queue.Groups[0].Flavors[0].Free[gpus], nil
	}
	return -1, nil
}

// expectReported waits until the workers have reported that many free GPUs in a team's queue.
func expectReported(ctx context.Context, t team, atWorkers ...int64) {
	GinkgoHelper()
	for i, w := range workers {
		Eventually(freeGPUs).WithContext(ctx).WithArguments(w, t).Should(Equal(atWorkers[i]), "free on %s", w.Name)
	}
}

// expectBestOn submits a job and expects it to complete there, after offers to exactly the given workers, in that order.
func expectBestOn(ctx context.Context, job *batchv1.Job, name string, offered ...string) {
	GinkgoHelper()
	expectCompleteOn(ctx, name, job)
	Expect(offersOf(job)).To(Equal(offered))
}

// firstChoice submits one job after the other, each of a name of its own, and returns the first offer of the last.
func firstChoice(ctx context.Context, t team) func() (string, error) {
	probes := 0
	return func() (string, error) {
		probes++
		job := t.job(fmt.Sprintf("probe-%d", probes), 1, "100ms")
		if err := hub.Create(ctx, job); err != nil {
			return "", err
		}
		expectComplete(ctx, job)
		return offersOf(job)[0], nil
	}
}

// neverAdmits makes a team's queue on a worker reserve quota and then wait for a check without a controller.
func neverAdmits(ctx context.Context, w *installation.Site, t team) {
	GinkgoHelper()
	check := &kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: t.name}, Spec: kueue.AdmissionCheckSpec{ControllerName: "example.com/never"}}
	Expect(w.Create(ctx, check)).To(Succeed())
	before := check.DeepCopy()
	check.Status.Conditions = []metav1.Condition{{
		Type: kueue.AdmissionCheckActive, Status: metav1.ConditionTrue, Reason: "Active", LastTransitionTime: metav1.Now(),
	}}
	Expect(w.Status().Patch(ctx, check, client.MergeFrom(before))).To(Succeed())
	changeQueue(ctx, w, t, func(q *kueue.ClusterQueueSpec) {
		q.AdmissionChecksStrategy = clusterQueue("", 0, check.Name).Spec.AdmissionChecksStrategy
	})
	Eventually(queueCondition).WithContext(ctx).WithArguments(w, t).Should(HavePrefix("True"))
}

// allowsLittle makes a worker refuse a team's pods: they ask for more than its namespace allows. No report tells of that.
func allowsLittle(ctx context.Context, w *installation.Site, t team) {
	GinkgoHelper()
	Expect(w.Create(ctx, &corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: "little"},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
		}}},
	})).To(Succeed())
}

// The teams are there before the hub program of these specs is: all that the workers report of them is known to it when it
// has connected.
var _ = Describe("The best-fit dispatcher", Ordered, ContinueOnFailure, func() {
	var full, even, wide, choosy, refused, slow, listing team

	BeforeAll(func(ctx SpecContext) {
		even, choosy, wide = newTeam(ctx, 8), newTeam(ctx, 8), newTeamOf(ctx, 16, 8, 8)
		full, refused, slow, listing = newTeam(ctx, 8), newTeam(ctx, 8), newTeam(ctx, 8), newTeamOn(ctx, "", []string{"w1"}, 1, 8)
		only := []team{newTeamOf(ctx, 8, 8, 0), newTeamOf(ctx, 8, 0, 8)}
		occupy(ctx, w1, full, 8)
		allowsLittle(ctx, w1, refused)
		neverAdmits(ctx, w1, slow)
		for _, t := range []team{even, choosy, wide, refused, slow} {
			expectReported(ctx, t, 8, 8)
		}
		expectReported(ctx, full, 0, 8)
		expectReported(ctx, listing, 1, 8)

		otherHub{name: "hub-best-fit", configuration: runAlone(map[string]any{"dispatcherName": switchyard.BestFitDispatcherName})}.takeOver(ctx)
		By("waiting until it knows both workers")
		for i, t := range only {
			expectBestOn(ctx, t.job("train", 1, "100ms"), workers[i].Name, workers[i].Name)
		}
	})

	It("offers a job to the one cluster that has room for it, and to no other", func(ctx SpecContext) {
		expectBestOn(ctx, full.job("train", 8, "100ms"), "w2", "w2")
		expectNothingLeftBut(ctx, full, "local")
	})

	It("goes by the name where a job fits as well here as there", func(ctx SpecContext) {
		expectBestOn(ctx, even.job("train", 4, "100ms"), "w1", "w1")
		expectNothingLeft(ctx, even)
	})

	It("does not promise the same room twice", func(ctx SpecContext) {
		first, second := wide.job("first", 8, "1s"), wide.job("second", 8, "1s")
		for _, job := range []*batchv1.Job{first, second} {
			Expect(hub.Create(ctx, job)).To(Succeed())
		}
		expectComplete(ctx, first)
		expectComplete(ctx, second)
		Expect(append(offersOf(first), offersOf(second)...)).To(ConsistOf("w1", "w2"))
		expectNothingLeft(ctx, wide)
	})

	It("goes before that by what a job prefers, or else its queue, or else by the clusters' weights", func(ctx SpecContext) {
		job := choosy.job("train", 1, "100ms")
		job.Annotations = map[string]string{switchyard.PreferClustersAnnotation: "w2,w1"}
		expectBestOn(ctx, job, "w2", "w2")

		queue := &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: choosy.name}}
		annotate(ctx, hub, queue, switchyard.PreferClustersAnnotation, "w2")
		Eventually(firstChoice(ctx, choosy)).WithContext(ctx).Should(Equal("w2"))
		annotate(ctx, hub, queue, switchyard.PreferClustersAnnotation, "")
		other := newTeam(ctx, 8)
		expectReported(ctx, other, 8, 8)
		Eventually(firstChoice(ctx, other)).WithContext(ctx).Should(Equal("w1"))
		setAnnotation(ctx, w2, switchyard.WeightAnnotation, "50")
		Eventually(firstChoice(ctx, other)).WithContext(ctx).Should(Equal("w2"))
		expectNothingLeft(ctx, choosy)
	})

	It("offers a job to the next cluster at once when the best one refuses it", func(ctx SpecContext) {
		expectBestOn(ctx, refused.job("train", 1, "100ms"), "w2", "w1", "w2")
		expectNothingLeft(ctx, refused)
	})

	It("gives the best cluster some time, and then asks the next one as well", func(ctx SpecContext) {
		job := slow.job("train", 1, "100ms")
		expectBestOn(ctx, job, "w2", "w1", "w2")
		offers := creationsOf(job, "workloads", "job-train-")
		Expect(offers[1].at.Sub(offers[0].at)).To(BeNumerically(">", time.Second), "the time before a hedge is at least two seconds")
		expectNothingLeft(ctx, slow)
	})

	It("asks a cluster that is put into the config, after some time, and one that replaces the best at once", func(ctx SpecContext) {
		occupy(ctx, w1, listing, 1)
		job := listing.job("added", 1, "100ms")
		Expect(hub.Create(ctx, job)).To(Succeed())
		Eventually(copiesOf).WithContext(ctx).WithArguments(job).Should(Equal([]string{"w1"}))
		relist(ctx, listing, "w1", "w2")
		expectComplete(ctx, job)
		Expect(offersOf(job)).To(Equal([]string{"w1", "w2"}))

		relist(ctx, listing, "w1", "nobody")
		Eventually(checkActive).WithContext(ctx).WithArguments(listing.name).
			Should(Equal("True SomeActiveClusters Missing clusters: [nobody]"), "the hub knows the new list")
		job = listing.job("replaced", 1, "100ms")
		Expect(hub.Create(ctx, job)).To(Succeed())
		Eventually(copiesOf).WithContext(ctx).WithArguments(job).Should(Equal([]string{"w1"}))
		relist(ctx, listing, "w2")
		expectComplete(ctx, job)
		Expect(offersOf(job)).To(Equal([]string{"w1", "w2"}))
		expectNothingLeftBut(ctx, listing, "local")
	})
})
