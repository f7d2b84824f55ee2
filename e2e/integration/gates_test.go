package integration

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/installation"
)

// gateOpenings lists the workers on which the hub has written the status of a copy of a team's Workloads, once for each
// write: it is the hub that opens gates, and it has nothing else to say there.
func gateOpenings(t team) []string {
	GinkgoHelper()
	account := "system:serviceaccount:" + installation.Namespace + ":" + installation.HubAccount
	var at []string
	for _, w := range workers {
		for _, event := range auditEvents(w) {
			ref := event.ObjectRef
			if event.User.Username == account && ref.Resource == "workloads" && ref.Subresource == "status" &&
				ref.Namespace == t.name && event.ResponseStatus != nil && event.ResponseStatus.Code < 300 {
				at = append(at, w.Name)
				GinkgoWriter.Println(w.Name, event.Verb, ref.Name, event.RequestReceivedTimestamp)
			}
		}
	}
	return at
}

// evicted renders the condition Evicted of a worker's own job.
func evicted(ctx context.Context, w *installation.Site, job *batchv1.Job) (string, error) {
	return workloadConditionAt(ctx, w, job, kueue.WorkloadEvicted)
}

var _ = Describe("Orchestrated preemption", func() {
	It("lets one worker preempt for a job, of two that would have to", func(ctx SpecContext) {
		configuration := runAlone(nil)
		configuration["featureGates"] = map[string]any{"MultiKueueOrchestratedPreemption": true}
		t := newTeamOf(ctx, 8, 8, 8)
		victims := map[string]*batchv1.Job{}
		priorities(ctx, hub, t)
		for _, w := range workers {
			priorities(ctx, w, t)
			changeQueue(ctx, w, t, func(q *kueue.ClusterQueueSpec) {
				q.Preemption = &kueue.ClusterQueuePreemption{WithinClusterQueue: kueue.PreemptionPolicyLowerPriority}
			})
			victims[w.Name] = withPriority(t.job("local", 8, "1h"), "low")
			Expect(w.Create(ctx, victims[w.Name])).To(Succeed())
			expectRunning(ctx, w, victims[w.Name])
		}
		otherHub{name: "hub-gates", configuration: configuration}.takeOver(ctx)

		job := withPriority(t.job("urgent", 8, "1h"), "high")
		Expect(hub.Create(ctx, job)).To(Succeed())
		won := boundTo(ctx, job)
		Eventually(activePodsAt).WithContext(ctx).WithArguments(won, job).Should(Equal(int32(1)))
		Expect(gateOpenings(t)).To(Equal([]string{won.Name}))
		for _, w := range workers {
			if w == won {
				Expect(evicted(ctx, w, victims[w.Name])).To(HavePrefix("True Preempted"))
				continue
			}
			Expect(evicted(ctx, w, victims[w.Name])).To(BeEmpty())
			Expect(running(ctx, w, victims[w.Name])).To(BeTrue())
			Eventually(copyAt).WithContext(ctx).WithArguments(w, client.Object(job)).Should(BeNil())
		}
		Expect(offersOf(job)).To(ConsistOf("w1", "w2"))
	})
})
