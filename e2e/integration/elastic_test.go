package integration

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// scale changes how many pods a job is to have.
func scale(ctx context.Context, s *installation.Site, job *batchv1.Job, pods int32) {
	GinkgoHelper()
	Expect(s.Get(ctx, client.ObjectKeyFromObject(job), job)).To(Succeed())
	before := job.DeepCopy()
	job.Spec.Parallelism = &pods
	Expect(s.Patch(ctx, job, client.MergeFrom(before))).To(Succeed())
}

// runningPods says how many pods of a team run, and how many are held back by a gate.
func runningPods(ctx context.Context, s *installation.Site, t team) (string, error) {
	var list corev1.PodList
	err := s.List(ctx, &list, client.InNamespace(t.name))
	running, gated := 0, 0
	for i := range list.Items {
		switch {
		case !list.Items[i].DeletionTimestamp.IsZero():
		case len(list.Items[i].Spec.SchedulingGates) > 0:
			gated++
		case list.Items[i].Status.Phase == corev1.PodRunning:
			running++
		}
	}
	return fmt.Sprintf("%d run, %d wait", running, gated), err
}

// gpusInUse is how many GPUs the pods of a team use, those that are being terminated included.
func gpusInUse(ctx context.Context, s *installation.Site, t team) (int, error) {
	var list corev1.PodList
	err := s.List(ctx, &list, client.InNamespace(t.name))
	used := 0
	for i := range list.Items {
		if pod := &list.Items[i]; pod.Status.Phase == corev1.PodRunning {
			used += int(pod.Spec.Containers[0].Resources.Requests.Name(clusters.GPUResource, resource.DecimalSI).Value())
		}
	}
	return used, err
}

// elasticJob asks for pods of one GPU, as many at a time as given, and does not come to its end by itself.
func (t team) elasticJob(name string, pods int32, runFor string) *batchv1.Job {
	job := t.job(name, 1, runFor)
	job.Annotations = map[string]string{kueue.ElasticJobAnnotation: "true"}
	job.Spec.Parallelism, job.Spec.Completions = &pods, ptr.To[int32](1000)
	return job
}

// slicesOf are the sizes of the slices of a team's job, and for which reasons they have ended, if they have.
func slicesOf(ctx context.Context, s *installation.Site, t team) ([]string, error) {
	var list kueue.WorkloadList
	err := s.List(ctx, &list, client.InNamespace(t.name))
	var ends []string
	for i := range list.Items {
		wl := &list.Items[i]
		if wl.Annotations[kueue.ElasticJobAnnotation] == "true" {
			end := ""
			if c := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadFinished); c != nil {
				end = " " + c.Reason
			}
			ends = append(ends, fmt.Sprintf("%d pods%s", wl.Spec.PodSets[0].Count, end))
		}
	}
	return ends, err
}

