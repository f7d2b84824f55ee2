package integration

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/installation"
)

// moment is a point in the life of a dispatched job that a test can wait for.
type moment struct {
	name    string
	reached func(ctx context.Context, job *batchv1.Job) (bool, error)
}

func onHub(holds func(*kueue.Workload) bool) func(context.Context, *batchv1.Job) (bool, error) {
	return func(ctx context.Context, job *batchv1.Job) (bool, error) {
		wl, err := workloadOf(ctx, job)
		return err == nil && wl != nil && holds(wl), err
	}
}

// onAWorker holds when a worker has a job of that name that the predicate accepts.
func onAWorker(holds func(*batchv1.Job) bool) func(context.Context, *batchv1.Job) (bool, error) {
	return func(ctx context.Context, job *batchv1.Job) (bool, error) {
		for _, w := range workers {
			remote := &batchv1.Job{}
			err := w.Get(ctx, client.ObjectKeyFromObject(job), remote)
			if client.IgnoreNotFound(err) != nil {
				return false, err
			}
			if err == nil && holds(remote) {
				return true, nil
			}
		}
		return false, nil
	}
}

// moments are all the writes in the life of a dispatched job, in order.
var moments = []moment{
	{"its Workload exists", onHub(func(*kueue.Workload) bool { return true })},
	{"it has quota", onHub(func(wl *kueue.Workload) bool { return wl.Status.Admission != nil })},
	{"it was offered to the workers", onHub(func(wl *kueue.Workload) bool {
		return len(wl.Status.NominatedClusterNames) > 0 || wl.Status.ClusterName != nil
	})},
	{"it is bound to a worker", onHub(func(wl *kueue.Workload) bool { return wl.Status.ClusterName != nil })},
	{"its copy exists on the worker", onAWorker(func(*batchv1.Job) bool { return true })},
	{"it runs", onAWorker(func(j *batchv1.Job) bool { return j.Status.Active > 0 })},
	{"it has ended on the worker", onAWorker(func(j *batchv1.Job) bool {
		return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobComplete })
	})},
}

var _ = Describe("Faults", Serial, func() {
	for _, m := range moments {
		It("loses nothing and runs nothing twice when the hub is killed the moment "+m.name, func(ctx SpecContext) {
			t := newTeam(ctx, 8)
			job := t.job("train", 1, "3s")
			Expect(hub.Create(ctx, job)).To(Succeed())
			reached := func() (bool, error) { return m.reached(ctx, job) }
			Eventually(reached).WithContext(ctx).WithPolling(5e6).Should(BeTrue())
			Expect(hub.Program.Kill()).To(Succeed())
			Expect(hub.Program.Start(ctx)).To(Succeed())

			expectComplete(ctx, job)
			expectNothingLeft(ctx, t)
			Expect(creations(t, "jobs", "train")).To(Equal(1))
		})
	}

	It("goes on when a worker's API server is killed and restarted in the middle of a dispatch", func(ctx SpecContext) {
		t := newTeam(ctx, 8)
		var jobs []*batchv1.Job
		for _, name := range []string{"a", "b", "c", "d"} {
			job := t.job(name, 4, "3s")
			jobs = append(jobs, job)
			Expect(hub.Create(ctx, job)).To(Succeed())
		}
		offered := func() (bool, error) { return moments[2].reached(ctx, jobs[0]) }
		Eventually(offered).WithContext(ctx).WithPolling(5e6).Should(BeTrue())
		Expect(w1.StopAPIServer()).To(Succeed())
		Eventually(connected).WithContext(ctx).WithArguments("w1").Should(HavePrefix("False ClientConnectionFailed"))
		Expect(w1.StartAPIServer(ctx)).To(Succeed())
		Eventually(connected).WithContext(ctx).WithArguments("w1").Should(HavePrefix("True Active"))

		for _, job := range jobs {
			expectComplete(ctx, job)
			Expect(creations(t, "jobs", job.Name)).To(Equal(1))
		}
		expectNothingLeft(ctx, t)
	})

	It("gives a lost worker's job to the other one only after the grace, and cleans up when the worker is back", func(ctx SpecContext) {
		t := newTeam(ctx, 8)
		job := t.job("train", 1, "4s")
		Expect(hub.Create(ctx, job)).To(Succeed())
		Eventually(clusterOf).WithContext(ctx).WithArguments(client.Object(job)).ShouldNot(BeEmpty())
		name, err := clusterOf(ctx, job)
		Expect(err).NotTo(HaveOccurred())
		lost := workers[slices.IndexFunc(workers, func(w *installation.Site) bool { return w.Name == name })]
		Expect(lost.PauseAPIServer()).To(Succeed())
		DeferCleanup(func() { Expect(lost.ResumeAPIServer()).To(Succeed()) })

		Eventually(connected).WithContext(ctx).WithArguments(name).WithTimeout(30 * 1e9).Should(HavePrefix("False"))
		Consistently(clusterOf).WithContext(ctx).WithArguments(client.Object(job)).Should(Equal(name))
		Eventually(clusterOf).WithContext(ctx).WithArguments(client.Object(job)).WithTimeout(90 * 1e9).
			Should(And(Not(BeEmpty()), Not(Equal(name))))
		expectComplete(ctx, job)
		Expect(lost.ResumeAPIServer()).To(Succeed())
		expectNothingLeft(ctx, t)
	})

	It("works on through the restart of a worker's program", func(ctx SpecContext) {
		t := newTeam(ctx, 8)
		job := t.job("train", 1, "2s")
		for _, w := range workers {
			Expect(w.Program.Kill()).To(Succeed())
		}
		Expect(hub.Create(ctx, job)).To(Succeed())
		for _, w := range workers {
			Expect(w.Program.Start(ctx)).To(Succeed())
		}
		expectComplete(ctx, job)
		expectNothingLeft(ctx, t)
		Expect(ptr.Deref(job.Spec.Suspend, true)).To(BeFalse())
	})
})
