package integration

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/e2e/installation"
	"switchyard.dev/worker/fence"
)

// foreignHub makes copies on w1 as a hub does, with an origin that the suite's hub does not sweep.
type foreignHub struct {
	team   team
	origin string
	uid    string // as its objects say, if they say any
}

// buildCopy is the Workload that the hub makes for a job of its own, in an epoch.
func (h foreignHub) buildCopy(ctx context.Context, job *batchv1.Job, stop switchyard.OnHubLost, at string) *kueue.Workload {
	GinkgoHelper()
	asStored := job.DeepCopy()
	Expect(w1.Create(ctx, asStored, client.DryRunAll)).To(Succeed())
	asStored.Spec.Template.Labels = nil
	return &kueue.Workload{
		ObjectMeta: h.buildMeta("job-"+job.Name, stop, at),
		Spec: kueue.WorkloadSpec{QueueName: queueName, PodSets: []kueue.PodSet{{
			Name: kueue.DefaultPodSetName, Count: 1, Template: asStored.Spec.Template,
		}}},
	}
}

func (h foreignHub) buildMeta(name string, stop switchyard.OnHubLost, at string) metav1.ObjectMeta {
	made := metav1.ObjectMeta{
		Namespace: h.team.name, Name: name, Labels: map[string]string{kueue.MultiKueueOriginLabel: h.origin},
		Annotations: map[string]string{
			switchyard.OnHubLostAnnotation: string(stop), switchyard.EpochAnnotation: at, switchyard.OwnerUIDAnnotation: "uid-of-" + name,
		},
	}
	if h.uid != "" {
		made.Annotations[switchyard.HubUIDAnnotation] = h.uid
	}
	return made
}

// run makes copy and job.
func (h foreignHub) run(ctx context.Context, name string, stop switchyard.OnHubLost) *batchv1.Job {
	GinkgoHelper()
	job := h.team.job(name, 1, "1h")
	Expect(w1.Create(ctx, h.buildCopy(ctx, job, stop, "1"))).To(Succeed())
	made := h.buildMeta("job-"+name, stop, "1")
	job.Labels[kueue.MultiKueueOriginLabel] = h.origin
	job.Annotations = made.Annotations
	job.Annotations[kueue.PrebuiltWorkloadNameKey] = made.Name
	Expect(w1.Create(ctx, job)).To(Succeed())
	return job
}

// renew keeps the run lease for another three seconds.
func (h foreignHub) renew(ctx context.Context) error {
	lease := &coordinationv1.Lease{}
	err := w1.Get(ctx, client.ObjectKey{Namespace: installation.Namespace, Name: fence.LeaseName(h.origin)}, lease)
	lease.Spec.RenewTime, lease.Spec.LeaseDurationSeconds = &metav1.MicroTime{Time: time.Now()}, ptr.To[int32](3)
	if apierrors.IsNotFound(err) {
		lease.Namespace, lease.Name = installation.Namespace, fence.LeaseName(h.origin)
		return w1.Create(ctx, lease)
	}
	if err != nil {
		return err
	}
	return w1.Update(ctx, lease)
}

// activePods tells how many pods of the job run on w1.
func activePods(ctx context.Context, job *batchv1.Job) (int32, error) {
	return activePodsAt(ctx, w1, job)
}

// activePodsWhileRenewed is activePods, with the hub there.
func (h foreignHub) activePodsWhileRenewed(ctx context.Context, job *batchv1.Job) (int32, error) {
	if err := h.renew(ctx); err != nil {
		return 0, err
	}
	return activePods(ctx, job)
}

var _ = Describe("The fence", func() {
	It("stops the jobs of a hub whose run lease has run out, but for those that are to keep running", func(ctx SpecContext) {
		t := newTeam(ctx, 8)
		h := foreignHub{team: t, origin: t.name}
		Expect(h.renew(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: installation.Namespace, Name: fence.LeaseName(h.origin)}}
			Expect(w1.Delete(ctx, lease)).To(Succeed())
		})
		stops, keeps := h.run(ctx, "stops", switchyard.Stop), h.run(ctx, "keeps", switchyard.KeepRunning)
		for _, job := range []*batchv1.Job{stops, keeps} {
			Eventually(h.activePodsWhileRenewed).WithContext(ctx).WithArguments(job).Should(Equal(int32(1)))
		}
		By("leaving them alone while the lease is renewed, for longer than it holds")
		Consistently(h.activePodsWhileRenewed, "4s", "500ms").WithContext(ctx).WithArguments(stops).Should(Equal(int32(1)))

		By("evicting what is to stop when it is not renewed any more")
		Eventually(activePods).WithContext(ctx).WithArguments(stops).Should(BeZero())
		Eventually(workloadConditionAt).WithContext(ctx).WithArguments(w1, client.Object(stops), kueue.WorkloadEvicted).
			Should(HavePrefix(`True DeactivatedDueToHubLost The workload is deactivated due to The hub "` + t.name + `" has not renewed`))
		Eventually(workloadConditionAt).WithContext(ctx).WithArguments(w1, client.Object(stops), kueue.WorkloadQuotaReserved).
			Should(HavePrefix("False Deactivated"))
		Expect(eventReasons(ctx, w1, t)).To(ContainElement("HubLost"))
		Expect(activePods(ctx, keeps)).To(Equal(int32(1)))

		By("letting nothing new of that hub begin")
		late := h.buildCopy(ctx, t.job("late", 1, "1h"), switchyard.Stop, "1")
		Expect(w1.Create(ctx, late)).To(Succeed())
		Eventually(func() (*bool, error) {
			err := w1.Get(ctx, client.ObjectKeyFromObject(late), late)
			return late.Spec.Active, err
		}).WithContext(ctx).Should(HaveValue(BeFalse()))

		By("having a lease of its own, by which hubs see that it is there")
		own := &coordinationv1.Lease{}
		Expect(w1.Get(ctx, client.ObjectKey{Namespace: installation.Namespace, Name: switchyard.FenceLease}, own)).To(Succeed())
		Expect(own.Spec.HolderIdentity).To(HaveValue(Not(BeEmpty())))
		Expect(own.Spec.RenewTime.Time).To(BeTemporally("~", time.Now(), 30*time.Second))
	}, SpecTimeout(time.Minute))

	It("refuses what a hub made in an epoch that is over", func(ctx SpecContext) {
		t := newTeam(ctx, 8)
		h := foreignHub{team: t, origin: t.name}
		of := func(at string) *kueue.Workload {
			return h.buildCopy(ctx, t.job("train", 1, "1h"), switchyard.KeepRunning, at)
		}
		made := of("3")
		Expect(w1.Create(ctx, made)).To(Succeed())
		Eventually(func() string {
			err := w1.Patch(ctx, made.DeepCopy(), client.RawPatch("application/merge-patch+json",
				[]byte(`{"metadata":{"annotations":{"`+switchyard.EpochAnnotation+`":"2"}}}`)))
			return errorText(err)
		}).WithContext(ctx).Should(ContainSubstring("must not fall: it is 3"))

		Expect(w1.Delete(ctx, made)).To(Succeed())
		again := func(at string) func() string {
			return func() string { return errorText(w1.Create(ctx, of(at), client.DryRunAll)) }
		}
		Eventually(again("2")).WithContext(ctx).Should(ContainSubstring("epoch 2 is over: the hub has been in epoch 3 here"))
		Eventually(again("3")).WithContext(ctx).Should(BeEmpty())
	}, SpecTimeout(time.Minute))
})

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
