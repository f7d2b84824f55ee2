package integration

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/e2e/installation"
	"switchyard.dev/e2e/network"
	"switchyard.dev/worker/job"
)

func simulationGVK() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Simulation"}
}

// A kind of job that no program has compiled in: its own controllers, which the spec plays, make and end its Workloads.
var _ = Describe("A hub that is told of a kind of job", func() {
	It("dispatches it when it may see it, copies its status whole, and turns down what is somebody else's", func(ctx SpecContext) {
		configuration := runAlone(map[string]any{"externalFrameworks": []any{map[string]any{"name": "Simulation.v1.example.com"}}})
		otherHub{name: "hub-external", configuration: configuration}.takeOver(ctx)
		Eventually(checkActive).WithContext(ctx).WithArguments("multikueue").Should(HavePrefix("True"))
		t := newTeamOf(ctx, 8, 8, 0) // only w1 can take it

		By("being told of one on the hub without being let see it, which holds up nothing else")
		serveSimulations(ctx, hub)
		sim := simulation(t, "sim", kueue.MultiKueueControllerName)
		Expect(hub.Create(ctx, sim)).To(Succeed())
		wl := workloadFor(ctx, hub, t, sim)
		Eventually(workloadCondition).WithContext(ctx).WithArguments(client.Object(sim), kueue.WorkloadQuotaReserved).Should(HavePrefix("True"))
		plain := t.job("plain", 1, "1s")
		Expect(hub.Create(ctx, plain)).To(Succeed())
		expectComplete(ctx, plain)

		By("seeing it, and saying that no worker serves it")
		grantSimulations(ctx, hub, theHub, "get", "list", "watch")
		Eventually(checkMessage).WithContext(ctx).WithArguments(client.Object(sim)).Should(ContainSubstring("it does not serve Simulation.example.com"))

		By("making a copy where it is served")
		for _, w := range workers {
			grantSimulations(ctx, w, theHubAway, "get", "list", "watch", "create", "delete")
			serveSimulations(ctx, w)
		}
		away := simulation(t, "sim", "")
		Eventually(func() error { return w1.Get(ctx, client.ObjectKeyFromObject(sim), away) }).WithContext(ctx).
			WithTimeout(150 * 1e9).Should(Succeed())
		Expect(away.Object["spec"]).To(Equal(map[string]any{"steps": int64(3)}))
		Expect(job.PrebuiltWorkloadName(away)).To(Equal(wl.Name))
		Expect(away.GetLabels()).To(HaveKeyWithValue(kueue.MultiKueueOriginLabel, "multikueue"))
		Expect(away.GetOwnerReferences()).To(BeEmpty())

		By("running it there")
		adoptWorkload(ctx, w1, wl, away)
		setStatus(ctx, w1, away, map[string]any{"phase": "Running", "done": int64(1), "ranks": []any{"a", "b"}})
		Consistently(statusOf).WithContext(ctx).WithArguments(hub, sim).Should(BeNil(), "the hub may not write it yet")
		grantSimulations(ctx, hub, theHub, "patch")
		Eventually(statusOf).WithContext(ctx).WithArguments(hub, sim).
			Should(Equal(map[string]any{"phase": "Running", "done": int64(1), "ranks": []any{"a", "b"}}))

		By("ending it there")
		setStatus(ctx, w1, away, map[string]any{"phase": "Done", "done": int64(3)})
		endWorkload(ctx, w1, wl)
		Eventually(workloadCondition).WithContext(ctx).WithArguments(client.Object(sim), kueue.WorkloadFinished).
			Should(Equal("True Succeeded three steps done"))
		Expect(statusOf(ctx, hub, sim)).To(Equal(map[string]any{"phase": "Done", "done": int64(3)}))
		Eventually(func() error { return w1.Get(ctx, client.ObjectKeyFromObject(sim), away) }).WithContext(ctx).
			Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
		expectNothingLeft(ctx, t)

		By("turning down one that is somebody else's")
		theirs := simulation(t, "theirs", "example.com/other")
		Expect(hub.Create(ctx, theirs)).To(Succeed())
		workloadFor(ctx, hub, t, theirs)
		Eventually(rejections).WithContext(ctx).WithArguments(hub, t).Should(ContainElement(ContainSubstring(
			`The owner is not managed by Kueue: Expecting spec.managedBy to be "kueue.x-k8s.io/multikueue" not "example.com/other"`)))
		Eventually(func() (*bool, error) {
			wl, err := workloadOf(ctx, theirs)
			if err != nil || wl == nil {
				return nil, err
			}
			return wl.Spec.Active, nil
		}).WithContext(ctx).Should(HaveValue(BeFalse()))
	}, SpecTimeout(5*60*1e9))
})

