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

// burst is more jobs than the queue has room for, so that some are always on their way.
const burst = 12

func survivesTheHubsDeath(ctx SpecContext) {
	var jobs []*batchv1.Job
	var objects []client.Object
	for i := range burst {
		j := job(fmt.Sprintf("burst-%d", i), main, "sleep", "10s")
		jobs, objects = append(jobs, j), append(objects, j)
		Expect(hub.Create(ctx, j)).To(Succeed())
	}
	Eventually(clusterOf).WithContext(ctx).WithArguments(client.Object(jobs[0])).ShouldNot(BeEmpty())

	leader := holder(ctx)
	Expect(hub.killProgram(ctx, "hub", leader)).To(Succeed())
	killed := time.Now()
	say("killed the leading hub program, %s, with jobs on their way", leader)
	Eventually(func() (int32, error) {
		var pod corev1.Pod
		err := hub.Get(ctx, client.ObjectKey{Namespace: system, Name: leader}, &pod)
		if err != nil || len(pod.Status.ContainerStatuses) == 0 {
			return 0, err
		}
		return pod.Status.ContainerStatuses[0].RestartCount, nil
	}).WithContext(ctx).Should(Equal(int32(1)))

	for _, j := range jobs {
		expectComplete(ctx, j)
	}
	after := 0
	for _, j := range jobs {
		made, err := creationsOf(ctx, j)
		Expect(err).NotTo(HaveOccurred())
		Expect(made).To(HaveLen(1), "%s ran once", j.Name)
		if made[0].At.After(killed) {
			after++
		}
	}
	Expect(after).To(And(BeNumerically(">", 0), BeNumerically("<", burst)), "some were dispatched before, others after")
	remove(ctx, objects...)
	say("%d jobs ran once each, %d of them dispatched after the kill", burst, after)
}

// holder is the pod that leads on the hub.
func holder(ctx context.Context) string {
	GinkgoHelper()
	var lease coordinationv1.Lease
	Expect(hub.Get(ctx, client.ObjectKey{Namespace: system, Name: leaderLease}, &lease)).To(Succeed())
	pod, _, found := strings.Cut(ptr.Deref(lease.Spec.HolderIdentity, ""), "_")
	Expect(found).To(BeTrue(), "%v names a pod", lease.Spec.HolderIdentity)
	return pod
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
