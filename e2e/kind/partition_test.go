package kind

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/controller"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// What the worker does for itself while nobody can tell it anything, and the hub only then.
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
	Eventually(registered).WithContext(ctx).WithArguments(lost, controller.FencedCondition).Should(HavePrefix("True"))

	Expect(part(ctx, lost)).To(Succeed())
	parted := time.Now()
	DeferCleanup(heal, lost)
	Eventually(registered).WithContext(ctx).WithArguments(lost, kueue.MultiKueueClusterActive).Should(HavePrefix("False"))
	say("%s is cut off from the hub, which has noticed after %.0f s", lost.name, time.Since(parted).Seconds())
	Eventually(podsOf).WithContext(ctx).WithTimeout(4*time.Minute).WithArguments(lost, once).Should(BeEmpty())
	Expect(clusterOf(ctx, once)).To(Equal(lost.name), "the hub has a margin yet to wait for")
	Expect(podsOf(ctx, other, once)).To(BeEmpty())
	say("its fence has stopped the job after %.0f s", time.Since(parted).Seconds())
	Eventually(running).WithContext(ctx).WithTimeout(4 * time.Minute).WithArguments(once).Should(Equal(other.name))
	say("the job runs on %s after %.0f s", other.name, time.Since(parted).Seconds())

	Expect(heal(ctx, lost)).To(Succeed())
	healed := time.Now()
	Eventually(registered).WithContext(ctx).WithTimeout(8*time.Minute).WithArguments(lost, kueue.MultiKueueClusterActive).Should(HavePrefix("True"))
	say("%s is connected again %.0f s after the network", lost.name, time.Since(healed).Seconds())
	Eventually(lost.held).WithContext(ctx).Should(BeEmpty())
	Expect(running(ctx, once)).To(Equal(other.name))
	made, err := creationsOf(ctx, once)
	Expect(err).NotTo(HaveOccurred())
	Expect(made).To(HaveExactElements(HaveField("On", lost.name), HaveField("On", other.name)))
	remove(ctx, once)
}

// part drops everything between the hub's node and the worker's; both keep their addresses and the rest of the network.
func part(ctx context.Context, w *kindCluster) error { return firewall(ctx, w, "-I") }

// heal undoes part; it may have been undone already.
func heal(ctx context.Context, w *kindCluster) error {
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