// Quota says where such a job fits as well as it does of any other; but no fence can promise that its pods stop.
var _ = Describe("A hub that promises to run jobs of an external kind once", begunEarly, func() {
	It("places one where it fits, and waits for its worker when that is lost", func(ctx SpecContext) {
		otherHub{name: "hub-external-once", configuration: runAlone(map[string]any{
			"externalFrameworks": []any{map[string]any{"name": "Simulation.v1.example.com"}},
			"dispatcherName":     switchyard.BestFitDispatcherName,
		})}.takeOver(ctx)
		Eventually(checkActive).WithContext(ctx).WithArguments("multikueue").Should(HavePrefix("True"))
		t := newTeamBy(ctx, func(name string) *kueue.ClusterQueue {
			queue := clusterQueue(name, 8, "multikueue")
			queue.Annotations = map[string]string{switchyard.RunPolicyAnnotation: string(switchyard.RunOnce)}
			return queue
		}, 8, 8)
		serveSimulations(ctx, hub)
		grantSimulations(ctx, hub, theHub, "get", "list", "watch")
		for _, w := range workers {
			grantSimulations(ctx, w, theHubAway, "get", "list", "watch", "create", "delete")
			serveSimulations(ctx, w)
		}

		By("passing over the worker that is closed")
		closeQueue(ctx, w1, t)
		expectReported(ctx, t, -1, 8)
		sim := simulation(t, "sim", kueue.MultiKueueControllerName)
		Expect(hub.Create(ctx, sim)).To(Succeed())
		wl := workloadFor(ctx, hub, t, sim)
		away := simulation(t, "sim", "")
		Eventually(func() error { return w2.Get(ctx, client.ObjectKeyFromObject(sim), away) }).WithContext(ctx).
			WithTimeout(150 * time.Second).Should(Succeed())
		Expect(offersUnder(sim, wl.Name)).To(Equal([]string{"w2"}))
		copied := &kueue.Workload{}
		Expect(w2.Get(ctx, client.ObjectKeyFromObject(wl), copied)).To(Succeed())
		Expect(copied.Annotations).NotTo(HaveKeyWithValue(switchyard.OnHubLostAnnotation, string(switchyard.Stop)))

		By("losing its worker, while the other one has room")
		openQueue(ctx, w1, t)
		breakLink(w2, (*network.Link).Partition)
		Eventually(checkMessage).WithContext(ctx).WithArguments(client.Object(sim)).Should(MatchRegexp(
			`^Held by the policy "run once": worker cluster "w2" cannot be reached since \S+Z; ` +
				`nothing there would stop the job \(fencing: none\), so that the workload waits for its return, or until`))
		lost := time.Now()
		Eventually(time.Since).WithArguments(lost).Should(BeNumerically(">", 20*time.Second), "five seconds more than workerLostTimeout")
		Expect(clusterOf(ctx, sim)).To(Equal("w2"))
		Expect(offersUnder(sim, wl.Name)).To(Equal([]string{"w2"}))

		By("going on when it is back")
		restoreLink(ctx, w2)
		Expect(w2.Get(ctx, client.ObjectKeyFromObject(sim), away)).To(Succeed())
		adoptWorkload(ctx, w2, wl, away)
		endWorkload(ctx, w2, wl)
		Eventually(workloadCondition).WithContext(ctx).WithArguments(client.Object(sim), kueue.WorkloadFinished).
			Should(Equal("True Succeeded three steps done"))
		expectNothingLeft(ctx, t)
	}, SpecTimeout(5*time.Minute))
})

