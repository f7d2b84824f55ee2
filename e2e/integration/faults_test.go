package integration

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// crashPoint is a point in the life of a dispatched job that a test can wait for.
type crashPoint struct {
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

// Moments in the life of a dispatched job.
var (
	offered = crashPoint{"it was offered to the workers", onHub(func(wl *kueue.Workload) bool {
		return len(wl.Status.NominatedClusterNames) > 0 || wl.Status.ClusterName != nil
	})}
	bound = crashPoint{"it is bound to a worker", onHub(func(wl *kueue.Workload) bool { return wl.Status.ClusterName != nil })}
	ended = crashPoint{"it has ended on the worker", onAWorker(func(j *batchv1.Job) bool {
		return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobComplete })
	})}
)

// waitUntil returns the moment the moment has come.
func (m crashPoint) waitUntil(ctx context.Context, job *batchv1.Job) {
	GinkgoHelper()
	Eventually(m.reached).WithContext(ctx).WithArguments(job).WithPolling(5*time.Millisecond).Should(BeTrue(), m.name)
}

var _ = Describe("Faults", func() {
	// Every other moment is in crash_test.go; here the next hub has to wait for the lease of the dead one.
	for _, m := range []crashPoint{bound, ended} {
		It("loses nothing and runs nothing twice when the hub is killed the moment "+m.name, func(ctx SpecContext) {
			t := newTeam(ctx, 8)
			job := t.job("train", 1, "3s")
			Expect(hub.Create(ctx, job)).To(Succeed())
			m.waitUntil(ctx, job)
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
		offered.waitUntil(ctx, jobs[0])
		Expect(w1.StopAPIServer()).To(Succeed())
		Eventually(connected).WithContext(ctx).WithArguments("w1").Should(HavePrefix("False ClientConnectionFailed"))
		Expect(w1.StartAPIServer(ctx)).To(Succeed())
		restoreLink(ctx, w1)

		for _, job := range jobs {
			expectComplete(ctx, job)
			Expect(creations(t, "jobs", job.Name)).To(Equal(1))
		}
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
