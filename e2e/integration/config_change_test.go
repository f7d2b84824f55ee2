package integration

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// newTeamOn makes a team with a check and a MultiKueueConfig of its own, both of its name, which lists those workers in that
// order; with eight GPUs at the hub, and as many as given at each worker.
func newTeamOn(ctx context.Context, policy switchyard.RunPolicy, listed []string, atWorkers ...int) team {
	GinkgoHelper()
	return newTeamBy(ctx, func(name string) *kueue.ClusterQueue {
		newFleetCheck(ctx, name, policy, listed...)
		return clusterQueue(name, 8, name)
	}, atWorkers...)
}

// relist writes which workers a team's MultiKueueConfig lists, in that order.
func relist(ctx context.Context, t team, listed ...string) {
	GinkgoHelper()
	config := &kueue.MultiKueueConfig{}
	Expect(hub.Get(ctx, client.ObjectKey{Name: t.name}, config)).To(Succeed())
	before := config.DeepCopy()
	config.Spec.Clusters = listed
	Expect(hub.Patch(ctx, config, client.MergeFrom(before))).To(Succeed())
}

// switchConfig makes a team's check use a MultiKueueConfig of another name, which lists those workers. Of it there is what the spec
// leaves until its end.
func switchConfig(ctx context.Context, t team, name string, listed ...string) *kueue.MultiKueueConfig {
	GinkgoHelper()
	config := &kueue.MultiKueueConfig{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: kueue.MultiKueueConfigSpec{Clusters: listed}}
	Expect(hub.Create(ctx, config)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(hub.Delete(ctx, config))).To(Succeed()) })
	check := &kueue.AdmissionCheck{}
	Expect(hub.Get(ctx, client.ObjectKey{Name: t.name}, check)).To(Succeed())
	before := check.DeepCopy()
	check.Spec.Parameters.Name = name
	Expect(hub.Patch(ctx, check, client.MergeFrom(before))).To(Succeed())
	return config
}

// unregister makes the hub forget a worker, until what it returns is called or the spec ends.
func unregister(ctx context.Context, w *installation.Site) (again func(context.Context)) {
	GinkgoHelper()
	known := registered(w)
	Expect(hub.Get(ctx, client.ObjectKeyFromObject(known), known)).To(Succeed())
	Expect(hub.Delete(ctx, known)).To(Succeed())
	again = func(ctx context.Context) {
		GinkgoHelper()
		next := registered(w)
		next.Spec = known.Spec
		Expect(client.IgnoreAlreadyExists(hub.Create(ctx, next))).To(Succeed())
		Eventually(connected).WithContext(ctx).WithArguments(w.Name).Should(Equal("True Active Connected"))
	}
	DeferCleanup(func(ctx SpecContext) { again(ctx) })
	return again
}

// unending is a job of one pod, which runs until letEnd.
func (t team) unending(name string, gpus int) *batchv1.Job {
	job := t.job(name, gpus, "")
	delete(job.Spec.Template.Annotations, clusters.RunForAnnotation)
	return job
}

// runAndWait submits two jobs of a team that has four GPUs on each worker, those of w2 taken: when it returns, one of them runs on
// w1 until letEnd, and the other one waits on both for as long.
func (t team) runAndWait(ctx context.Context) (runs, waits *batchv1.Job) {
	GinkgoHelper()
	runs, waits = t.unending("runs", 4), t.job("waits", 4, "100ms")
	Expect(hub.Create(ctx, runs)).To(Succeed())
	awaitOn(ctx, w1, runs)
	Expect(hub.Create(ctx, waits)).To(Succeed())
	Eventually(copiesOf).WithContext(ctx).WithArguments(waits).Should(Equal([]string{"w1", "w2"}))
	return runs, waits
}

// endJob lets the pod of an unending job end that runs on a worker.
func endJob(ctx context.Context, w *installation.Site, job *batchv1.Job) {
	GinkgoHelper()
	var list corev1.PodList
	Expect(w.List(ctx, &list, client.InNamespace(job.Namespace), client.MatchingLabels{batchv1.JobNameLabel: job.Name})).To(Succeed())
	Expect(list.Items).To(HaveLen(1))
	annotate(ctx, w, &list.Items[0], clusters.RunForAnnotation, "100ms")
}

