package integration

import (
	"fmt"
	"maps"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/installation"
)

var _ = Describe("Dispatch", func() {
	It("runs a Job on one worker, shows its status on the hub, and leaves nothing behind", func(ctx SpecContext) {
		t := newTeam(ctx, 8)
		job := t.job("train", 4, "2s")
		Expect(hub.Create(ctx, job)).To(Succeed())

		By("suspending it and handing it to the dispatcher at creation")
		Expect(job.Spec.Suspend).To(HaveValue(BeTrue()))
		Expect(job.Spec.ManagedBy).To(HaveValue(Equal(kueue.MultiKueueControllerName)))

		expectComplete(ctx, job)
		By("showing what happened on the worker as if it had happened on the hub")
		Expect(job.Status.Succeeded).To(Equal(int32(1)))
		Expect(clusterOf(ctx, job)).To(BeElementOf("w1", "w2"))
		wl, err := workloadOf(ctx, job)
		Expect(err).NotTo(HaveOccurred())
		Expect(wl.Status.AdmissionChecks).To(HaveLen(1))
		Expect(wl.Status.AdmissionChecks[0].State).To(Equal(kueue.CheckStateReady))
		Expect(wl.Status.AdmissionChecks[0].Message).To(HavePrefix(`The workload was admitted on "` + *wl.Status.ClusterName + `"`))
		Expect(wl.Status.NominatedClusterNames).To(BeEmpty())

		expectNothingLeft(ctx, t)
		Expect(creations(t, "jobs", "train")).To(Equal(1))
		By("starting no pod on the hub")
		hubPods := &corev1.PodList{}
		Expect(hub.List(ctx, hubPods, client.InNamespace(t.name))).To(Succeed())
		Expect(hubPods.Items).To(BeEmpty())
	}, SpecTimeout(2*1e11))

	It("runs a JobSet on one worker", func(ctx SpecContext) {
		t := newTeam(ctx, 8)
		set := t.jobSet("sweep", 2, "1s")
		Expect(hub.Create(ctx, set)).To(Succeed())
		Eventually(func() ([]metav1.Condition, error) {
			err := hub.Get(ctx, client.ObjectKeyFromObject(set), set)
			return set.Status.Conditions, err
		}).WithContext(ctx).Should(ContainElement(And(
			HaveField("Type", string(jobset.JobSetCompleted)), HaveField("Status", metav1.ConditionTrue))))
		expectNothingLeft(ctx, t)
		Expect(creations(t, "jobsets", "sweep")).To(Equal(1))
	})

	It("reports a failed Job as failed and does not run it again", func(ctx SpecContext) {
		t := newTeam(ctx, 8)
		job := t.job("broken", 1, "1s")
		job.Spec.Template.Annotations["switchyard.dev/exit-code"] = "3"
		Expect(hub.Create(ctx, job)).To(Succeed())
		Eventually(workloadCondition).WithContext(ctx).WithArguments(client.Object(job), kueue.WorkloadFinished).
			Should(HavePrefix("True Failed"))
		expectNothingLeft(ctx, t)
		Expect(creations(t, "jobs", "broken")).To(Equal(1))
	})

	It("lets a worker that has room take what the other has no room for", func(ctx SpecContext) {
		t := newTeam(ctx, 8)
		By("giving w1 to somebody else")
		local := t.job("local", 8, "1h")
		Expect(w1.Create(ctx, local)).To(Succeed())
		Eventually(func() (*bool, error) {
			err := w1.Get(ctx, client.ObjectKeyFromObject(local), local)
			return local.Spec.Suspend, err
		}).WithContext(ctx).Should(HaveValue(BeFalse()))

		job := t.job("train", 8, "1s")
		expectCompleteOn(ctx, "w2", job)
		Expect(w1.Delete(ctx, local, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		expectNothingLeft(ctx, t)
	})

	It("queues what exceeds the hub's quota and starts it when there is room", func(ctx SpecContext) {
		t := newTeam(ctx, 4)
		first, second := t.job("first", 4, "2s"), t.job("second", 4, "1s")
		Expect(hub.Create(ctx, first)).To(Succeed())
		Eventually(workloadCondition).WithContext(ctx).WithArguments(client.Object(first), kueue.WorkloadAdmitted).
			Should(HavePrefix("True Admitted"))
		Expect(hub.Create(ctx, second)).To(Succeed())
		Eventually(workloadCondition).WithContext(ctx).WithArguments(client.Object(second), kueue.WorkloadQuotaReserved).
			Should(HavePrefix("False WaitingForQuota"))
		expectComplete(ctx, first)
		expectComplete(ctx, second)
		expectNothingLeft(ctx, t)
	})

	It("removes everything from the workers when the user deletes the Job", func(ctx SpecContext) {
		t := newTeam(ctx, 8)
		job := t.job("endless", 1, "1h")
		Expect(hub.Create(ctx, job)).To(Succeed())
		Eventually(func() (int32, error) {
			err := hub.Get(ctx, client.ObjectKeyFromObject(job), job)
			return job.Status.Active, err
		}).WithContext(ctx).Should(Equal(int32(1)))
		Expect(hub.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		expectNothingLeft(ctx, t)
		Eventually(func() (*kueue.Workload, error) { return workloadOf(ctx, job) }).WithContext(ctx).Should(BeNil())
	})

	It("stops the Job on the worker when its Workload is deactivated on the hub, and runs it after reactivation", func(ctx SpecContext) {
		t := newTeam(ctx, 8)
		job := t.job("paused", 1, "2s")
		job.Spec.Template.Annotations["switchyard.dev/run-for"] = "6s"
		Expect(hub.Create(ctx, job)).To(Succeed())
		Eventually(workloadCondition).WithContext(ctx).WithArguments(client.Object(job), kueue.WorkloadAdmitted).
			Should(HavePrefix("True"))
		setActive(ctx, job, false)
		Eventually(workloadCondition).WithContext(ctx).WithArguments(client.Object(job), kueue.WorkloadQuotaReserved).
			Should(HavePrefix("False"))
		expectNothingLeft(ctx, t)
		setActive(ctx, job, true)
		expectComplete(ctx, job)
		expectNothingLeft(ctx, t)
	})

	It("sends the Job elsewhere when the worker evicts it", func(ctx SpecContext) {
		t := newTeam(ctx, 8)
		job := t.job("moved", 1, "1h")
		Expect(hub.Create(ctx, job)).To(Succeed())
		Eventually(workloadCondition).WithContext(ctx).WithArguments(client.Object(job), kueue.WorkloadAdmitted).
			Should(HavePrefix("True"))
		first, err := clusterOf(ctx, job)
		Expect(err).NotTo(HaveOccurred())
		By("draining the worker's queue")
		for _, w := range workers {
			if w.Name == first {
				drain(ctx, w, t)
			}
		}
		Eventually(clusterOf).WithContext(ctx).WithArguments(client.Object(job)).
			Should(And(Not(BeEmpty()), Not(Equal(first))))
		Eventually(func() (int, error) {
			active := 0
			for _, w := range workers {
				jobs := &batchv1.JobList{}
				if err := w.List(ctx, jobs, client.InNamespace(t.name)); err != nil {
					return 0, err
				}
				active += len(jobs.Items)
			}
			return active, nil
		}).WithContext(ctx).Should(Equal(1))
		Expect(hub.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		expectNothingLeft(ctx, t)
	})
})

var _ = Describe("The public API", func() {
	It("serves v1beta1 beside v1beta2, converted", func(ctx SpecContext) {
		t := newTeam(ctx, 8)
		queue := &unstructured.Unstructured{}
		queue.SetGroupVersionKind(schema.GroupVersionKind{Group: kueue.GroupVersion.Group, Version: "v1beta1", Kind: "ClusterQueue"})
		Expect(hub.Get(ctx, client.ObjectKey{Name: t.name}, queue)).To(Succeed())
		queue.SetName(t.name + "-old")
		queue.SetResourceVersion("")
		queue.SetUID("")
		queue.SetFinalizers(nil)
		unstructured.RemoveNestedField(queue.Object, "spec", "admissionChecksStrategy")
		Expect(unstructured.SetNestedField(queue.Object, "everybody", "spec", "cohort")).To(Succeed())
		Expect(unstructured.SetNestedStringSlice(queue.Object, []string{"multikueue"}, "spec", "admissionChecks")).To(Succeed())
		Expect(hub.Create(ctx, queue)).To(Succeed())

		stored := &kueue.ClusterQueue{}
		Expect(hub.Get(ctx, client.ObjectKey{Name: t.name + "-old"}, stored)).To(Succeed())
		Expect(stored.Spec.CohortName).To(Equal(kueue.CohortReference("everybody")))
		Expect(stored.Spec.AdmissionChecksStrategy.AdmissionChecks).To(HaveExactElements(HaveField("Name", kueue.AdmissionCheckReference("multikueue"))))
	})

	It("owns the admission part of the status with one field manager", func(ctx SpecContext) {
		t := newTeam(ctx, 8)
		job := t.job("owned", 1, "1s")
		Expect(hub.Create(ctx, job)).To(Succeed())
		expectComplete(ctx, job)
		wl, err := workloadOf(ctx, job)
		Expect(err).NotTo(HaveOccurred())
		managers := map[string]metav1.ManagedFieldsOperationType{}
		for _, entry := range wl.ManagedFields {
			if entry.Subresource == "status" {
				managers[entry.Manager] = entry.Operation
			}
		}
		Expect(managers).To(HaveKeyWithValue("kueue-admission", metav1.ManagedFieldsOperationApply))
	})

	It("rejects at the door what could never work, and says what to change", func(ctx SpecContext) {
		t := newTeam(ctx, 8)
		queue := clusterQueue(t.name+"-bad", 1)
		queue.Spec.ResourceGroups[0].Flavors[0].Resources[0].NominalQuota.Neg()
		Expect(hub.Create(ctx, queue)).To(MatchError(ContainSubstring("nominalQuota")))

		queue = clusterQueue(t.name+"-bad", 1)
		queue.Spec.ResourceGroups[0].Flavors[0].Resources[0].BorrowingLimit = ptr.To(queue.Spec.ResourceGroups[0].Flavors[0].Resources[0].NominalQuota)
		Expect(hub.Create(ctx, queue)).To(MatchError(ContainSubstring("borrowingLimit")))

		job := t.job("moving", 1, "1h")
		Expect(hub.Create(ctx, job)).To(Succeed())
		Eventually(workloadCondition).WithContext(ctx).WithArguments(client.Object(job), kueue.WorkloadAdmitted).Should(HavePrefix("True"))
		Eventually(func() error {
			if err := hub.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil {
				return err
			}
			if ptr.Deref(job.Spec.Suspend, false) {
				return nil
			}
			job.Labels[kueue.QueueNameLabel] = "other"
			return hub.Update(ctx, job)
		}).WithContext(ctx).Should(MatchError(ContainSubstring(kueue.QueueNameLabel)))
		Expect(hub.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		expectNothingLeft(ctx, t)
	})

	// An API server that has just been started forbids everything until it has read the roles, so only what was never allowed
	// counts.
	It("is asked for nothing that the roles of the programs and of the hub's account forbid", func() {
		account := "system:serviceaccount:" + installation.Namespace + ":" + installation.HubAccount
		for _, s := range []*installation.Site{hub, w1, w2} {
			denied, allowed := map[string]bool{}, map[string]bool{}
			for _, event := range auditEvents(s) {
				user, ref := event.User.Username, event.ObjectRef
				if user != account && user != "switchyard-hub" && user != "switchyard-worker" {
					continue
				}
				call := fmt.Sprintf("%s may not %s %s/%s.%s", user, event.Verb, ref.Resource, ref.Subresource, ref.APIGroup)
				if event.ResponseStatus.Code == http.StatusForbidden {
					denied[call] = true
				} else {
					allowed[call] = true
				}
			}
			maps.DeleteFunc(denied, func(call string, _ bool) bool { return allowed[call] })
			Expect(denied).To(BeEmpty(), "on %s", s.Name)
			Expect(allowed).NotTo(BeEmpty(), "on %s", s.Name)
		}
	})
})