// What a hub has sent too late must not be taken, of whatever kind; the hub is one of which this spec plays the part.
var _ = Describe("A worker that is asked about jobs of an external kind", func() {
	It("takes none of an epoch that is over, whether its Workload is there or gone", func(ctx SpecContext) {
		t := newTeamOf(ctx, 8, 8, 0)
		serveSimulations(ctx, w1)
		validateSimulations(ctx, w1)
		made := func(object client.Object, epoch string) {
			object.SetLabels(map[string]string{kueue.MultiKueueOriginLabel: "elsewhere"})
			object.SetAnnotations(map[string]string{
				kueue.PrebuiltWorkloadNameKey: "offer", switchyard.OwnerUIDAnnotation: "u", switchyard.EpochAnnotation: epoch,
			})
		}
		send := func(epoch string) error {
			sim := simulation(t, "late", "")
			made(sim, epoch)
			return w1.Create(ctx, sim, client.DryRunAll)
		}
		offer := &kueue.Workload{
			ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: "offer"},
			Spec:       kueue.WorkloadSpec{QueueName: queueName, PodSets: []kueue.PodSet{{Name: "main", Count: 1, Template: pods(1, "1h")}}},
		}
		made(offer, "3")
		Expect(w1.Create(ctx, offer)).To(Succeed())

		By("comparing it with the Workload that is there")
		Eventually(func() error { return send("2") }).WithContext(ctx).Should(MatchError(ContainSubstring(
			"epoch 2 is over: the hub has been in epoch 3 here")), "as soon as the webhook is asked and the worker has seen the Workload")
		Expect(send("3")).To(Succeed())
		sim := simulation(t, "sim", "")
		made(sim, "3")
		Expect(w1.Create(ctx, sim)).To(Succeed())
		made(sim, "2")
		Expect(w1.Update(ctx, sim, client.DryRunAll)).To(MatchError(ContainSubstring("must not fall: it is 3")))
		Expect(w1.Create(ctx, simulation(t, "local", ""), client.DryRunAll)).To(Succeed(), "what no hub has made is nobody's business")

		By("remembering the Workload that was there")
		Expect(w1.Delete(ctx, sim)).To(Succeed())
		Expect(w1.Delete(ctx, offer)).To(Succeed())
		Eventually(func() error { return w1.Get(ctx, client.ObjectKeyFromObject(offer), offer) }).WithContext(ctx).
			Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
		Eventually(func() error { return send("2") }).WithContext(ctx).Should(MatchError(ContainSubstring("epoch 2 is over")))
		Expect(send("4")).To(Succeed())
	})
})

// validateSimulations makes a site's API server ask the program about external jobs, as the chart does for a kind that the
// Configuration names, until the spec ends.
func validateSimulations(ctx context.Context, s *installation.Site) {
	GinkgoHelper()
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "external-jobs"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "vexternaljob.kb.io", AdmissionReviewVersions: []string{"v1"}, SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone),
			ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{
				Namespace: installation.Namespace, Name: "kueue-webhook-service", Path: ptr.To(job.ExternalWebhookPath),
			}},
			ObjectSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: kueue.MultiKueueOriginLabel, Operator: metav1.LabelSelectorOpExists},
			}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{"example.com"}, APIVersions: []string{"*"}, Resources: []string{"*"},
					Scope: ptr.To(admissionregistrationv1.NamespacedScope),
				},
			}},
		}},
	}
	Expect(s.InstallWebhooks(ctx, nil, configuration)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(s.Delete(ctx, configuration)).To(Succeed()) })
}

// simulation is a job of the external kind.
func simulation(t team, name, managedBy string) *unstructured.Unstructured {
	spec := map[string]any{"steps": int64(3)}
	if managedBy != "" {
		spec["managedBy"] = managedBy
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(simulationGVK())
	u.SetNamespace(t.name)
	u.SetName(name)
	u.SetLabels(map[string]string{kueue.QueueNameLabel: queueName})
	return u
}

// serveSimulations makes a site serve the kind until the spec ends.
func serveSimulations(ctx context.Context, s *installation.Site) {
	GinkgoHelper()
	serveExternal(ctx, s, "Simulation", apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)})
}

