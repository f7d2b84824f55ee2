package integration

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/installation"
)

// setActive writes spec.active of a job's Workload on the hub.
func setActive(ctx context.Context, job client.Object, active bool) {
	GinkgoHelper()
	wl, err := workloadOf(ctx, job)
	Expect(err).NotTo(HaveOccurred())
	before := wl.DeepCopy()
	wl.Spec.Active = &active
	Expect(hub.Patch(ctx, wl, client.MergeFrom(before))).To(Succeed())
}

// drain stops a team's queue on a worker and evicts what runs there.
func drain(ctx context.Context, w *installation.Site, t team) {
	GinkgoHelper()
	queue := &kueue.ClusterQueue{}
	Expect(w.Get(ctx, client.ObjectKey{Name: t.name}, queue)).To(Succeed())
	before := queue.DeepCopy()
	queue.Spec.StopPolicy = kueue.HoldAndDrain
	Expect(w.Patch(ctx, queue, client.MergeFrom(before))).To(Succeed())
}
