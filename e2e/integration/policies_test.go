package integration

import (
	"context"
	"fmt"
	"regexp"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/fencing"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/e2e/installation"
	"switchyard.dev/e2e/network"
)

// tenant is a team with one endless job.
type tenant struct {
	team
	job *batchv1.Job
	// pod is the one that runs on w1 at first.
	pod  []string
	seen *podLog
	// until is when its job must have been stopped on w1.
	until time.Time
}

// terms are the check and the policy of a tenant's queue, "" for none.
type terms struct {
	check  string
	policy switchyard.RunPolicy
}

// newTenants makes teams and returns when the job of each runs on w1. Their pods end within a second of being told.
func newTenants(ctx context.Context, each ...terms) []*tenant {
	GinkgoHelper()
	var all []*tenant
	for _, on := range each {
		t := newTeamBy(ctx, func(name string) *kueue.ClusterQueue {
			queue := clusterQueue(name, 8, on.check)
			if on.policy != "" {
				queue.Annotations = map[string]string{switchyard.RunPolicyAnnotation: string(on.policy)}
			}
			return queue
		}, 8, 8)
		one := &tenant{team: t, job: t.job("train", 1, "1h"), seen: watchPods(t)}
		one.job.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](1)
		all = append(all, one)
		closeQueue(ctx, w2, t)
		Expect(hub.Create(ctx, one.job)).To(Succeed())
	}
	for _, one := range all {
		awaitOn(ctx, w1, one.job)
		openQueue(ctx, w2, one.team)
		var err error
		one.pod, err = one.pods(ctx, w1)
		Expect(err).NotTo(HaveOccurred())
		Expect(one.pod).To(HaveLen(1))
	}
	return all
}

// newFleetCheck makes a check of a fleet of its own, of some of the same workers, with a policy, "" for none, until the end of
// the spec.
func newFleetCheck(ctx context.Context, name string, policy switchyard.RunPolicy, listed ...string) {
	GinkgoHelper()
	for _, object := range installation.MultiKueueCheck(name, listed...) {
		if config, ok := object.(*kueue.MultiKueueConfig); ok && policy != "" {
			config.Annotations = map[string]string{switchyard.RunPolicyAnnotation: string(policy)}
		}
		Expect(hub.Create(ctx, object)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(hub.Delete(ctx, object)).To(Succeed()) })
	}
	Eventually(checkActive).WithContext(ctx).WithArguments(name).Should(HavePrefix("True Active"))
}

// msgHeld matches what the check says of a job that a policy holds on w1.
func msgHeld(policy, prospect string) string {
	return fmt.Sprintf(`^Held by the policy "%s": worker cluster "w1" cannot be reached since \S+Z; %s`, policy, prospect)
}

// fenced renders the hub's condition of a worker that says whether it is fenced.
func fenced(ctx context.Context, w *installation.Site) (string, error) {
	cluster := registered(w)
	err := hub.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)
	return condition(cluster.Status.Conditions, fencing.Condition), err
}

