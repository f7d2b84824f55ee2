package kind

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// leaderLease is the name of the lease of the chart's programs.
const leaderLease = "c1f6bfd2.kueue.x-k8s.io"

// submitBurst is more jobs than the queue has room for, so that some are always on their way.
const submitBurst = 12

func survivesTheHubsDeath(ctx SpecContext) {
	var jobs []*batchv1.Job
	submit := func(name string) {
		j := job(name, main, "sleep", "10s")
		jobs = append(jobs, j)
		// While one of two programs is gone a call of its webhooks may fail, and is tried again.
		Eventually(hub.Create).WithContext(ctx).WithArguments(client.Object(j)).Should(Succeed())
	}
	for i := range submitBurst {
		submit(fmt.Sprintf("burst-%d", i))
	}
	Eventually(creationsOf).WithContext(ctx).WithArguments(client.Object(jobs[0])).ShouldNot(BeEmpty())

	var leader string
	var restarts int32
	Eventually(func() (err error) {
		leader, restarts, err = killLeader(ctx)
		return err
	}).WithContext(ctx).Should(Succeed())
	killed := time.Now()
	logf("killed the leading hub program, %s, with jobs on their way", leader)
	submit("late") // should all others have been dispatched on a slow machine
	Eventually(restartsOf).WithContext(ctx).WithArguments(leader).Should(BeNumerically(">", restarts))

	after, objects := 0, []client.Object{}
	for _, j := range jobs {
		expectComplete(ctx, j)
		made, err := creationsOf(ctx, j)
		if err == nil && len(made) == 0 { // the hub was killed before it was answered; it has run, so that one took effect
			made, err = unansweredOf(ctx, j)
		}
		Expect(err).NotTo(HaveOccurred())
		Expect(made).To(HaveLen(1), "%s ran once", j.Name)
		if made[0].At.After(killed) {
			after++
		}
		objects = append(objects, j)
	}
	Expect(after).To(And(BeNumerically(">", 0), BeNumerically("<", len(jobs))), "some were dispatched before, others after")
	remove(ctx, objects...)
	logf("%d jobs ran once each, %d of them dispatched after the kill", len(jobs), after)
}

// killLeader kills the program that leads on the hub, and tells its pod and how often that had been started again before.
func killLeader(ctx context.Context) (leader string, restarts int32, err error) {
	var lease coordinationv1.Lease
	if err := hub.Get(ctx, client.ObjectKey{Namespace: system, Name: leaderLease}, &lease); err != nil {
		return "", 0, err
	}
	leader, _, _ = strings.Cut(ptr.Deref(lease.Spec.HolderIdentity, ""), "_")
	if restarts, err = restartsOf(ctx, leader); err != nil {
		return "", 0, err
	}
	return leader, restarts, hub.killProgram(ctx, "hub", leader)
}

// restartsOf is how often the container of a pod of the hub's was started again.
func restartsOf(ctx context.Context, pod string) (int32, error) {
	var p corev1.Pod
	if err := hub.Get(ctx, client.ObjectKey{Namespace: system, Name: pod}, &p); err != nil {
		return 0, err
	}
	if len(p.Status.ContainerStatuses) == 0 {
		return 0, fmt.Errorf("%s has no container", pod)
	}
	return p.Status.ContainerStatuses[0].RestartCount, nil
}

// killProgram kills the program of a pod as a crash would: nothing is said before.
func (c *kindCluster) killProgram(ctx context.Context, program, pod string) error {
	_, err := c.run(ctx, "sh", "-c", `for p in /proc/[0-9]*; do
		[ "$(cat $p/comm 2>/dev/null)" = "$0" ] && grep -qzx "HOSTNAME=$1" $p/environ && kill -KILL ${p#/proc/} && exit 0
	done; echo "no such process" >&2; exit 1`, program, pod)
	return err
}

// memory is what each process of the program takes, in MiB.
func (c *kindCluster) memory(ctx context.Context, program string) (string, error) {
	out, err := c.run(ctx, "sh", "-c", `for p in /proc/[0-9]*; do
		[ "$(cat $p/comm 2>/dev/null)" = "$0" ] && awk '/^VmRSS/ { printf "%d MiB ", $2 / 1024 }' $p/status
	done; exit 0`, program)
	return strings.TrimSpace(out), err
}
