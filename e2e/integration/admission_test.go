package integration

import (
	"fmt"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// activeAt is the condition Active of a site's ClusterQueue.
func activeAt(ctx SpecContext, s *installation.Site, name string) (string, error) {
	queue := &kueue.ClusterQueue{}
	err := s.Get(ctx, client.ObjectKey{Name: name}, queue)
	return condition(queue.Status.Conditions, kueue.ClusterQueueActive), err
}

// What admission says of itself where somebody has switched off how it says it today.
var _ = Describe("A cluster that speaks of admission as it used to", Ordered, ContinueOnFailure, func() {
	var old *installation.Site

	BeforeAll(func(ctx SpecContext) {
		root, err := clusters.SourceRoot()
		Expect(err).NotTo(HaveOccurred())
		stage, err := installation.Raise(ctx, installation.StageOptions{
			Hub: clusters.Options{
				Name: "old", JobSet: true,
				Nodes: []clusters.NodePool{{Name: "gpu", Count: 1, GPUClass: "H100", GPUs: 8}},
			},
			Programs:      filepath.Join(root, "bin"),
			Configuration: map[string]any{"featureGates": map[string]any{"UnadmittedWorkloadsObservability": false}},
		})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(stage.Stop()).To(Succeed()) })
		old = stage.Hub
	}, NodeTimeout(5*time.Minute))

	newTeamOld := func(ctx SpecContext, gpus int) team {
		GinkgoHelper()
		teams++
		t := team{name: fmt.Sprintf("team-%d", teams)}
		t.setUp(ctx, old, clusterQueue(t.name, gpus))
		return t
	}

	It("gives a waiting job the reasons of old, and admits it when it may", func(ctx SpecContext) {
		t := newTeamOld(ctx, 2)
		job := t.job("large", 4, "1h")
		Expect(old.Create(ctx, job)).To(Succeed())
		quota := func() (string, error) { return workloadConditionAt(ctx, old, job, kueue.WorkloadQuotaReserved) }
		Eventually(quota).WithContext(ctx).Should(HavePrefix("False Pending ExceedsMaxQuota: "))
		Eventually(eventReasons).WithContext(ctx).WithArguments(old, t).Should(ContainElement("Pending"))

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
		Eventually(quota).WithContext(ctx).Should(HavePrefix("False Inadmissible Deactivated: "))
		setActive(true)
		Eventually(quota).WithContext(ctx).Should(HavePrefix("False Pending "))

		changeQueue(ctx, old, t, func(q *kueue.ClusterQueueSpec) {
			q.ResourceGroups[0].Flavors[0].Resources[0].NominalQuota.Set(4)
		})
		expectRunning(ctx, old, job)
		Eventually(quota).WithContext(ctx).Should(HavePrefix("True QuotaReserved "))
	})

	It("says from the admission on that pods have not been ready, until they are", func(ctx SpecContext) {
		t := newTeamOld(ctx, 100)
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
		t := newTeamOld(ctx, 2)
		Eventually(activeAt).WithContext(ctx).WithArguments(old, t.name).Should(HavePrefix("True Ready"))
		flavor := &kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: t.name + "-racks"}}
		flavor.Spec.NodeLabels = map[string]string{"rack": "yes"}
		flavor.Spec.TopologyName = kueue.TopologyReference(t.name)
		Expect(old.Create(ctx, flavor)).To(Succeed())
		changeQueue(ctx, old, t, func(q *kueue.ClusterQueueSpec) {
			q.ResourceGroups[0].Flavors[0].Name = kueue.ResourceFlavorReference(flavor.Name)
		})
		Eventually(activeAt).WithContext(ctx).WithArguments(old, t.name).Should(HavePrefix("False TopologyNotFound"))

		topology := &kueue.Topology{ObjectMeta: metav1.ObjectMeta{Name: t.name}}
		topology.Spec.Levels = []kueue.TopologyLevel{{NodeLabel: "rack"}}
		Expect(old.Create(ctx, topology)).To(Succeed())
		Eventually(activeAt).WithContext(ctx).WithArguments(old, t.name).Should(HavePrefix("True Ready"))
	})
})