// serveExternal makes a site serve a kind of example.com/v1, whose spec has that schema, until the spec ends.
func serveExternal(ctx context.Context, s *installation.Site, kind string, spec apiextensionsv1.JSONSchemaProps) {
	GinkgoHelper()
	singular := strings.ToLower(kind)
	status := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: singular + "s.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: singular + "s", Singular: singular, Kind: kind, ListKind: kind + "List"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec, "status": status},
				}},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
	Expect(s.InstallCRDs(ctx, []*apiextensionsv1.CustomResourceDefinition{crd})).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		gone := &unstructured.Unstructured{}
		gone.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		gone.SetName(crd.Name)
		Expect(s.Delete(ctx, gone)).To(Succeed())
	})
}

// grantSimulations lets one of the accounts do that with simulations, and with their status if it is to patch, until the
// spec ends.
func grantSimulations(ctx context.Context, s *installation.Site, holder string, verbs ...string) {
	GinkgoHelper()
	resource := "simulations"
	if verbs[0] == "patch" {
		resource += "/status"
	}
	name := fmt.Sprintf("simulations-%s", verbs[0])
	subject := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: userOf(holder)}
	for _, object := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"example.com"}, Resources: []string{resource}, Verbs: verbs},
		}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: []rbacv1.Subject{subject},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		},
	} {
		Expect(s.Create(ctx, object)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(s.Delete(ctx, object)).To(Succeed()) })
	}
}

// workloadFor makes the Workload of a job, as its controller would.
func workloadFor(ctx context.Context, s *installation.Site, t team, owner client.Object) *kueue.Workload {
	GinkgoHelper()
	wl := &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: "simulation-" + owner.GetName()},
		Spec: kueue.WorkloadSpec{
			QueueName: queueName, PodSets: []kueue.PodSet{{Name: "main", Count: 1, Template: pods(1, "1h")}},
		},
	}
	Expect(controllerutil.SetControllerReference(owner, wl, s.Scheme(), controllerutil.WithBlockOwnerDeletion(false))).To(Succeed())
	Expect(s.Create(ctx, wl)).To(Succeed())
	return wl
}

// setStatus sets the status of a job.
func setStatus(ctx context.Context, s *installation.Site, u *unstructured.Unstructured, status map[string]any) {
	GinkgoHelper()
	Expect(s.Get(ctx, client.ObjectKeyFromObject(u), u)).To(Succeed())
	u.Object["status"] = status
	Expect(s.Status().Update(ctx, u)).To(Succeed())
}

// statusOf is the status of a job, nil while it has none.
func statusOf(ctx context.Context, s *installation.Site, u *unstructured.Unstructured) (any, error) {
	now := u.DeepCopy()
	err := s.Get(ctx, client.ObjectKeyFromObject(u), now)
	return now.Object["status"], err
}

// rejections are what people were told of the team's Workloads that a check turned down.
func rejections(ctx context.Context, s *installation.Site, t team) ([]string, error) {
	list := &eventsv1.EventList{}
	err := s.List(ctx, list, client.InNamespace(t.name))
	var notes []string
	for i := range list.Items {
		if list.Items[i].Reason == kueue.EventAdmissionCheckRejected {
			notes = append(notes, list.Items[i].Note)
		}
	}
	return notes, err
}

// adoptWorkload has a job take up its Workload, as its controller would.
func adoptWorkload(ctx context.Context, s *installation.Site, wl *kueue.Workload, job client.Object) {
	GinkgoHelper()
	Eventually(func() error {
		now := &kueue.Workload{}
		if err := s.Get(ctx, client.ObjectKeyFromObject(wl), now); err != nil {
			return err
		}
		if err := controllerutil.SetControllerReference(job, now, s.Scheme()); err != nil {
			return err
		}
		return s.Update(ctx, now)
	}).WithContext(ctx).Should(Succeed())
}

// endWorkload says that the job of a Workload has ended, as its controller would.
func endWorkload(ctx context.Context, s *installation.Site, wl *kueue.Workload) {
	GinkgoHelper()
	Eventually(func() error {
		now := &kueue.Workload{}
		if err := s.Get(ctx, client.ObjectKeyFromObject(wl), now); err != nil {
			return err
		}
		meta.SetStatusCondition(&now.Status.Conditions, metav1.Condition{
			Type: kueue.WorkloadFinished, Status: metav1.ConditionTrue, Reason: string(kueue.ReasonSucceeded), Message: "three steps done",
		})
		return s.Status().Update(ctx, now)
	}).WithContext(ctx).Should(Succeed())
}
