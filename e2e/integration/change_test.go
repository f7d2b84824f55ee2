package integration

import (
	"context"
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
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
	changeQueue(ctx, w, t, func(q *kueue.ClusterQueueSpec) { q.StopPolicy = kueue.HoldAndDrain })
}

// closeQueue stops a team's queue on a worker, leaves alone what runs there, and returns when the worker knows.
func closeQueue(ctx context.Context, w *installation.Site, t team) {
	GinkgoHelper()
	changeQueue(ctx, w, t, func(q *kueue.ClusterQueueSpec) { q.StopPolicy = kueue.Hold })
	Eventually(queueCondition).WithContext(ctx).WithArguments(w, t).Should(HavePrefix("False Stopped"))
}

func openQueue(ctx context.Context, w *installation.Site, t team) {
	GinkgoHelper()
	changeQueue(ctx, w, t, func(q *kueue.ClusterQueueSpec) { q.StopPolicy = kueue.None })
}

// queueCondition renders the condition Active of a team's ClusterQueue at a site.
func queueCondition(ctx context.Context, s *installation.Site, t team) (string, error) {
	queue := &kueue.ClusterQueue{}
	err := s.Get(ctx, client.ObjectKey{Name: t.name}, queue)
	return condition(queue.Status.Conditions, kueue.ClusterQueueActive), err
}

// occupy takes a team's GPUs on a worker by a job that no hub knows of, and returns when it runs.
func occupy(ctx context.Context, w *installation.Site, t team, gpus int) *batchv1.Job {
	GinkgoHelper()
	local := t.job("local", gpus, "1h")
	Expect(w.Create(ctx, local)).To(Succeed())
	expectRunning(ctx, w, local)
	return local
}

// startOn submits jobs and returns when they run on that worker and on no other: the others take nothing of the team
// meanwhile.
func startOn(ctx context.Context, w *installation.Site, t team, jobs ...*batchv1.Job) {
	GinkgoHelper()
	for _, other := range workers {
		if other != w {
			closeQueue(ctx, other, t)
			defer openQueue(ctx, other, t)
		}
	}
	for _, job := range jobs {
		Expect(hub.Create(ctx, job)).To(Succeed())
		awaitOn(ctx, w, job)
	}
}

// awaitOn returns when a job, of one pod, is bound to that worker and runs there.
func awaitOn(ctx context.Context, w *installation.Site, job *batchv1.Job) {
	GinkgoHelper()
	Eventually(clusterOf).WithContext(ctx).WithTimeout(2 * time.Minute).WithArguments(client.Object(job)).Should(Equal(w.Name))
	Eventually(activePodsAt).WithContext(ctx).WithTimeout(2*time.Minute).WithArguments(w, job).Should(Equal(int32(1)))
}

// annotate gives an object at a site an annotation, or takes it away if the value is empty.
func annotate(ctx context.Context, s *installation.Site, object client.Object, key, value string) {
	GinkgoHelper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: valueOrNull(value)}}})
	Expect(err).NotTo(HaveOccurred())
	Expect(s.Patch(ctx, object, client.RawPatch("application/merge-patch+json", patch))).To(Succeed())
}

func valueOrNull(value string) *string {
	if value == "" {
		return nil
	}
	return ptr.To(value)
}

// setAnnotation gives the hub's object of a worker an annotation, until the end of the spec at most.
func setAnnotation(ctx context.Context, w *installation.Site, key, value string) {
	GinkgoHelper()
	annotate(ctx, hub, registered(w), key, value)
	DeferCleanup(removeAnnotation, w, key)
}

func removeAnnotation(ctx context.Context, w *installation.Site, key string) {
	GinkgoHelper()
	annotate(ctx, hub, registered(w), key, "")
}

// registered is the name of the object by which the hub knows a worker.
func registered(w *installation.Site) *kueue.MultiKueueCluster {
	return &kueue.MultiKueueCluster{ObjectMeta: metav1.ObjectMeta{Name: w.Name}}
}
