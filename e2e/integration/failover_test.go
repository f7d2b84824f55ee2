package integration

import (
	"context"
	"fmt"
	"maps"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// hubLease is the name of the lease by which hub programs elect their leader.
const hubLease = "c1f6bfd2.kueue.x-k8s.io"

// leader is the identity of the hub program that leads, by its lease.
func leader(ctx context.Context) (string, error) {
	lease := &coordinationv1.Lease{}
	err := hub.Get(ctx, client.ObjectKey{Namespace: installation.Namespace, Name: hubLease}, lease)
	if err != nil || lease.Spec.HolderIdentity == nil {
		return "", err
	}
	return *lease.Spec.HolderIdentity, nil
}

// replica prepares a hub program beside the suite's. The API server calls the webhooks of the suite's, so this one listens
// where it gets no calls.
func replica(name string) *installation.Program {
	GinkgoHelper()
	webhooks, err := clusters.ReservePort()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(webhooks.Release()).To(Succeed()) })
	all := configuration(nil)
	maps.Copy(all, map[string]any{"webhook": map[string]any{"port": webhooks.Number}})
	return otherHub{name: name, configuration: all}.prepare()
}

// waitForLeader makes the replica the leader and the suite's hub program the one that waits.
func waitForLeader(ctx context.Context, replica *installation.Program) {
	GinkgoHelper()
	before, err := leader(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(hub.Program.Stop()).To(Succeed())
	Expect(replica.Start(ctx)).To(Succeed())
	Eventually(leader).WithContext(ctx).Should(And(Not(BeEmpty()), Not(Equal(before))))
	Expect(hub.Program.Start(ctx)).To(Succeed())
}

// submit makes jobs of which some wait for quota, some are being dispatched and some run, when the moment has come for the
// first.
func submit(ctx context.Context, t team, at crashPoint) []*batchv1.Job {
	GinkgoHelper()
	var jobs []*batchv1.Job
	for i := range 6 {
		jobs = append(jobs, t.job(fmt.Sprintf("train-%d", i), 2, "1s"))
		Expect(hub.Create(ctx, jobs[i])).To(Succeed())
	}
	at.waitUntil(ctx, jobs[0])
	return jobs
}

// expectAllOnce expects each job, of one pod, to complete after that pod and no other.
func expectAllOnce(ctx context.Context, t team, jobs []*batchv1.Job) {
	GinkgoHelper()
	for _, job := range jobs {
		expectComplete(ctx, job)
	}
	expectNothingLeft(ctx, t)
	for _, job := range jobs {
		Expect(podsScheduled(t, job.Name)).To(HaveLen(1), job.Name)
	}
}

// podsScheduled lists the pods of a job that were given a node on any worker.
func podsScheduled(t team, job string) []string {
	GinkgoHelper()
	var names []string
	for _, w := range workers {
		for _, event := range auditEvents(w) {
			ref := event.ObjectRef
			if event.Verb == "create" && ref.Resource == "pods" && ref.Subresource == "binding" && ref.Namespace == t.name &&
				strings.HasPrefix(ref.Name, job+"-") && event.ResponseStatus != nil && event.ResponseStatus.Code < 300 {
				names = append(names, ref.Name)
			}
		}
	}
	return names
}

var _ = Describe("Two hub programs", func() {
	It("are one hub: when the leader is killed in the middle of dispatches the other one goes on", func(ctx SpecContext) {
		second := replica("hub-second")
		DeferCleanup(func() { Expect(second.Stop()).To(Succeed()) })
		waitForLeader(ctx, second)
		t := newTeam(ctx, 8)
		jobs := submit(ctx, t, bound)
		dead, err := leader(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(second.Kill()).To(Succeed())
		Eventually(leader).WithContext(ctx).Should(And(Not(BeEmpty()), Not(Equal(dead))))
		expectAllOnce(ctx, t, jobs)
		for _, job := range jobs {
			Expect(creations(t, "jobs", job.Name)).To(Equal(1), job.Name)
		}
	})

	// The moment it wakes, before it sees that its lease is over, it may send what it was about to send. That may make an
	// object that goes again, but runs nothing: the copy that a job needs in order to start is gone, or has its job.
	It("are one hub: a leader that hung while the other one took over makes nothing run twice when it wakes", func(ctx SpecContext) {
		second := replica("hub-third")
		DeferCleanup(func() { Expect(second.Stop()).To(Succeed()) })
		waitForLeader(ctx, second)
		t := newTeam(ctx, 8)
		jobs := submit(ctx, t, offered)
		asleep, err := leader(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(second.Pause()).To(Succeed())
		Eventually(leader).WithContext(ctx).Should(And(Not(BeEmpty()), Not(Equal(asleep))))
		heir, err := leader(ctx)
		Expect(err).NotTo(HaveOccurred())
		bound.waitUntil(ctx, jobs[0])
		Expect(second.Resume()).To(Succeed())
		expectAllOnce(ctx, t, jobs)
		Eventually(func() bool {
			byItself, _ := second.Ended() // with an error, which is as it should be
			return byItself
		}).WithContext(ctx).Should(BeTrue(), "a leader without its lease ends")
		Expect(leader(ctx)).To(Equal(heir))
	})
})