var _ = Describe("An elastic Job", func() {
	It("grows as soon as there is quota, and gives back what it does not need", func(ctx SpecContext) {
		t := newTeamAt(ctx, w1, 4)
		elastic := t.elasticJob("elastic", 1, "1h")
		Expect(w1.Create(ctx, elastic)).To(Succeed())
		Eventually(runningPods).WithContext(ctx).WithArguments(w1, t).Should(Equal("1 run, 0 wait"))
		other := t.job("other", 2, "1h")
		Expect(w1.Create(ctx, other)).To(Succeed())
		Eventually(runningPods).WithContext(ctx).WithArguments(w1, t).Should(Equal("2 run, 0 wait"))

		By("growing beyond what is free")
		scale(ctx, w1, elastic, 3)
		Eventually(runningPods).WithContext(ctx).WithArguments(w1, t).Should(Equal("2 run, 2 wait"))
		Eventually(queueStatus).WithContext(ctx).WithArguments(w1, t).Should(Equal("pending 1, admitted 2, GPUs 3"))
		Consistently(runningPods).WithContext(ctx).WithArguments(w1, t).Should(Equal("2 run, 2 wait"))

		By("getting what another Job leaves")
		Expect(w1.Delete(ctx, other, client.PropagationPolicy("Background"))).To(Succeed())
		Eventually(runningPods).WithContext(ctx).WithArguments(w1, t).Should(Equal("3 run, 0 wait"))
		Eventually(queueStatus).WithContext(ctx).WithArguments(w1, t).Should(Equal("pending 0, admitted 1, GPUs 3"))
		Eventually(slicesOf).WithContext(ctx).WithArguments(w1, t).Should(ConsistOf("1 pods WorkloadSliceReplaced", "3 pods"))

		By("shrinking, for the sake of another Job")
		Expect(w1.Create(ctx, t.job("next", 2, "1h"))).To(Succeed())
		Eventually(queueStatus).WithContext(ctx).WithArguments(w1, t).Should(Equal("pending 1, admitted 1, GPUs 3"))
		scale(ctx, w1, elastic, 2)
		Eventually(runningPods).WithContext(ctx).WithArguments(w1, t).Should(Equal("3 run, 0 wait"))
		Eventually(queueStatus).WithContext(ctx).WithArguments(w1, t).Should(Equal("pending 0, admitted 2, GPUs 4"))
		Eventually(slicesOf).WithContext(ctx).WithArguments(w1, t).Should(ConsistOf("1 pods WorkloadSliceReplaced", "2 pods"))
	})

	It("does not lose what it has to its own growth, however much that asks for", func(ctx SpecContext) {
		t := newTeamAt(ctx, w1, 2)
		elastic := t.elasticJob("greedy", 1, "1h")
		Expect(w1.Create(ctx, elastic)).To(Succeed())
		Eventually(runningPods).WithContext(ctx).WithArguments(w1, t).Should(Equal("1 run, 0 wait"))
		scale(ctx, w1, elastic, 40)
		Eventually(runningPods).WithContext(ctx).WithArguments(w1, t).Should(Equal("1 run, 39 wait"))
		Eventually(queueStatus).WithContext(ctx).WithArguments(w1, t).Should(Equal("pending 1, admitted 1, GPUs 1"))
		Consistently(runningPods).WithContext(ctx).WithArguments(w1, t).Should(Equal("1 run, 39 wait"))
		scale(ctx, w1, elastic, 2)
		Eventually(runningPods).WithContext(ctx).WithArguments(w1, t).Should(Equal("2 run, 0 wait"))
		Eventually(queueStatus).WithContext(ctx).WithArguments(w1, t).Should(Equal("pending 0, admitted 1, GPUs 2"))
	})

	It("keeps the quota of its pods however often it is made smaller and larger", func(ctx SpecContext) {
		t := newTeamAt(ctx, w1, 3)
		elastic := t.elasticJob("flapping", 3, "1h")
		Expect(w1.Create(ctx, elastic)).To(Succeed())
		Eventually(runningPods).WithContext(ctx).WithArguments(w1, t).Should(Equal("3 run, 0 wait"))
		Expect(w1.Create(ctx, t.job("other", 2, "1h"))).To(Succeed())
		Eventually(queueStatus).WithContext(ctx).WithArguments(w1, t).Should(Equal("pending 1, admitted 1, GPUs 3"))
		for range 5 {
			scale(ctx, w1, elastic, 1)
			scale(ctx, w1, elastic, 3)
			Consistently(gpusInUse).WithContext(ctx).WithTimeout(time.Second).WithArguments(w1, t).Should(BeNumerically("<=", 3))
		}
		Eventually(gpusInUse).WithContext(ctx).WithArguments(w1, t).Should(Equal(3))
	})

	It("ends with all of its slices, and leaves nothing behind", func(ctx SpecContext) {
		t := newTeamAt(ctx, w1, 4)
		elastic := t.elasticJob("short", 1, "2s")
		elastic.Spec.Completions = ptr.To[int32](6)
		Expect(w1.Create(ctx, elastic)).To(Succeed())
		Eventually(runningPods).WithContext(ctx).WithArguments(w1, t).Should(Equal("1 run, 0 wait"))
		scale(ctx, w1, elastic, 3)
		Eventually(succeeded).WithContext(ctx).WithArguments(w1, elastic).Should(Equal(int32(6)))
		Eventually(slicesOf).WithContext(ctx).WithArguments(w1, t).Should(ConsistOf("1 pods WorkloadSliceReplaced", "3 pods Succeeded"))
		Eventually(queueStatus).WithContext(ctx).WithArguments(w1, t).Should(Equal("pending 0, admitted 0, GPUs 0"))
		Expect(w1.Delete(ctx, elastic, client.PropagationPolicy("Background"))).To(Succeed())
		Eventually(slicesOf).WithContext(ctx).WithArguments(w1, t).Should(BeEmpty())
	})

	It("takes all of its slices along when it is deleted", func(ctx SpecContext) {
		t := newTeamAt(ctx, w1, 2)
		elastic := t.elasticJob("deleted", 2, "1h")
		Expect(w1.Create(ctx, elastic)).To(Succeed())
		Eventually(runningPods).WithContext(ctx).WithArguments(w1, t).Should(Equal("2 run, 0 wait"))
		scale(ctx, w1, elastic, 4)
		Eventually(slicesOf).WithContext(ctx).WithArguments(w1, t).Should(ConsistOf("2 pods", "4 pods"))
		Expect(w1.Delete(ctx, elastic, client.PropagationPolicy("Background"))).To(Succeed())
		Eventually(slicesOf).WithContext(ctx).WithArguments(w1, t).Should(BeEmpty())
		Eventually(queueStatus).WithContext(ctx).WithArguments(w1, t).Should(Equal("pending 0, admitted 0, GPUs 0"))
	})

	It("is scaled whenever its program crashes", func(ctx SpecContext) {
		t := newTeamAt(ctx, w1, 4)
		elastic := t.elasticJob("survivor", 1, "1h")
		Expect(w1.Create(ctx, elastic)).To(Succeed())
		Eventually(runningPods).WithContext(ctx).WithArguments(w1, t).Should(Equal("1 run, 0 wait"))
		for _, pods := range []int32{3, 4, 1, 2} {
			scale(ctx, w1, elastic, pods)
			Expect(w1.Program.Kill()).To(Succeed())
			Expect(w1.Program.Start(ctx)).To(Succeed())
			Eventually(runningPods).WithContext(ctx).WithArguments(w1, t).Should(Equal(fmt.Sprintf("%d run, 0 wait", pods)))
			Eventually(queueStatus).WithContext(ctx).WithArguments(w1, t).Should(Equal(fmt.Sprintf("pending 0, admitted 1, GPUs %d", pods)))
		}
		Expect(slicesOf(ctx, w1, t)).To(ContainElement("2 pods"))
	})

	It("starts over without the annotation when its size changes", func(ctx SpecContext) {
		t := newTeamAt(ctx, w1, 4)
		rigid := t.elasticJob("rigid", 1, "1h")
		rigid.Annotations = nil
		Expect(w1.Create(ctx, rigid)).To(Succeed())
		Eventually(runningPods).WithContext(ctx).WithArguments(w1, t).Should(Equal("1 run, 0 wait"))
		first, err := t.pods(ctx, w1)
		Expect(err).NotTo(HaveOccurred())
		scale(ctx, w1, rigid, 2)
		Eventually(t.pods).WithContext(ctx).WithArguments(w1).Should(And(HaveLen(2), Not(ContainElements(first))))
		Expect(slicesOf(ctx, w1, t)).To(BeEmpty())
		Eventually(queueStatus).WithContext(ctx).WithArguments(w1, t).Should(Equal("pending 0, admitted 1, GPUs 2"))
	})

	It("is made smaller where it runs", func(ctx SpecContext) {
		t := newTeamOf(ctx, 4, 4, 0)
		elastic := t.elasticJob("elastic", 4, "1h")
		Expect(hub.Create(ctx, elastic)).To(Succeed())
		Eventually(runningPods).WithContext(ctx).WithArguments(w1, t).Should(Equal("4 run, 0 wait"))
		first, err := t.pods(ctx, w1)
		Expect(err).NotTo(HaveOccurred())

		By("shrinking, for the sake of another Job")
		scale(ctx, hub, elastic, 3)
		Eventually(runningPods).WithContext(ctx).WithArguments(w1, t).Should(Equal("3 run, 0 wait"))
		Expect(t.pods(ctx, w1)).To(HaveEach(BeElementOf(first)))
		for _, s := range []*installation.Site{hub, w1} {
			Eventually(queueStatus).WithContext(ctx).WithArguments(s, t).Should(Equal("pending 0, admitted 1, GPUs 3"))
			Eventually(slicesOf).WithContext(ctx).WithArguments(s, t).Should(ConsistOf("3 pods"))
		}
		Expect(hub.Create(ctx, t.job("next", 1, "1h"))).To(Succeed())
		Eventually(runningPods).WithContext(ctx).WithArguments(w1, t).Should(Equal("4 run, 0 wait"))
	})

	It("grows where it runs, without a restart", func(ctx SpecContext) {
		t := newTeamOf(ctx, 6, 6, 0)
		elastic := t.elasticJob("elastic", 1, "1h")
		Expect(hub.Create(ctx, elastic)).To(Succeed())
		at := w1
		Eventually(runningPods).WithContext(ctx).WithArguments(at, t).Should(Equal("1 run, 0 wait"))
		first, err := t.pods(ctx, at)
		Expect(err).NotTo(HaveOccurred())

		By("growing twice")
		for _, pods := range []int32{3, 4} {
			scale(ctx, hub, elastic, pods)
			Eventually(runningPods).WithContext(ctx).WithArguments(at, t).Should(Equal(fmt.Sprintf("%d run, 0 wait", pods)))
			Expect(t.pods(ctx, at)).To(ContainElements(first))
			for _, s := range []*installation.Site{hub, at} {
				Eventually(queueStatus).WithContext(ctx).WithArguments(s, t).Should(Equal(fmt.Sprintf("pending 0, admitted 1, GPUs %d", pods)))
			}
		}
		Eventually(slicesOf).WithContext(ctx).WithArguments(hub, t).Should(ConsistOf("1 pods WorkloadSliceReplaced", "3 pods WorkloadSliceReplaced", "4 pods"))
		Eventually(slicesOf).WithContext(ctx).WithArguments(at, t).Should(ConsistOf("4 pods"))

		By("shrinking, and leaving")
		scale(ctx, hub, elastic, 2)
		Eventually(runningPods).WithContext(ctx).WithArguments(at, t).Should(Equal("2 run, 0 wait"))
		Expect(hub.Delete(ctx, elastic, client.PropagationPolicy("Background"))).To(Succeed())
		for _, s := range []*installation.Site{hub, w1, w2} {
			Eventually(slicesOf).WithContext(ctx).WithArguments(s, t).Should(BeEmpty())
			Eventually(t.pods).WithContext(ctx).WithArguments(s).Should(BeEmpty())
		}
	})

	It("waits where it runs for what it wants more", func(ctx SpecContext) {
		t := newTeamOf(ctx, 8, 2, 0)
		elastic := t.elasticJob("elastic", 2, "1h")
		Expect(hub.Create(ctx, elastic)).To(Succeed())
		Eventually(runningPods).WithContext(ctx).WithArguments(w1, t).Should(Equal("2 run, 0 wait"))
		first, err := t.pods(ctx, w1)
		Expect(err).NotTo(HaveOccurred())
		scale(ctx, hub, elastic, 4)
		Eventually(slicesOf).WithContext(ctx).WithArguments(hub, t).Should(ConsistOf("2 pods WorkloadSliceReplaced", "4 pods"))
		Eventually(queueStatus).WithContext(ctx).WithArguments(w1, t).Should(Equal("pending 1, admitted 1, GPUs 2"))
		Consistently(t.pods).WithContext(ctx).WithArguments(w1).Should(ConsistOf(first))

		By("wanting less again")
		scale(ctx, hub, elastic, 1)
		Eventually(runningPods).WithContext(ctx).WithArguments(w1, t).Should(Equal("1 run, 0 wait"))
		Expect(t.pods(ctx, w1)).To(HaveEach(BeElementOf(first)))
		Eventually(slicesOf).WithContext(ctx).WithArguments(w1, t).Should(ConsistOf("1 pods"))

		By("being deleted while it waits")
		scale(ctx, hub, elastic, 5)
		Eventually(queueStatus).WithContext(ctx).WithArguments(w1, t).Should(Equal("pending 1, admitted 1, GPUs 1"))
		Expect(hub.Delete(ctx, elastic, client.PropagationPolicy("Background"))).To(Succeed())
		for _, s := range []*installation.Site{hub, w1} {
			Eventually(slicesOf).WithContext(ctx).WithArguments(s, t).Should(BeEmpty())
			Eventually(t.pods).WithContext(ctx).WithArguments(s).Should(BeEmpty())
		}
	})

	It("is scaled where it runs whenever its hub crashes", func(ctx SpecContext) {
		t := newTeamOf(ctx, 5, 5, 5)
		elastic := t.elasticJob("survivor", 1, "1h")
		Expect(hub.Create(ctx, elastic)).To(Succeed())
		run := func() (string, error) { return runningPodsAnywhere(ctx, t) }
		Eventually(run).WithContext(ctx).Should(Equal("1 run, 0 wait"))
		first := runsOfJob(ctx, elastic)
		Expect(first).To(HaveLen(1))
		for _, pods := range []int32{2, 5, 1, 3} {
			scale(ctx, hub, elastic, pods)
			Expect(hub.Program.Kill()).To(Succeed())
			Expect(hub.Program.Start(ctx)).To(Succeed())
			Eventually(run).WithContext(ctx).Should(Equal(fmt.Sprintf("%d run, 0 wait", pods)))
			Eventually(queueStatus).WithContext(ctx).WithArguments(hub, t).Should(Equal(fmt.Sprintf("pending 0, admitted 1, GPUs %d", pods)))
		}
		Expect(runsOfJob(ctx, elastic)).To(Equal(first))
	})

	It("leaves nothing behind when it is told to stop while it waits for more", func(ctx SpecContext) {
		t := newTeamOf(ctx, 8, 2, 0)
		elastic := t.elasticJob("stopped", 2, "1h")
		Expect(hub.Create(ctx, elastic)).To(Succeed())
		Eventually(runningPods).WithContext(ctx).WithArguments(w1, t).Should(Equal("2 run, 0 wait"))
		scale(ctx, hub, elastic, 4)
		Eventually(queueStatus).WithContext(ctx).WithArguments(w1, t).Should(Equal("pending 1, admitted 1, GPUs 2"))

		By("deactivating the slice that waits")
		var list kueue.WorkloadList
		Expect(hub.List(ctx, &list, client.InNamespace(t.name))).To(Succeed())
		for i := range list.Items {
			if wl := &list.Items[i]; wl.Spec.PodSets[0].Count == 4 {
				before := wl.DeepCopy()
				wl.Spec.Active = ptr.To(false)
				Expect(hub.Patch(ctx, wl, client.MergeFrom(before))).To(Succeed())
			}
		}
		Eventually(t.pods).WithContext(ctx).WithArguments(w1).Should(BeEmpty())
		Eventually(queueStatus).WithContext(ctx).WithArguments(w1, t).Should(Equal("pending 0, admitted 0, GPUs 0"))
		Eventually(queueStatus).WithContext(ctx).WithArguments(hub, t).Should(Equal("pending 0, admitted 0, GPUs 0"))
	})
})

// runsOfJob are the jobs on the workers that a job of the hub has there, each with the time of its start: another run has another.
func runsOfJob(ctx context.Context, job *batchv1.Job) []string {
	GinkgoHelper()
	var runs []string
	for _, s := range []*installation.Site{w1, w2} {
		remote := &batchv1.Job{}
		err := s.Get(ctx, client.ObjectKeyFromObject(job), remote)
		Expect(client.IgnoreNotFound(err)).To(Succeed())
		if err == nil {
			runs = append(runs, fmt.Sprintf("%s since %s", remote.UID, remote.Status.StartTime))
		}
	}
	return runs
}

// runningPodsAnywhere says how many pods of a team run, on the one worker where it has any.
func runningPodsAnywhere(ctx context.Context, t team) (string, error) {
	here, err := runningPods(ctx, w1, t)
	if err != nil {
		return "", err
	}
	there, err := runningPods(ctx, w2, t)
	switch none := "0 run, 0 wait"; {
	case here == none:
		return there, err
	case there == none:
		return here, err
	}
	return "on both: " + here + "; " + there, err
}
