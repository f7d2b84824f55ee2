package integration

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/config"
	"switchyard.dev/hub/logtail/kept"
)

// letTailsBeKept gives the hub's program the right to ConfigMaps that it has in no other spec.
func letTailsBeKept(ctx context.Context) {
	GinkgoHelper()
	objects, err := config.LogTails()
	Expect(err).NotTo(HaveOccurred())
	role, binding := &rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(objects[0].Object, role)).To(Succeed())
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(objects[1].Object, binding)).To(Succeed())
	binding.Subjects = []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: userOf(theHub)}}
	for _, object := range []client.Object{role, binding} {
		Expect(hub.Create(ctx, object)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(hub.Delete(ctx, object)).To(Succeed()) }, NodeTimeout(time.Minute))
	}
}

// tailsOf are the kept tails of a team.
func tailsOf(ctx context.Context, t team) ([]corev1.ConfigMap, error) {
	var list corev1.ConfigMapList
	err := hub.List(ctx, &list, client.InNamespace(t.name), client.HasLabels{switchyard.LogTailLabel})
	return list.Items, err
}

// tailsWritten counts how often the hub's program has written a tail of the team, whatever became of it.
func tailsWritten(t team) (count int) {
	GinkgoHelper()
	for _, event := range auditEvents(hub) {
		ref := event.ObjectRef
		if event.Verb == "create" && event.User.Username == userOf(theHub) && ref.Resource == "configmaps" && ref.Namespace == t.name {
			count++
		}
	}
	return count
}

var _ = Describe("The end of a failed job's logs", func() {
	It("is kept on the hub, and shown when the pods are gone", func(ctx SpecContext) {
		letTailsBeKept(ctx)
		grantAccess(ctx, w1, workeraccess.LevelLogs)
		program := otherHub{name: "hub-tails", configuration: runAlone(map[string]any{"access": map[string]any{"logTails": map[string]any{}}})}.takeOver(ctx)
		t := newTeamOf(ctx, 8, 8, 0)
		Expect(w1.WriteLog("no such file: " + t.name)).To(Succeed())
		failing := func() *batchv1.Job {
			job := t.job("broken", 1, "1s")
			job.Spec.Template.Annotations["switchyard.dev/exit-code"] = "3"
			return job
		}
		job := failing()
		Expect(hub.Create(ctx, job)).To(Succeed())
		Eventually(tailsOf).WithContext(ctx).WithArguments(t).Should(HaveLen(1))
		tails, err := tailsOf(ctx, t)
		Expect(err).NotTo(HaveOccurred())
		AddReportEntry("from the end of the job to its tail", tails[0].CreationTimestamp.Sub(finishedAt(ctx, job)).String())
		tail, err := kept.Read(&tails[0])
		Expect(err).NotTo(HaveOccurred())
		Expect(tail.Cluster).To(Equal("w1"))
		Expect(tail.Job).To(Equal(kept.Job{Kind: "Job.batch", Name: "broken"}))
		Expect(tail.LeftOut).To(BeEmpty())
		Expect(tail.Entries).To(ConsistOf(HaveField("ExitCode", HaveValue(BeEquivalentTo(3)))))
		Expect(tail.Text(tail.Entries[0])).To(ContainSubstring("no such file: " + t.name))

		By("starting the program anew, which fetches nothing again")
		Expect(program.Kill()).To(Succeed())
		Expect(program.Start(ctx)).To(Succeed())

		// Once the new program has dispatched a job it has seen the failed one, and knows what is left of it on the worker when it is deleted.
		By("keeping nothing of a job that succeeds")
		expectCompleteOn(ctx, "w1", t.job("fine", 1, "100ms"))

		By("deleting the job, whose tail stays")
		Expect(hub.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		expectNothingLeft(ctx, t)
		out, errs := newSwitchctlSession().types(ctx, 0, "logs", "job/broken", "-n", t.name)
		Expect(out).To(ContainSubstring("no such file: " + t.name))
		Expect(errs).To(ContainSubstring(`This is how their logs ended on cluster "w1"`))

		By("running another of the same name, which has a tail of its own")
		again := failing()
		Expect(hub.Create(ctx, again)).To(Succeed())
		Eventually(workloadCondition).WithContext(ctx).WithArguments(client.Object(again), kueue.WorkloadFinished).Should(HavePrefix("True Failed"))
		Eventually(tailsOf).WithContext(ctx).WithArguments(t).Should(HaveLen(2))
		Expect(tailsWritten(t)).To(Equal(2))
		Expect(hub.Delete(ctx, again, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		expectNothingLeft(ctx, t)
	}, SpecTimeout(4*time.Minute))
})
