package integration

import (
	"net/http"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	configapi "switchyard.dev/apis/config/v1beta2"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// dispatched are the kinds that the hub dispatches here.
var dispatched = []workeraccess.JobResource{{Group: "batch", Resource: "jobs"}, {Group: "jobset.x-k8s.io", Resource: "jobsets"}}

// followed are those of them whose jobs follow the hub's while they run.
var followed = dispatched[:1]

// permissions renders rules as "verb group/resource", with the names that they are restricted to; only the given verbs if any.
func permissions(rules []rbacv1.PolicyRule, verbs ...string) []string {
	var list []string
	for _, r := range rules {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					if len(verbs) == 0 || slices.Contains(verbs, verb) {
						list = append(list, permission(verb, group, resource, r.ResourceNames...))
					}
				}
			}
		}
	}
	return list
}

func permission(verb, group, resource string, names ...string) string {
	text := verb + " " + group + "/" + resource
	for _, name := range names {
		text += " " + name
	}
	return text
}

// granted lists what the API server lets the bearer of a kubeconfig do in a namespace, but for asking about itself.
func granted(ctx SpecContext, kubeconfig []byte, namespace string) []string {
	GinkgoHelper()
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	account, err := kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	review, err := account.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	Expect(review.Status.Incomplete).To(BeFalse())
	var rules []rbacv1.PolicyRule
	for _, r := range review.Status.ResourceRules {
		if !slices.Contains(r.APIGroups, "authorization.k8s.io") && !slices.Contains(r.APIGroups, "authentication.k8s.io") {
			rules = append(rules, rbacv1.PolicyRule{APIGroups: r.APIGroups, Resources: r.Resources, Verbs: r.Verbs, ResourceNames: r.ResourceNames})
		}
	}
	return permissions(rules)
}

var _ = Describe("The hub's account on a worker", func() {
	It("has the rights of the manifest for workers and no others", func(ctx SpecContext) {
		kubeconfig, err := installation.WorkerAccess(ctx, w1.Cluster)
		Expect(err).NotTo(HaveOccurred())
		By("asking what every account may do: since Kubernetes 1.37 that is to read trust bundles")
		unbound, err := w1.ServiceAccountKubeconfig(ctx, clusters.ServiceAccount{Namespace: metav1.NamespaceDefault, Name: "without-rights"})
		Expect(err).NotTo(HaveOccurred())
		everywhere := append(permissions(workeraccess.WorkerRules(dispatched...)), permissions(workeraccess.FollowRules(followed...))...)
		everywhere = append(everywhere, granted(ctx, unbound, "default")...)
		Expect(granted(ctx, kubeconfig, "default")).To(ConsistOf(everywhere))
		Expect(granted(ctx, kubeconfig, installation.Namespace)).To(ConsistOf(
			append(everywhere, permissions(workeraccess.LeaseRules(configapi.DefaultMultiKueueOrigin))...)))
	})

	It("makes every kind of write that it may make, and no other", func(ctx SpecContext) {
		t := newTeam(ctx, 4)
		for name, value := range map[string]int32{t.name + "-low": 1, t.name + "-high": 2} {
			class := &kueue.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
			Expect(hub.Create(ctx, class)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(hub.Delete(ctx, class)).To(Succeed()) })
		}
		By("letting a Job wait at both workers, and raising its priority")
		var locals []*batchv1.Job
		for _, w := range workers {
			local := t.job("local", 4, "1h")
			Expect(w.Create(ctx, local)).To(Succeed())
			Eventually(func() (*bool, error) {
				err := w.Get(ctx, client.ObjectKeyFromObject(local), local)
				return local.Spec.Suspend, err
			}).WithContext(ctx).Should(HaveValue(BeFalse()))
			locals = append(locals, local)
		}
		job := t.job("train", 4, "1h")
		job.Labels[kueue.PriorityClassLabel] = t.name + "-low"
		Expect(hub.Create(ctx, job)).To(Succeed())
		Eventually(func() (*kueue.Workload, error) { return copyAt(ctx, w1, job) }).WithContext(ctx).ShouldNot(BeNil())
		before := job.DeepCopy()
		job.Labels[kueue.PriorityClassLabel] = t.name + "-high"
		Expect(hub.Patch(ctx, job, client.MergeFrom(before))).To(Succeed())
		Eventually(func() (*int32, error) {
			wl, err := copyAt(ctx, w1, job)
			if wl == nil {
				return nil, err
			}
			return wl.Spec.Priority, err
		}).WithContext(ctx).Should(HaveValue(Equal(int32(2))))

		By("running it, and stopping it from the hub")
		for i, w := range workers {
			Expect(w.Delete(ctx, locals[i], client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		}
		Eventually(func() (int32, error) { // or the hub is done with it before there is anything to tell the worker
			err := hub.Get(ctx, client.ObjectKeyFromObject(job), job)
			return job.Status.Active, err
		}).WithContext(ctx).Should(Equal(int32(1)))
		setActive(ctx, job, false)
		Eventually(workloadCondition).WithContext(ctx).WithArguments(client.Object(job), kueue.WorkloadQuotaReserved).
			Should(HavePrefix("False"))
		expectNothingLeft(ctx, t)
		Expect(writesOfHub(t)).To(ConsistOf(permissions(workeraccess.WorkerRules(dispatched[0]), "create", "update", "patch", "delete", "deletecollection")))
	}, SpecTimeout(2*1e11))
})

// writesOfHub lists the kinds of writes that the hub's account made for the team, on either worker.
func writesOfHub(t team) []string {
	GinkgoHelper()
	account := "system:serviceaccount:" + installation.Namespace + ":" + installation.HubAccount
	var list []string
	for _, w := range workers {
		for _, event := range auditEvents(w) {
			ref := event.ObjectRef
			if event.User.Username != account || ref.Namespace != t.name || event.ResponseStatus == nil || event.ResponseStatus.Code >= http.StatusBadRequest ||
				slices.Contains([]string{"get", "list", "watch"}, event.Verb) {
				continue
			}
			resource := ref.Resource
			if ref.Subresource != "" {
				resource += "/" + ref.Subresource
			}
			if text := permission(event.Verb, ref.APIGroup, resource); !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
	}
	return list
}
