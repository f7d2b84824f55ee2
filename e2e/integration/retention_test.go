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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/installation"
)

// retain has a hub program take over that retains finished jobs.
func retain(ctx context.Context, afterFinished string) *installation.Program {
	GinkgoHelper()
	return otherHub{name: "hub-retaining", configuration: runAlone(map[string]any{
		"objectRetentionPolicies": map[string]any{"remoteObjects": map[string]any{"afterFinished": afterFinished}},
	})}.takeOver(ctx)
}

// finishedAt is when the end of a job was recorded on the hub.
func finishedAt(ctx context.Context, job client.Object) time.Time {
	GinkgoHelper()
	wl, err := workloadOf(ctx, job)
	Expect(err).NotTo(HaveOccurred())
	finished := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadFinished)
	Expect(finished).NotTo(BeNil())
	return finished.LastTransitionTime.Time
}

// removedAt is when a worker was asked to remove an object of the team.
func removedAt(w *installation.Site, t team, resource, name string) (at time.Time) {
	GinkgoHelper()
	for _, event := range auditEvents(w) {
		ref := event.ObjectRef
		if event.Verb == "delete" && ref.Resource == resource && ref.Namespace == t.name && ref.Name == name && at.IsZero() {
			at = event.RequestReceivedTimestamp.Time
		}
	}
	Expect(at).NotTo(BeZero())
	return at
}

// expectFinished waits for the end of a job to be recorded.
func expectFinished(ctx context.Context, job client.Object) {
	GinkgoHelper()
	Eventually(workloadCondition).WithContext(ctx).WithArguments(job, kueue.WorkloadFinished).Should(HavePrefix("True Succeeded"))
}

// stillOnW1 lists what w1 has of a team: jobs and pods by name, and copies, which must have finished to have no quota any more.
func stillOnW1(ctx context.Context, t team) ([]string, error) {
	var names []string
	var jobs batchv1.JobList
	var pods corev1.PodList
	var copies kueue.WorkloadList
	for _, list := range []client.ObjectList{&jobs, &pods, &copies} {
		if err := w1.List(ctx, list, client.InNamespace(t.name)); err != nil {
			return nil, err
		}
	}
	for i := range jobs.Items {
		names = append(names, "job "+jobs.Items[i].Name)
	}
	for i := range pods.Items {
		names = append(names, fmt.Sprintf("pod of %s %s", pods.Items[i].Labels[batchv1.JobNameLabel], pods.Items[i].Status.Phase))
	}
	for i := range copies.Items {
		names = append(names, "copy "+condition(copies.Items[i].Status.Conditions, kueue.WorkloadFinished))
	}
	return names, nil
}

var _ = Describe("A finished job that is retained", func() {
	It("stays on its worker with its pods, without quota, and goes when somebody deletes it", func(ctx SpecContext) {
		retain(ctx, "1h")
		t := newTeamOf(ctx, 8, 8, 0)
		first, second := t.job("first", 8, "100ms"), t.job("second", 8, "100ms")
		expectCompleteOn(ctx, "w1", first)
		By("running another in the place of the first")
		expectCompleteOn(ctx, "w1", second)
		Eventually(stillOnW1).WithContext(ctx).WithArguments(t).Should(ConsistOf(
			"job first", "job second", "pod of first Succeeded", "pod of second Succeeded", HavePrefix("copy True Succeeded"), HavePrefix("copy True Succeeded")))
		Expect(hub.Delete(ctx, first, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		Eventually(stillOnW1).WithContext(ctx).WithArguments(t).Should(ConsistOf(
			"job second", "pod of second Succeeded", HavePrefix("copy True Succeeded")))
		Expect(hub.Delete(ctx, second, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		expectNothingLeft(ctx, t)
	})

	It("goes when its time is over", func(ctx SpecContext) {
		retain(ctx, "5s")
		t := newTeamOf(ctx, 8, 8, 0)
		job := t.job("train", 1, "100ms")
		expectCompleteOn(ctx, "w1", job)
		expectNothingLeft(ctx, t)
		Expect(removedAt(w1, t, "jobs", "train")).To(BeTemporally(">=", finishedAt(ctx, job).Add(5*time.Second)))
		Expect(creations(t, "jobs", "train")).To(Equal(1))
	})

	It("stays through a restart of the hub's program, which does not begin the time anew", func(ctx SpecContext) {
		program := retain(ctx, "12s")
		t := newTeamOf(ctx, 8, 8, 0)
		job := t.job("train", 1, "100ms")
		expectCompleteOn(ctx, "w1", job)
		Expect(program.Kill()).To(Succeed())
		Expect(program.Start(ctx)).To(Succeed())
		restarted := time.Now()
		expectNothingLeft(ctx, t)
		removed := removedAt(w1, t, "jobs", "train")
		Expect(removed).To(BeTemporally(">=", finishedAt(ctx, job).Add(12*time.Second)))
		Expect(removed).To(BeTemporally("<", restarted.Add(12*time.Second)))
		Expect(creations(t, "jobs", "train")).To(Equal(1))
	})

	It("is in nobody's way who makes another of its name", func(ctx SpecContext) {
		retain(ctx, "1h")
		t := newTeamOf(ctx, 8, 8, 0)
		job := func() client.Object { return t.job("train", 1, "100ms") }
		set := func() client.Object { return t.jobSet("sweep", 1, "100ms") }
		for _, another := range []func() client.Object{job, set} {
			first := another()
			Expect(hub.Create(ctx, first)).To(Succeed())
			expectFinished(ctx, first)
			Expect(hub.Delete(ctx, first, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
			second := another()
			Expect(hub.Create(ctx, second)).To(Succeed())
			expectFinished(ctx, second)
		}
		Expect(creations(t, "jobs", "train")).To(Equal(2))
		Expect(creations(t, "jobsets", "sweep")).To(Equal(2))
		for _, last := range []client.Object{
			&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: "train"}},
			&jobset.JobSet{ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: "sweep"}},
		} {
			Expect(hub.Delete(ctx, last, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		}
		expectNothingLeft(ctx, t)
	})
})
