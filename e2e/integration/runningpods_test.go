package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// slowlyEnding is a job with a dependent that does not go, as a pod that ends slowly.
func slowlyEnding(ctx SpecContext, labels map[string]string) (job client.Object, release func(SpecContext)) {
	GinkgoHelper()
	j := attempt(metav1.NamespaceDefault)
	j.Labels = labels
	Expect(w1.Create(ctx, j)).To(Succeed())
	pod := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: j.Namespace, Name: j.Name, Finalizers: []string{"example.com/ends-slowly"},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "batch/v1", Kind: "Job", Name: j.Name, UID: j.UID, Controller: new(true), BlockOwnerDeletion: new(true),
		}},
	}}
	Expect(w1.Create(ctx, pod)).To(Succeed())
	release = func(ctx SpecContext) {
		Eventually(func() error {
			if err := w1.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
				return client.IgnoreNotFound(err)
			}
			pod.Finalizers = nil
			return client.IgnoreNotFound(w1.Update(ctx, pod))
		}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())
		Eventually(func() error { return w1.Get(ctx, client.ObjectKeyFromObject(j), j) }).
			WithContext(ctx).WithTimeout(time.Minute).Should(Satisfy(apierrors.IsNotFound))
	}
	return j, release
}

var _ = Describe("A hub's job whose pods are ending", func() {
	It("is not hurried by anybody who deletes it once more", func(ctx SpecContext) {
		apply(ctx, "runningpods.yaml")
		j, release := slowlyEnding(ctx, attempt("").Labels)
		DeferCleanup(release)
		Expect(w1.Delete(ctx, j, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		By("waiting until the API server knows the policy")
		Eventually(func() error {
			return w1.Delete(ctx, j, client.PropagationPolicy(metav1.DeletePropagationBackground), client.DryRunAll)
		}).
			WithContext(ctx).WithTimeout(time.Minute).Should(MatchError(ContainSubstring("wait, or delete it with --cascade=foreground")))
		for name, options := range map[string][]client.DeleteOption{
			"in the background": {client.PropagationPolicy(metav1.DeletePropagationBackground)},
			"as an orphan":      {client.PropagationPolicy(metav1.DeletePropagationOrphan)},
			"as it comes":       {}, "by force": {client.GracePeriodSeconds(0)},
		} {
			Expect(w1.Delete(ctx, j, options...)).To(Satisfy(apierrors.IsForbidden), name)
		}
		Expect(w1.DeleteAllOf(ctx, attempt(""), client.InNamespace(j.GetNamespace()), client.MatchingLabels(j.GetLabels()))).
			To(Satisfy(apierrors.IsForbidden), "all of them")
		Expect(w1.Delete(ctx, j, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
	})

	It("is the only thing that the policy is about", func(ctx SpecContext) {
		apply(ctx, "runningpods.yaml")
		own, release := slowlyEnding(ctx, nil)
		DeferCleanup(release)
		fresh, releaseFresh := slowlyEnding(ctx, attempt("").Labels)
		DeferCleanup(releaseFresh)
		Expect(w1.Delete(ctx, own, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		Expect(w1.Delete(ctx, own, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		Expect(w1.Delete(ctx, fresh, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
	})
})
