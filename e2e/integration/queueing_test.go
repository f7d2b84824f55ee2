package integration

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// changeQueue changes the team's ClusterQueue at a site.
func changeQueue(ctx context.Context, s *installation.Site, t team, change func(*kueue.ClusterQueueSpec)) {
	GinkgoHelper()
	queue := &kueue.ClusterQueue{}
	Expect(s.Get(ctx, client.ObjectKey{Name: t.name}, queue)).To(Succeed())
	before := queue.DeepCopy()
	change(&queue.Spec)
	Expect(s.Patch(ctx, queue, client.MergeFrom(before))).To(Succeed())
}

// gpuQuota changes how many GPUs a team's ClusterQueue has.
func gpuQuota(gpus int64) func(*kueue.ClusterQueueSpec) {
	return func(q *kueue.ClusterQueueSpec) { q.ResourceGroups[0].Flavors[0].Resources[0].NominalQuota.Set(gpus) }
}

// priorities makes WorkloadPriorityClasses "<team>-low" and "<team>-high" at a site.
func priorities(ctx context.Context, s *installation.Site, t team) {
	GinkgoHelper()
	for name, value := range map[string]int32{"-low": 10, "-high": 100} {
		Expect(s.Create(ctx, &kueue.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: t.name + name}, Value: value})).To(Succeed())
	}
}

func withPriority(job *batchv1.Job, class string) *batchv1.Job {
	job.Labels[kueue.PriorityClassLabel] = job.Namespace + "-" + class
	return job
}

// running tells whether the job at a site may run and does.
func running(ctx context.Context, s *installation.Site, job *batchv1.Job) (bool, error) {
	err := s.Get(ctx, client.ObjectKeyFromObject(job), job)
	return !ptr.Deref(job.Spec.Suspend, false) && job.Status.Active > 0, err
}

func succeeded(ctx context.Context, s *installation.Site, job *batchv1.Job) (int32, error) {
	err := s.Get(ctx, client.ObjectKeyFromObject(job), job)
	return job.Status.Succeeded, err
}

func expectRunning(ctx context.Context, s *installation.Site, job *batchv1.Job) {
	GinkgoHelper()
	Eventually(running).WithContext(ctx).WithArguments(s, job).Should(BeTrue(), "job %s runs on %s", job.Name, s.Name)
}

func queueStatus(ctx context.Context, s *installation.Site, t team) (string, error) {
	queue := &kueue.ClusterQueue{}
	err := s.Get(ctx, client.ObjectKey{Name: t.name}, queue)
	used := ""
	if len(queue.Status.FlavorsUsage) > 0 {
		for _, r := range queue.Status.FlavorsUsage[0].Resources {
			if r.Name == clusters.GPUResource {
				used = r.Total.String()
			}
		}
	}
	return "pending " + formatInt(queue.Status.PendingWorkloads) + ", admitted " + formatInt(queue.Status.AdmittedWorkloads) + ", GPUs " + used, err
}

func formatInt(n int32) string { return resource.NewQuantity(int64(n), resource.DecimalSI).String() }