// One partition for all policies: it has to last for as long as a run lease, a margin and a termination grace.
var _ = Describe("A worker out of reach", Ordered, begunEarly, Label("slow"), func() {
	var compatible, runOnce, runOnceFleet, neverLose *tenant

	BeforeAll(func(ctx SpecContext) {
		newFleetCheck(ctx, "run-once", switchyard.RunOnce, "w1", "w2")
		all := newTenants(ctx, terms{"multikueue", ""}, terms{"multikueue", switchyard.RunOnce}, terms{"run-once", ""},
			terms{"multikueue", switchyard.NeverLose})
		compatible, runOnce, runOnceFleet, neverLose = all[0], all[1], all[2], all[3]
		By("waiting until the worker is known to have a fence")
		Eventually(fenced).WithContext(ctx).WithArguments(w1).Should(HavePrefix("True Fenced"))
		By("parting it from the hub")
		breakLink(w1, (*network.Link).Partition)
		Eventually(connected).WithContext(ctx).WithArguments("w1").Should(HavePrefix("False"))
	})

	It("keeps its jobs for the grace, under any policy; what has more to wait for says so", func(ctx SpecContext) {
		for one, message := range map[*tenant]string{
			compatible:   `^The workload was admitted on "w1"`,
			runOnce:      msgHeld("run once", `its job must have been stopped there by \S+Z, and may run elsewhere then$`),
			runOnceFleet: msgHeld("run once", `its job must have been stopped there by \S+Z, and may run elsewhere then$`),
			neverLose:    msgHeld("never lose", `the workload waits for its return, or until somebody declares it gone$`),
		} {
			Eventually(checkMessage).WithContext(ctx).WithArguments(one.job).Should(MatchRegexp(message))
			Expect(clusterOf(ctx, one.job)).To(Equal("w1"))
		}
	})

	It("loses a job to another one after the grace, if the policy is the compatible one, though it may run there still", func(ctx SpecContext) {
		Eventually(clusterOf).WithContext(ctx).WithArguments(compatible.job).Should(Equal("w2"))
		expectRunning(ctx, w2, compatible.job.DeepCopy())
		Expect(compatible.pods(ctx, w1)).To(Equal(compatible.pod), "nobody could tell the lost worker")
	})

	It("stops by itself what is to run once, and only when it must have done so the job runs elsewhere", func(ctx SpecContext) {
		both := []*tenant{runOnce, runOnceFleet}
		for _, one := range both {
			one.until = timeIn(ctx, one, `stopped there by (\S+Z)`)
		}
		for _, one := range both {
			Eventually(one.pods).WithContext(ctx).WithArguments(w1).Should(BeEmpty())
			Expect(time.Now()).To(BeTemporally("<", one.until))
			Expect(clusterOf(ctx, one.job)).To(Equal("w1"), "there is the margin yet to wait for")
		}
		for _, one := range both {
			Eventually(activePodsAt).WithContext(ctx).WithTimeout(2*time.Minute).WithArguments(w2, one.job).Should(Equal(int32(1)))
			made := creationsOf(one.job, "jobs", "train")
			Expect(made).To(HaveLen(2))
			Expect(made[1].at).To(BeTemporally(">=", one.until))
			Expect(one.seen.listFaults()).To(BeEmpty())
		}
	}, SpecTimeout(5*time.Minute))

	It("still has what it is never to lose when it is back, and nothing of what runs elsewhere", func(ctx SpecContext) {
		restoreLink(ctx, w1)
		Eventually(checkMessage).WithContext(ctx).WithArguments(neverLose.job).Should(Equal(`The workload was admitted on "w1"`))
		Expect(neverLose.pods(ctx, w1)).To(Equal(neverLose.pod), "it ran on all the time")
		Expect(creations(neverLose.team, "jobs", "train")).To(Equal(1))
		for _, one := range []*tenant{compatible, runOnce, runOnceFleet} {
			Eventually(jobAt).WithContext(ctx).WithArguments(w1, one.job).Should(BeFalse())
			Expect(clusterOf(ctx, one.job)).To(Equal("w2"))
			Expect(creations(one.team, "jobs", "train")).To(Equal(2))
		}
		for _, one := range []*tenant{runOnce, runOnceFleet, neverLose} {
			Expect(one.seen.listFaults()).To(BeEmpty())
		}
		for _, one := range []*tenant{compatible, runOnce, runOnceFleet, neverLose} {
			Expect(hub.Delete(ctx, one.job, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
			expectNothingLeft(ctx, one.team)
		}
	})
})

var _ = Describe("A worker out of reach for good", func() {
	// As one that runs stock Kueue: there is no fence, and no lease of it.
	It("keeps what nothing there would stop, and what is never to be lost, until somebody declares it gone", func(ctx SpecContext) {
		both := newTenants(ctx, terms{"multikueue", switchyard.RunOnce}, terms{"multikueue", switchyard.NeverLose})
		runOnce, neverLose := both[0], both[1]
		By("taking the fence away")
		Expect(w1.Program.Kill()).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			if !w1.Program.Running() {
				Expect(w1.Program.Start(ctx)).To(Succeed())
			}
		})
		Expect(w1.Delete(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Namespace: installation.Namespace, Name: switchyard.FenceLease,
		}})).To(Succeed())
		Eventually(fenced).WithContext(ctx).WithArguments(w1).Should(HavePrefix("False NoFence Nothing there stops this hub's jobs"))

		By("parting it from the hub")
		breakLink(w1, (*network.Link).Partition)
		By("saying of a new job that it cannot be offered there")
		closeQueue(ctx, w2, runOnce.team)
		late := runOnce.team.job("late", 1, "1h")
		Expect(hub.Create(ctx, late)).To(Succeed())
		Eventually(checkMessage).WithContext(ctx).WithArguments(late).Should(And(
			MatchRegexp(`"w1" lost since \S+Z: cannot be reached`), MatchRegexp(`"w2" refused since \S+Z: cannot admit it: `)))
		Expect(hub.Delete(ctx, late, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		openQueue(ctx, w2, runOnce.team)

		By("holding both after the grace")
		for one, message := range map[*tenant]string{
			runOnce:   msgHeld("run once", `nothing there would stop the job \(fencing: none\), so that the workload waits for its return, or until`),
			neverLose: msgHeld("never lose", `the workload waits for its return, or until somebody declares it gone$`),
		} {
			Eventually(checkMessage).WithContext(ctx).WithArguments(one.job).Should(MatchRegexp(message))
		}
		lost := timeIn(ctx, runOnce, `reached since (\S+Z)`)
		Eventually(time.Since).WithArguments(lost).Should(BeNumerically(">", 20*time.Second), "five seconds more than workerLostTimeout")
		for _, one := range both {
			Expect(clusterOf(ctx, one.job)).To(Equal("w1"))
			Expect(one.pods(ctx, w1)).To(Equal(one.pod))
		}

		By("believing a person")
		setAnnotation(ctx, w1, switchyard.GoneAnnotation, "true")
		for _, one := range both {
			Eventually(activePodsAt).WithContext(ctx).WithArguments(w2, one.job).Should(Equal(int32(1)))
			Expect(clusterOf(ctx, one.job)).To(Equal("w2"))
		}

		By("cleaning up there when it is back after all")
		Expect(w1.Program.Start(ctx)).To(Succeed())
		removeAnnotation(ctx, w1, switchyard.GoneAnnotation)
		restoreLink(ctx, w1)
		for _, one := range both {
			Eventually(jobAt).WithContext(ctx).WithArguments(w1, one.job).Should(BeFalse())
			Expect(activePodsAt(ctx, w2, one.job)).To(Equal(int32(1)))
			Expect(hub.Delete(ctx, one.job, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
			expectNothingLeft(ctx, one.team)
		}
	}, SpecTimeout(4*time.Minute))
})

// timeIn is the time that a tenant's check tells, by an expression of which it is the first group.
func timeIn(ctx context.Context, one *tenant, expression string) time.Time {
	GinkgoHelper()
	message, err := checkMessage(ctx, one.job)
	Expect(err).NotTo(HaveOccurred())
	found := regexp.MustCompile(expression).FindStringSubmatch(message)
	Expect(found).To(HaveLen(2), message)
	at, err := time.Parse(time.RFC3339, found[1])
	Expect(err).NotTo(HaveOccurred())
	return at
}
