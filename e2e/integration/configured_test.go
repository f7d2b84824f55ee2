package integration

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// cohort has eight GPUs of a flavor of its own.
func cohort(name string, flavor kueue.ResourceFlavorReference) *kueue.Cohort {
	return &kueue.Cohort{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: kueue.CohortSpec{ResourceGroups: []kueue.ResourceGroup{{
			CoveredResources: []corev1.ResourceName{clusters.GPUResource},
			Flavors: []kueue.FlavorQuotas{{Name: flavor, Resources: []kueue.ResourceQuota{
				{Name: clusters.GPUResource, NominalQuota: resource.MustParse("8")},
			}}},
		}}},
	}
}

// What a Configuration can change about the queues of a cluster, in a cluster of its own.
var _ = Describe("A cluster that is configured otherwise", Ordered, ContinueOnFailure, func() {
	var alone *installation.Site

	BeforeAll(func(ctx SpecContext) {
		alone = startSingleCluster(ctx, "alone", 2, map[string]any{
			"fairSharing": map[string]any{
				"preemptionStrategies": []string{"LessThanOrEqualToFinalShare", "LessThanInitialShare"},
			},
			"waitForPodsReady": map[string]any{
				"timeout":           "8s",
				"requeuingStrategy": map[string]any{"backoffBaseSeconds": 1, "backoffLimitCount": 1},
			},
			"objectRetentionPolicies": map[string]any{"workloads": map[string]any{
				"afterFinished": "2s", "afterDeactivatedByKueue": "1s",
			}},
			"featureGates":               map[string]any{"MultiKueue": false}, // a hub that has nobody to send jobs to
			"manageJobsWithoutQueueName": true,
			"resources": map[string]any{
				"excludeResourcePrefixes": []string{"example.com/"},
				"transformations": []map[string]any{{
					"input": "vendor.com/slice", "strategy": "Replace", "outputs": map[string]any{string(clusters.GPUResource): "2"},
				}},
			},
		})
	}, NodeTimeout(5*time.Minute))

	AfterAll(func() { reportUsedRights(alone) })

	It("shares what a cohort owns evenly, by preemption where one queue took it all", func(ctx SpecContext) {
		a, b := newTeamAt(ctx, alone, 0), newTeamAt(ctx, alone, 0)
		flavor := kueue.ResourceFlavorReference(a.name)
		Expect(alone.Create(ctx, cohort(a.name, flavor))).To(Succeed())
		for _, t := range []team{a, b} {
			changeQueue(ctx, alone, t, func(q *kueue.ClusterQueueSpec) {
				q.CohortName = kueue.CohortReference(a.name)
				q.ResourceGroups[0].Flavors[0].Name = flavor
				q.Preemption = &kueue.ClusterQueuePreemption{ReclaimWithinCohort: kueue.PreemptionPolicyAny}
			})
		}
		var jobs []*batchv1.Job
		for i := range 4 {
			jobs = append(jobs, a.job(fmt.Sprintf("a%d", i), 2, "1h"))
			Expect(alone.Create(ctx, jobs[i])).To(Succeed())
		}
		for _, job := range jobs {
			expectRunning(ctx, alone, job)
		}
		for i := range 4 {
			Expect(alone.Create(ctx, b.job(fmt.Sprintf("b%d", i), 2, "1h"))).To(Succeed())
		}
		for _, t := range []team{a, b} {
			Eventually(queueStatus).WithContext(ctx).WithArguments(alone, t).Should(Equal("pending 2, admitted 2, GPUs 4"))
		}
		Eventually(eventReasons).WithContext(ctx).WithArguments(alone, a).Should(ContainElement("Preempted"))
	})

	It("says in a cohort's status how much the cohort borrows of what its parent could lend", func(ctx SpecContext) {
		t := newTeamAt(ctx, alone, 0)
		parent, child := kueue.CohortReference(t.name+"-parent"), kueue.CohortReference(t.name+"-child")
		Expect(alone.Create(ctx, cohort(string(parent), kueue.ResourceFlavorReference(t.name)))).To(Succeed())
		Expect(alone.Create(ctx, &kueue.Cohort{
			ObjectMeta: metav1.ObjectMeta{Name: string(child)}, Spec: kueue.CohortSpec{ParentName: parent},
		})).To(Succeed())
		changeQueue(ctx, alone, t, func(q *kueue.ClusterQueueSpec) { q.CohortName = child })
		share := func(name kueue.CohortReference) func() (*kueue.FairSharingStatus, error) {
			return func() (*kueue.FairSharingStatus, error) {
				now := &kueue.Cohort{}
				err := alone.Get(ctx, client.ObjectKey{Name: string(name)}, now)
				return now.Status.FairSharing, err
			}
		}
		job := t.job("borrowing", 2, "1h")
		Expect(alone.Create(ctx, job)).To(Succeed())
		Eventually(share(child)).WithContext(ctx).Should(HaveValue(Equal(kueue.FairSharingStatus{WeightedShare: 250})))
		Expect(share(parent)()).To(HaveValue(Equal(kueue.FairSharingStatus{})), "it has nobody to borrow from")
		Expect(alone.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		Eventually(share(child)).WithContext(ctx).Should(HaveValue(Equal(kueue.FairSharingStatus{})))
	})

	It("takes back the quota of pods that do not become ready, tries once more, gives up, and deletes the job some time later", func(ctx SpecContext) {
		t := newTeamAt(ctx, alone, 200)
		jobs := []client.Object{t.job("too-large", 50, "1s"), t.jobSet("too", 50, "1s")} // No node has that many.
		for _, job := range jobs {
			Expect(alone.Create(ctx, job)).To(Succeed())
		}
		for _, job := range jobs {
			Eventually(func() error { return alone.Get(ctx, client.ObjectKeyFromObject(job), job) }).WithContext(ctx).
				WithTimeout(2 * time.Minute).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
		}
		Eventually(eventReasons).WithContext(ctx).WithArguments(alone, t).Should(ContainElements( // which outlive what they are about
			"EvictedDueToPodsReadyTimeout", "EvictedDueToDeactivatedDueToRequeuingLimitExceeded", kueue.EventDeleted))
	})

	It("deletes Workloads some time after their end", func(ctx SpecContext) {
		t := newTeamAt(ctx, alone, 8)
		job := t.job("short", 1, "1s")
		Expect(alone.Create(ctx, job)).To(Succeed())
		Eventually(succeeded).WithContext(ctx).WithArguments(alone, job).Should(Equal(int32(1)))
		Eventually(func() (*kueue.Workload, error) { return workloadAt(ctx, alone, job) }).WithContext(ctx).Should(BeNil())
		Consistently(succeeded).WithContext(ctx).WithArguments(alone, job).Should(Equal(int32(1)))
	})

	It("counts what a resource stands for and not what it was told to leave out", func(ctx SpecContext) {
		t := newTeamAt(ctx, alone, 8)
		job := t.job("sliced", 0, "1h")
		requests := job.Spec.Template.Spec.Containers[0].Resources.Requests.DeepCopy()
		requests["vendor.com/slice"], requests["example.com/token"] = resource.MustParse("3"), resource.MustParse("7")
		job.Spec.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: requests, Limits: requests}
		Expect(alone.Create(ctx, job)).To(Succeed())
		Eventually(queueStatus).WithContext(ctx).WithArguments(alone, t).Should(Equal("pending 0, admitted 1, GPUs 6"))
		Expect(alone.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
	})

	It("holds back a Job without a queue until its namespace has a default one", func(ctx SpecContext) {
		t := newTeamAt(ctx, alone, 8)
		stray := t.job("stray", 1, "1s")
		delete(stray.Labels, kueue.QueueNameLabel)
		Expect(alone.Create(ctx, stray)).To(Succeed())
		Expect(stray.Spec.Suspend).To(HaveValue(BeTrue()))

		Expect(alone.Create(ctx, t.localQueue("default"))).To(Succeed())
		next := t.job("next", 1, "1s")
		delete(next.Labels, kueue.QueueNameLabel)
		Eventually(func() (string, error) {
			trial := next.DeepCopy()
			err := alone.Create(ctx, trial, client.DryRunAll)
			return trial.Labels[kueue.QueueNameLabel], err
		}).WithContext(ctx).Should(Equal("default"))
		Expect(alone.Create(ctx, next)).To(Succeed())
		Eventually(succeeded).WithContext(ctx).WithArguments(alone, next).Should(Equal(int32(1)))
		Expect(alone.Get(ctx, client.ObjectKeyFromObject(stray), stray)).To(Succeed())
		Expect(ptr.Deref(stray.Spec.Suspend, false)).To(BeTrue())
	})
})
