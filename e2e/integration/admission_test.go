package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/installation"
)

// What admission says of itself with the gate of today's reasons switched off.
var _ = Describe("A cluster that speaks of admission as it used to", Ordered, ContinueOnFailure, func() {
	var old *installation.Site

	BeforeAll(func(ctx SpecContext) {
		old = startSingleCluster(ctx, "old", 1, map[string]any{"featureGates": map[string]any{"UnadmittedWorkloadsObservability": false}})
	}, NodeTimeout(5*time.Minute))

	It("gives a waiting job the reasons of old, and admits it when it may", func(ctx SpecContext) {
		t := newTeamAt(ctx, old, 2)
		job := t.job("large", 4, "1h")
		Expect(old.Create(ctx, job)).To(Succeed())
		quota := func() (string, error) { return workloadConditionAt(ctx, old, job, kueue.WorkloadQuotaReserved) }
		Eventually(quota).WithContext(ctx).Should(HavePrefix("False Pending couldn't assign flavors to pod set main: insufficient quota for "))
		Eventually(eventReasons).WithContext(ctx).WithArguments(old, t).Should(ContainElement("Pending"))
		Expect(workloadConditionAt(ctx, old, job, kueue.WorkloadAdmitted)).To(BeEmpty(), "it never was")

		setActive := func(active bool) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				wl, err := workloadAt(ctx, old, job)
				g.Expect(err).NotTo(HaveOccurred())
				before := wl.DeepCopy()
				wl.Spec.Active = ptr.To(active)
				g.Expect(old.Patch(ctx, wl, client.MergeFrom(before))).To(Succeed())
			}).WithContext(ctx).Should(Succeed())
		}
		setActive(false)
		evicted := func() (string, error) { return workloadConditionAt(ctx, old, job, kueue.WorkloadEvicted) }
		Eventually(evicted).WithContext(ctx).Should(HavePrefix("True Deactivated "))
		Expect(quota()).To(HavePrefix("False Pending couldn't assign flavors "), "nothing is said of deactivation there")
		setActive(true)
		Eventually(quota).WithContext(ctx).Should(HavePrefix("False Pending "))

		changeQueue(ctx, old, t, gpuQuota(4))
		expectRunning(ctx, old, job)
		Eventually(quota).WithContext(ctx).Should(HavePrefix("True QuotaReserved "))
	})

	It("says from the admission on that pods have not been ready, until they are", func(ctx SpecContext) {
		t := newTeamAt(ctx, old, 100)
		ready := func(job client.Object) func() (string, error) {
			return func() (string, error) { return workloadConditionAt(ctx, old, job, kueue.WorkloadPodsReady) }
		}
		large := t.job("no-node-has-that-many", 50, "1h")
		Expect(old.Create(ctx, large)).To(Succeed())
		Eventually(ready(large)).WithContext(ctx).Should(HavePrefix("False WaitForStart"))
		Expect(workloadConditionAt(ctx, old, large, kueue.WorkloadAdmitted)).To(HavePrefix("True"), "both are one write")
		small := t.job("small", 1, "1h")
		Expect(old.Create(ctx, small)).To(Succeed())
		Eventually(ready(small)).WithContext(ctx).Should(HavePrefix("True Started"))
		wl, err := workloadAt(ctx, old, small)
		Expect(err).NotTo(HaveOccurred())
		before := wl.DeepCopy()
		wl.Spec.Active = ptr.To(false) // a write of the admission part does not take the job's word away
		Expect(old.Patch(ctx, wl, client.MergeFrom(before))).To(Succeed())
		Eventually(workloadConditionAt).WithContext(ctx).WithArguments(old, client.Object(small), kueue.WorkloadEvicted).Should(HavePrefix("True"))
		Expect(ready(small)()).NotTo(BeEmpty())
	})

	It("closes a queue while a topology of its flavors is missing", func(ctx SpecContext) {
		t := newTeamAt(ctx, old, 2)
		Eventually(queueCondition).WithContext(ctx).WithArguments(old, t).Should(HavePrefix("True Ready"))
		flavor := &kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: t.name + "-racks"}}
		flavor.Spec.NodeLabels = map[string]string{"rack": "yes"}
		flavor.Spec.TopologyName = kueue.TopologyReference(t.name)
		Expect(old.Create(ctx, flavor)).To(Succeed())
		changeQueue(ctx, old, t, func(q *kueue.ClusterQueueSpec) {
			q.ResourceGroups[0].Flavors[0].Name = kueue.ResourceFlavorReference(flavor.Name)
		})
		Eventually(queueCondition).WithContext(ctx).WithArguments(old, t).Should(HavePrefix("False TopologyNotFound"))

		topology := &kueue.Topology{ObjectMeta: metav1.ObjectMeta{Name: t.name}}
		topology.Spec.Levels = []kueue.TopologyLevel{{NodeLabel: "rack"}}
		Expect(old.Create(ctx, topology)).To(Succeed())
		Eventually(queueCondition).WithContext(ctx).WithArguments(old, t).Should(HavePrefix("True Ready"))
	})
})