// A worker needs no hub: its own queues work as those of any cluster do.
var _ = Describe("One cluster", func() {
	at := func() *installation.Site { return w1 }

	It("runs the Jobs of a queue within its quota and counts them", func(ctx SpecContext) {
		t := newTeam(ctx, 8)
		first, second := t.job("first", 8, "3s"), t.job("second", 8, "1s")
		Expect(at().Create(ctx, first)).To(Succeed())
		expectRunning(ctx, at(), first)
		Expect(at().Create(ctx, second)).To(Succeed())
		Eventually(workloadConditionAt).WithContext(ctx).WithArguments(at(), client.Object(second), kueue.WorkloadQuotaReserved).
			Should(HavePrefix("False WaitingForQuota"))
		Eventually(queueStatus).WithContext(ctx).WithArguments(at(), t).Should(Equal("pending 1, admitted 1, GPUs 8"))
		for _, job := range []*batchv1.Job{first, second} {
			Eventually(succeeded).WithContext(ctx).WithArguments(at(), job).Should(Equal(int32(1)))
		}
		Eventually(queueStatus).WithContext(ctx).WithArguments(at(), t).Should(Equal("pending 0, admitted 0, GPUs 0"))
	})

	It("evicts a Job for one of higher priority, says so, and runs it again afterwards", func(ctx SpecContext) {
		t := newTeam(ctx, 8)
		priorities(ctx, at(), t)
		changeQueue(ctx, at(), t, func(q *kueue.ClusterQueueSpec) {
			q.Preemption = &kueue.ClusterQueuePreemption{WithinClusterQueue: kueue.PreemptionPolicyLowerPriority}
		})
		low, high := withPriority(t.job("low", 8, "1h"), "low"), withPriority(t.job("high", 8, "2s"), "high")
		Expect(at().Create(ctx, low)).To(Succeed())
		expectRunning(ctx, at(), low)
		Expect(at().Create(ctx, high)).To(Succeed())

		Eventually(workloadConditionAt).WithContext(ctx).WithArguments(at(), client.Object(low), kueue.WorkloadPreempted).
			Should(HavePrefix("True InClusterQueue"))
		Eventually(succeeded).WithContext(ctx).WithArguments(at(), high).Should(Equal(int32(1)))
		expectRunning(ctx, at(), low)
		Eventually(eventReasons).WithContext(ctx).WithArguments(at(), t).Should(ContainElements("Preempted", "PreemptedWorkload", "EvictedDueToPreempted"))
	})

	It("takes quota back from the queue that borrows it", func(ctx SpecContext) {
		owner, borrower := newTeam(ctx, 4), newTeam(ctx, 0)
		flavor := kueue.ResourceFlavorReference(owner.name)
		for _, t := range []team{owner, borrower} {
			changeQueue(ctx, at(), t, func(q *kueue.ClusterQueueSpec) {
				q.CohortName = kueue.CohortReference(owner.name)
				q.ResourceGroups[0].Flavors[0].Name = flavor
				q.Preemption = &kueue.ClusterQueuePreemption{ReclaimWithinCohort: kueue.PreemptionPolicyAny}
			})
		}
		lent, own := borrower.job("lent", 4, "1h"), owner.job("own", 4, "1s")
		Expect(at().Create(ctx, lent)).To(Succeed())
		expectRunning(ctx, at(), lent)
		Expect(at().Create(ctx, own)).To(Succeed())
		Eventually(workloadConditionAt).WithContext(ctx).WithArguments(at(), client.Object(lent), kueue.WorkloadPreempted).
			Should(HavePrefix("True InCohortReclamation"))
		Eventually(succeeded).WithContext(ctx).WithArguments(at(), own).Should(Equal(int32(1)))
	})

	It("starts a Job with fewer pods when it allows that and not all fit", func(ctx SpecContext) {
		t := newTeam(ctx, 6)
		job := t.job("elastic", 2, "1s")
		job.Spec.Parallelism, job.Spec.Completions = ptr.To[int32](4), ptr.To[int32](4)
		job.Annotations = map[string]string{kueue.JobMinParallelismAnnotation: "2"}
		Expect(at().Create(ctx, job)).To(Succeed())
		Eventually(func() (int32, error) {
			err := at().Get(ctx, client.ObjectKeyFromObject(job), job)
			return *job.Spec.Parallelism, err
		}).WithContext(ctx).Should(Equal(int32(3)))
		Eventually(succeeded).WithContext(ctx).WithArguments(at(), job).Should(Equal(int32(4)))
	})

	It("ends a Job that runs for longer than it may", func(ctx SpecContext) {
		t := newTeam(ctx, 8)
		job := t.job("slow", 1, "1h")
		job.Labels[kueue.MaxExecTimeSecondsLabel] = "1"
		Expect(at().Create(ctx, job)).To(Succeed())
		Eventually(workloadConditionAt).WithContext(ctx).WithArguments(at(), client.Object(job), kueue.WorkloadEvicted).
			Should(HavePrefix("True DeactivatedDueToMaximumExecutionTimeExceeded"))
		Eventually(func() (bool, error) {
			err := at().Get(ctx, client.ObjectKeyFromObject(job), job)
			return *job.Spec.Suspend, err
		}).WithContext(ctx).Should(BeTrue())
	})

	It("drains a queue and goes on when it is opened again", func(ctx SpecContext) {
		t := newTeam(ctx, 8)
		job := t.job("drained", 1, "1h")
		Expect(at().Create(ctx, job)).To(Succeed())
		expectRunning(ctx, at(), job)
		changeQueue(ctx, at(), t, func(q *kueue.ClusterQueueSpec) { q.StopPolicy = kueue.HoldAndDrain })
		Eventually(workloadConditionAt).WithContext(ctx).WithArguments(at(), client.Object(job), kueue.WorkloadEvicted).
			Should(HavePrefix("True ClusterQueueStopped"))
		Eventually(running).WithContext(ctx).WithArguments(at(), job).Should(BeFalse())
		changeQueue(ctx, at(), t, func(q *kueue.ClusterQueueSpec) { q.StopPolicy = kueue.None })
		expectRunning(ctx, at(), job)
	})

	It("says which limit of the namespace a Job's pods break, and starts it when the limit is raised", func(ctx SpecContext) {
		t := newTeam(ctx, 8)
		limits := &corev1.LimitRange{
			ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: "small"},
			Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
				Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")},
			}}},
		}
		Expect(at().Create(ctx, limits)).To(Succeed())
		job := t.job("large", 1, "1s")
		Expect(at().Create(ctx, job)).To(Succeed())
		Eventually(workloadConditionAt).WithContext(ctx).WithArguments(at(), client.Object(job), kueue.WorkloadQuotaReserved).
			Should(And(HavePrefix("False Misconfigured"), ContainSubstring("cpu")))
		Expect(at().Delete(ctx, limits)).To(Succeed())
		Eventually(succeeded).WithContext(ctx).WithArguments(at(), job).Should(Equal(int32(1)))
	})
})

var _ = Describe("The hub's queue", func() {
	It("stops a dispatched Job where it runs for one of higher priority", func(ctx SpecContext) {
		t := newTeam(ctx, 8)
		priorities(ctx, hub, t)
		changeQueue(ctx, hub, t, func(q *kueue.ClusterQueueSpec) {
			q.Preemption = &kueue.ClusterQueuePreemption{WithinClusterQueue: kueue.PreemptionPolicyLowerPriority}
		})
		low, high := withPriority(t.job("low", 8, "1h"), "low"), withPriority(t.job("high", 8, "2s"), "high")
		Expect(hub.Create(ctx, low)).To(Succeed())
		Eventually(func() (int32, error) {
			err := hub.Get(ctx, client.ObjectKeyFromObject(low), low)
			return low.Status.Active, err
		}).WithContext(ctx).Should(Equal(int32(1)))
		Expect(hub.Create(ctx, high)).To(Succeed())
		Eventually(workloadCondition).WithContext(ctx).WithArguments(client.Object(low), kueue.WorkloadPreempted).
			Should(HavePrefix("True InClusterQueue"))
		expectComplete(ctx, high)
		Expect(hub.Delete(ctx, low, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		expectNothingLeft(ctx, t)
	})
})