// crash kills the hub program and starts it again, with nothing but what is stored, after things have happened meanwhile.
func crash(ctx context.Context, meanwhile ...func()) {
	GinkgoHelper()
	Expect(hub.Program.Kill()).To(Succeed())
	for _, happens := range meanwhile {
		happens()
	}
	Expect(hub.Program.Start(ctx)).To(Succeed())
}

// hasDebt tells whether the hub's Workload of a job has it on record that an earlier run may not be over.
func hasDebt(ctx context.Context, job *batchv1.Job) (bool, error) {
	wl, err := workloadOf(ctx, job)
	return err == nil && wl != nil && meta.IsStatusConditionTrue(wl.Status.Conditions, dispatch.ConditionType), err
}

// countRuns lists the workers on which the job of a hub's job was made, in that order.
func countRuns(job *batchv1.Job) []string {
	GinkgoHelper()
	var names []string
	for _, made := range creationsOf(job, "jobs", job.Name) {
		names = append(names, made.worker)
	}
	return names
}

// What the other dispatchers make of such changes is in dispatchers_test.go and bestfit_test.go.
var _ = Describe("The clusters that a MultiKueueConfig lists", Ordered, ContinueOnFailure, func() {
	BeforeAll(func(ctx SpecContext) {
		// Nothing here is to depend on being quicker than a grace.
		otherHub{name: "hub-configs", configuration: runAlone(map[string]any{"workerLostTimeout": "1h"})}.takeOver(ctx)
	})

	It("may change while a job waits: it loses its copy where it may not run any more, and runs where it now may", func(ctx SpecContext) {
		t := newTeamOn(ctx, "", []string{"w1", "w2"}, 4, 4)
		local := occupy(ctx, w1, t, 4)
		occupy(ctx, w2, t, 4)
		job := t.job("train", 4, "100ms")
		Expect(hub.Create(ctx, job)).To(Succeed())
		Eventually(copiesOf).WithContext(ctx).WithArguments(job).Should(Equal([]string{"w1", "w2"}))

		By("taking one out")
		relist(ctx, t, "w2")
		Eventually(copiesOf).WithContext(ctx).WithArguments(job).Should(Equal([]string{"w2"}))
		Eventually(checkMessage).WithContext(ctx).WithArguments(client.Object(job)).Should(And(Not(ContainSubstring(`"w1"`)), MatchRegexp(
			`^waiting for a cluster to admit the workload \(clusters: 1 waiting\); "w2" waiting since \S+Z: waits for quota: `)))

		By("putting it in again, where there is room by now")
		Expect(w1.Delete(ctx, local, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		relist(ctx, t, "w2", "w1")
		expectComplete(ctx, job)
		Expect(offersOf(job)).To(ConsistOf("w1", "w2", "w1"))
		Expect(countRuns(job)).To(Equal([]string{"w1"}))
		expectNothingLeftBut(ctx, t, "local")
	})

	// By a policy that promises that its runs never overlap, not even by pods that are about to end.
	It("may change under a job that runs: it has ended there before it runs elsewhere, or there again, though the hub is killed", func(ctx SpecContext) {
		t := newTeamOn(ctx, switchyard.NeverLose, []string{"w1", "w2"}, 8, 8)
		seen := watchPods(t)
		closeQueue(ctx, w2, t)
		job := t.unending("train", 1)
		Expect(hub.Create(ctx, job)).To(Succeed())
		awaitOn(ctx, w1, job)

		By("taking its cluster out")
		relist(ctx, t, "w2")
		Eventually(clusterOf).WithContext(ctx).WithArguments(client.Object(job)).Should(BeEmpty())
		Eventually(jobAt).WithContext(ctx).WithArguments(w1, job).Should(BeFalse())
		Eventually(copiesOf).WithContext(ctx).WithArguments(job).Should(Equal([]string{"w2"}))

		By("putting it in again")
		relist(ctx, t, "w1", "w2")
		awaitOn(ctx, w1, job)

		By("taking it out and killing the hub as soon as it has begun to leave")
		openQueue(ctx, w2, t)
		relist(ctx, t, "w2")
		Eventually(hasDebt).WithContext(ctx).WithArguments(job).WithPolling(5 * time.Millisecond).Should(BeTrue())
		crash(ctx)
		awaitOn(ctx, w2, job)

		endJob(ctx, w2, job)
		expectComplete(ctx, job)
		Expect(countRuns(job)).To(Equal([]string{"w1", "w1", "w2"}))
		Expect(seen.listFaults()).To(BeEmpty())
		expectNothingLeft(ctx, t)
	})

	It("may be those of another config, or of none for some time: what runs there ends there, and what waits goes on with the next", func(ctx SpecContext) {
		t := newTeamOn(ctx, "", []string{"w1", "w2"}, 4, 4)
		occupy(ctx, w2, t, 4)
		runs, waits := t.runAndWait(ctx)

		By("pointing the check to another one")
		other := switchConfig(ctx, t, t.name+"-other", "w1")
		Eventually(copiesOf).WithContext(ctx).WithArguments(waits).Should(Equal([]string{"w1"}))

		By("deleting that, and killing the hub while the job ends")
		Expect(hub.Delete(ctx, other)).To(Succeed())
		Eventually(checkActive).WithContext(ctx).WithArguments(t.name).Should(HavePrefix("False BadConfig Cannot load the AdmissionChecks parameters: "))
		crash(ctx, func() {
			endJob(ctx, w1, runs)
			ended.waitUntil(ctx, runs)
		})
		expectComplete(ctx, runs)
		Eventually(jobAt).WithContext(ctx).WithArguments(w1, runs).Should(BeFalse())
		Eventually(copyAdmitted).WithContext(ctx).WithArguments(w1, waits).Should(BeTrue(), "there is room now")
		Expect(clusterOf(ctx, waits)).To(BeEmpty(), "nobody says that it may run there")

		By("making it anew")
		Expect(hub.Create(ctx, &kueue.MultiKueueConfig{ObjectMeta: metav1.ObjectMeta{Name: other.Name}, Spec: other.Spec})).To(Succeed())
		expectComplete(ctx, waits)
		Expect(countRuns(runs)).To(Equal([]string{"w1"}))
		Expect(countRuns(waits)).To(Equal([]string{"w1"}))
		expectNothingLeftBut(ctx, t, "local")
	})

	It("may be unknown to the hub for some time, even while it is killed: what runs there runs once and is heard of", func(ctx SpecContext) {
		t := newTeamOn(ctx, "", []string{"w1", "w2"}, 4, 4)
		local := occupy(ctx, w2, t, 4)
		runs, waits := t.runAndWait(ctx)

		By("deleting its MultiKueueCluster")
		register := unregister(ctx, w1)
		Eventually(checkActive).WithContext(ctx).WithArguments(t.name).Should(Equal("True SomeActiveClusters Missing clusters: [w1]"))
		crash(ctx)
		By("running elsewhere what waited there, and nothing that runs there")
		Expect(w2.Delete(ctx, local, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		expectComplete(ctx, waits)
		Expect(clusterOf(ctx, waits)).To(Equal("w2"))
		endJob(ctx, w1, runs)
		ended.waitUntil(ctx, runs)
		Expect(clusterOf(ctx, runs)).To(Equal("w1"))
		Expect(copyAt(ctx, w1, waits)).NotTo(BeNil(), "nobody could take it away")

		By("registering it again")
		register(ctx)
		expectComplete(ctx, runs)
		expectNothingLeft(ctx, t)
		Expect(countRuns(runs)).To(Equal([]string{"w1"}))
		Expect(countRuns(waits)).To(Equal([]string{"w2"}))
	})
})

// copyAdmitted tells whether a worker has admitted the copy of a job's Workload.
func copyAdmitted(ctx context.Context, w *installation.Site, job client.Object) (bool, error) {
	remote, err := copyAt(ctx, w, job)
	return err == nil && remote != nil && meta.IsStatusConditionTrue(remote.Status.Conditions, kueue.WorkloadAdmitted), err
}
