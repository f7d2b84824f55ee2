package kind

import (
	"context"
	"errors"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/fencing"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// What the worker does for itself while no hub can reach it, and the hub only then.
func survivesAPartition(ctx SpecContext) {
	once := job("once", main, "sleep", "1h")
	Expect(hub.Create(ctx, once)).To(Succeed())
	Eventually(running).WithContext(ctx).WithArguments(once).ShouldNot(BeEmpty())
	name, err := running(ctx, once)
	Expect(err).NotTo(HaveOccurred())
	lost, other := w1, w2
	if name == w2.name {
		lost, other = w2, w1
	}
	Eventually(registered).WithContext(ctx).WithArguments(lost, fencing.Condition).Should(HavePrefix("True"))

	var pods corev1.PodList
	its, err := lost.Watch(ctx, &pods, client.InNamespace(once.Namespace), client.MatchingLabels{batchv1.JobNameLabel: once.Name})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(its.Stop)
	followed, err := followLog(ctx, once)
	Expect(err).NotTo(HaveOccurred())
	Expect(cutNetwork(ctx, lost)).To(Succeed())
	parted := time.Now()
	DeferCleanup(restoreNetwork, lost)
	Eventually(registered).WithContext(ctx).WithArguments(lost, kueue.MultiKueueClusterActive).Should(HavePrefix("False"))
	logf("%s is cut off from the hub, which has noticed after %.0f s", lost.name, time.Since(parted).Seconds())
	stopped, err := ended(ctx, its)
	Expect(err).NotTo(HaveOccurred())
	logf("its fence has stopped the job after %.0f s", stopped.Sub(parted).Seconds())
	Eventually(followed).WithContext(ctx).Should(Receive())
	logf("whoever followed its log through the hub knows after %.0f s", time.Since(parted).Seconds())
	Eventually(running).WithContext(ctx).WithTimeout(10 * time.Minute).WithArguments(once).Should(Equal(other.name))
	logf("the job runs on %s after %.0f s", other.name, time.Since(parted).Seconds())

	Expect(restoreNetwork(ctx, lost)).To(Succeed())
	healed := time.Now()
	Eventually(registered).WithContext(ctx).WithTimeout(12*time.Minute).WithArguments(lost, kueue.MultiKueueClusterActive).Should(HavePrefix("True"))
	logf("%s is connected again %.0f s after the network", lost.name, time.Since(healed).Seconds())
	Eventually(lost.listTeamObjects).WithContext(ctx).Should(BeEmpty())
	Expect(running(ctx, once)).To(Equal(other.name))
	made, err := creationsOf(ctx, once)
	Expect(err).NotTo(HaveOccurred())
	Expect(made).To(HaveExactElements(HaveField("On", lost.name), HaveField("On", other.name)))
	Expect(made[1].At).To(BeTemporally(">", stopped), "it was made on %s after its end on %s", other.name, lost.name)
	remove(ctx, once)
}

// ended waits until a pod is gone and tells when its container ended, which the kubelet says; all nodes have one clock.
func ended(ctx context.Context, pods watch.Interface) (time.Time, error) {
	for {
		select {
		case event, open := <-pods.ResultChan():
			if !open {
				return time.Time{}, errors.New("the watch of pods has ended")
			}
			pod, isPod := event.Object.(*corev1.Pod)
			if !isPod || event.Type != watch.Deleted {
				continue
			}
			for _, s := range pod.Status.ContainerStatuses {
				if s.State.Terminated != nil {
					return s.State.Terminated.FinishedAt.Time, nil
				}
			}
			return time.Now(), nil // it has ended by now
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		}
	}
}

// cutNetwork drops everything between the hub's node and the worker's; both keep their addresses and the rest of the network.
func cutNetwork(ctx context.Context, w *kindCluster) error { return firewall(ctx, w, "-I") }

// restoreNetwork undoes part; it may have been undone already.
func restoreNetwork(ctx context.Context, w *kindCluster) error {
	if _, err := w.run(ctx, "iptables", "-w", "-C", "INPUT", "-s", hub.ip, "-j", "DROP"); err != nil {
		return nil //nolint:nilerr // there is no such rule
	}
	return firewall(ctx, w, "-D")
}

func firewall(ctx context.Context, w *kindCluster, verb string) error {
	for _, rule := range [][]string{{"OUTPUT", "-d"}, {"INPUT", "-s"}} {
		if _, err := w.run(ctx, "iptables", "-w", verb, rule[0], rule[1], hub.ip, "-j", "DROP"); err != nil {
			return err
		}
	}
	return nil
}

// registered is a condition of a worker at the hub, as "<status> <reason> <message>".
func registered(ctx context.Context, w *kindCluster, condition string) (string, error) {
	var c kueue.MultiKueueCluster
	if err := hub.Get(ctx, client.ObjectKey{Name: w.name}, &c); err != nil {
		return "", err
	}
	found := meta.FindStatusCondition(c.Status.Conditions, condition)
	if found == nil {
		return "", fmt.Errorf("%s has no condition %s", w.name, condition)
	}
	return fmt.Sprintf("%s %s %s", found.Status, found.Reason, found.Message), nil
}
