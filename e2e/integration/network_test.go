package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/e2e/installation"
	"switchyard.dev/e2e/network"
)

// breakLink does that to the link of a worker until the end of the spec at most, when it is mended if it is not yet.
func breakLink(w *installation.Site, how func(*network.Link)) {
	GinkgoHelper()
	how(w.Link)
	DeferCleanup(restoreLink, w)
}

// restoreLink mends the link of a worker and returns when the hub is connected to it. If it is not, it tries now, as when an
// administrator has written new credentials: left alone it may wait for minutes after many attempts.
func restoreLink(ctx context.Context, w *installation.Site) {
	GinkgoHelper()
	w.Link.Pass()
	said, err := connected(ctx, w.Name)
	Expect(err).NotTo(HaveOccurred())
	if !strings.HasPrefix(said, "True") {
		secret := &corev1.Secret{}
		Expect(hub.Get(ctx, client.ObjectKey{Namespace: installation.Namespace, Name: w.Name + "-kubeconfig"}, secret)).To(Succeed())
		before := secret.DeepCopy()
		secret.Data["kubeconfig"] = append(secret.Data["kubeconfig"], '\n')
		Expect(hub.Patch(ctx, secret, client.MergeFrom(before))).To(Succeed())
	}
	Eventually(connected).WithContext(ctx).WithArguments(w.Name).Should(HavePrefix("True Active"))
}

// boundTo waits until a job is bound and returns the worker.
func boundTo(ctx context.Context, job *batchv1.Job) *installation.Site {
	GinkgoHelper()
	var name string
	Eventually(func() (string, error) {
		var err error
		name, err = clusterOf(ctx, job)
		return name, err
	}).WithContext(ctx).WithPolling(5 * time.Millisecond).ShouldNot(BeEmpty())
	return workers[slices.IndexFunc(workers, func(w *installation.Site) bool { return w.Name == name })]
}

// jobAt tells whether a worker has a job of that name.
func jobAt(ctx context.Context, w *installation.Site, job *batchv1.Job) (bool, error) {
	err := w.Get(ctx, client.ObjectKeyFromObject(job), &batchv1.Job{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// timeToStart submits a job and measures how long it takes until its copy on a worker has been started.
func timeToStart(ctx context.Context, job *batchv1.Job) time.Duration {
	GinkgoHelper()
	start := time.Now()
	Expect(hub.Create(ctx, job)).To(Succeed())
	started := onAWorker(func(j *batchv1.Job) bool { return j.Spec.Suspend != nil && !*j.Spec.Suspend })
	Eventually(started).WithContext(ctx).WithArguments(job).WithPolling(10 * time.Millisecond).Should(BeTrue())
	return time.Since(start)
}

// What becomes of the jobs of a worker that stays away is in policies_test.go.
var _ = Describe("The network", func() {
	It("may part a worker from the hub in the middle of dispatches: no job is lost and none runs twice", func(ctx SpecContext) {
		t := newTeam(ctx, 8)
		var jobs []*batchv1.Job
		for i := range 6 {
			jobs = append(jobs, t.job(fmt.Sprintf("train-%d", i), 2, "2s"))
			Expect(hub.Create(ctx, jobs[i])).To(Succeed())
		}
		lost := boundTo(ctx, jobs[0])
		breakLink(lost, (*network.Link).Partition)
		Eventually(connected).WithContext(ctx).WithArguments(lost.Name).Should(HavePrefix("False ClientConnectionFailed"))
		lost.Link.Pass()
		for _, job := range jobs {
			expectComplete(ctx, job)
			Expect(creations(t, "jobs", job.Name)).To(Equal(1), job.Name)
		}
		expectNothingLeft(ctx, t)
		Expect(clusterOf(ctx, jobs[0])).To(Equal(lost.Name))
	})

	// Calls to a worker may take 15 s, and it takes 10 to 20 s until one that says nothing is given up: a dispatch that had
	// to wait for either would be far above what is allowed here.
	It("may swallow what is sent to one worker: the other one's jobs start as soon as ever", func(ctx SpecContext) {
		t := newTeam(ctx, 8)
		drain(ctx, w1, t)
		usual := timeToStart(ctx, t.job("before", 1, "1s"))
		breakLink(w1, (*network.Link).BlackHole)
		var jobs []*batchv1.Job
		for i := range 4 {
			jobs = append(jobs, t.job(fmt.Sprintf("during-%d", i), 1, "1s"))
			took := timeToStart(ctx, jobs[i])
			GinkgoWriter.Printf("%s started after %s, usual are %s\n", jobs[i].Name, took, usual)
			Expect(took).To(BeNumerically("<", 2*usual+5*time.Second))
		}
		for _, job := range jobs {
			expectComplete(ctx, job)
		}
		w1.Link.Pass()
		expectNothingLeft(ctx, t)
	})

	It("may be slow: with half a second each way to the only worker that takes it, a job runs once and is cleaned up", func(ctx SpecContext) {
		t := newTeam(ctx, 8)
		drain(ctx, w2, t)
		breakLink(w1, func(l *network.Link) { l.Delay(500 * time.Millisecond) })
		job := t.job("train", 1, "1s")
		expectCompleteOn(ctx, "w1", job)
		expectNothingLeft(ctx, t)
		Expect(creations(t, "jobs", "train")).To(Equal(1))
		Expect(connected(ctx, "w1")).To(HavePrefix("True Active"))
	})
})
