package integration

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/resourcequota"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
)

// onePod is a ResourceQuota of one pod, counted already.
func onePod(ctx context.Context, t team) {
	GinkgoHelper()
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: "team"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}},
	}
	Expect(w1.Create(ctx, quota)).To(Succeed())
	Eventually(func() (corev1.ResourceList, error) {
		err := w1.Get(ctx, client.ObjectKeyFromObject(quota), quota)
		return quota.Status.Used, err
	}).WithContext(ctx).Should(HaveKey(corev1.ResourcePods))
}

// ownWorkload is the Workload of a job that was submitted to w1 itself; nil while there is none.
func ownWorkload(ctx context.Context, job client.Object) (*kueue.Workload, error) {
	list := &kueue.WorkloadList{}
	if err := w1.List(ctx, list, client.InNamespace(job.GetNamespace())); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list.Items, func(wl kueue.Workload) bool { return metav1.IsControlledBy(&wl, job) })
	if i < 0 {
		return nil, nil
	}
	return &list.Items[i], nil
}

// ownCondition renders a condition of the Workload of a job on w1.
func ownCondition(ctx context.Context, job client.Object, kind string) (string, error) {
	wl, err := ownWorkload(ctx, job)
	if err != nil || wl == nil {
		return "", err
	}
	return condition(wl.Status.Conditions, kind), nil
}

// podOf is the one pod of a job on w1; nil if there is none.
func podOf(ctx context.Context, job *batchv1.Job) (*corev1.Pod, error) {
	list := &corev1.PodList{}
	err := w1.List(ctx, list, client.InNamespace(job.Namespace), client.MatchingLabels{batchv1.JobNameLabel: job.Name})
	if err != nil || len(list.Items) == 0 {
		return nil, err
	}
	return &list.Items[0], nil
}

// checkState is the state of the check in the Workload of a job on w1.
func checkState(ctx context.Context, job client.Object) (kueue.CheckState, error) {
	wl, err := ownWorkload(ctx, job)
	if err != nil || wl == nil || len(wl.Status.AdmissionChecks) == 0 {
		return "", err
	}
	return wl.Status.AdmissionChecks[0].State, nil
}

// quotaTeam is a team on w1 alone, with eight GPUs in a queue that has the check, and a ResourceQuota of one pod.
func quotaTeam(ctx context.Context, name string) team {
	GinkgoHelper()
	t := team{name: name}
	check := &kueue.AdmissionCheck{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: kueue.AdmissionCheckSpec{ControllerName: resourcequota.ControllerName},
	}
	Expect(w1.Create(ctx, check)).To(Succeed())
	Eventually(func() (string, error) {
		err := w1.Get(ctx, client.ObjectKeyFromObject(check), check)
		return condition(check.Status.Conditions, kueue.AdmissionCheckActive), err
	}).WithContext(ctx).Should(Equal("True Active The admission check is active"))
	t.setUp(ctx, w1, clusterQueue(name, 8, name))
	onePod(ctx, t)
	DeferCleanup(func(ctx SpecContext) {
		Expect(w1.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
	})
	return t
}

// completes waits for the end of a job on w1.
func completes(ctx context.Context, job *batchv1.Job) {
	GinkgoHelper()
	Eventually(func() (bool, error) {
		err := w1.Get(ctx, client.ObjectKeyFromObject(job), job)
		return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
		}), err
	}).WithContext(ctx).Should(BeTrue(), "job %s completes", job.Name)
}

var _ = Describe("The resourcequota check", func() {
	It("sends back the job that the namespace's quota has no room for, and starts it when there is room", func(ctx SpecContext) {
		t := quotaTeam(ctx, "resourcequota")
		first, second := t.job("first", 1, ""), t.job("second", 1, "1s")
		first.Spec.Template.Annotations = nil // runs until it is told to end
		Expect(w1.Create(ctx, first)).To(Succeed())
		Eventually(podOf).WithContext(ctx).WithArguments(first).ShouldNot(BeNil())
		Expect(checkState(ctx, first)).To(Equal(kueue.CheckStateReady))
		running, err := podOf(ctx, first)
		Expect(err).NotTo(HaveOccurred())
		wl, err := ownWorkload(ctx, first)
		Expect(err).NotTo(HaveOccurred())
		Expect(running.Labels).To(HaveKeyWithValue(resourcequota.ClaimLabel, string(wl.UID)))

		By("sending the second back")
		Expect(w1.Create(ctx, second)).To(Succeed())
		Eventually(ownCondition).WithContext(ctx).WithArguments(client.Object(second), kueue.WorkloadEvicted).Should(And(
			HavePrefix("True AdmissionCheck"), ContainSubstring(`ResourceQuota "team" has no room: pods asked 1, used 1`), ContainSubstring("hard 1")))
		Expect(podOf(ctx, second)).To(BeNil())
		Expect(checkState(ctx, first)).To(Equal(kueue.CheckStateReady), "the first stays as it is")

		By("ending the first")
		before := running.DeepCopy()
		running.Annotations = map[string]string{clusters.RunForAnnotation: "100ms"}
		Expect(w1.Patch(ctx, running, client.MergeFrom(before))).To(Succeed())
		completes(ctx, second)
		wl, err = ownWorkload(ctx, second)
		Expect(err).NotTo(HaveOccurred())
		Expect(wl.Status.AdmissionChecks).To(HaveLen(1))
		Expect(wl.Status.AdmissionChecks[0].RetryCount).NotTo(BeNil())
	}, SpecTimeout(2*time.Minute))

	It("lets the next one in as soon as the one before has left", func(ctx SpecContext) {
		t := quotaTeam(ctx, "resourcequota-in-turn")
		// Each takes the whole queue, so that the end of one is the start of the next, while its pod still counts.
		var jobs []*batchv1.Job
		for _, name := range []string{"first", "second", "third"} {
			job := t.job(name, 8, "1s")
			Expect(w1.Create(ctx, job)).To(Succeed())
			jobs = append(jobs, job)
		}
		for _, job := range jobs {
			completes(ctx, job)
			Expect(ownCondition(ctx, job, kueue.WorkloadEvicted)).To(BeEmpty(), "job %s was never sent back", job.Name)
		}
	}, SpecTimeout(2*time.Minute))
})
