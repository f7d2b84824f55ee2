package jobkind

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job/configured"
)

var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// declare is a JobKind that is sound.
func declare(name, kind string, age time.Duration) *switchyard.JobKind {
	return &switchyard.JobKind{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Generation: 1, CreationTimestamp: metav1.NewTime(noon.Add(-age))},
		Spec: switchyard.JobKindSpec{
			Group: "ml.example.com", Version: "v1", Kind: kind,
			PodSets:  []switchyard.JobKindPodSet{{Name: "main", Template: "spec.template"}},
			Progress: switchyard.JobKindProgress{Active: "object.?status.active.orValue(0) > 0"},
		},
	}
}

// cluster is what the reconciler acts on.
type cluster struct {
	t      *testing.T
	api    client.Client
	clock  *clocktesting.FakePassiveClock
	denied []string
	mapper *meta.DefaultRESTMapper
	// events are what was started and stopped, in order.
	events []string
	// ended is why what runs has ended by itself, by kind; broken, why it cannot be started.
	ended, broken map[string]error
	reconciler    *reconciler
}

// start implements runner.
func (c *cluster) start(_ context.Context, p *configured.Program) (instance, error) {
	kind := p.GVK().Kind
	if err := c.broken[kind]; err != nil {
		return nil, err
	}
	c.events = append(c.events, "start "+kind)
	return fakeInstance{c, kind}, nil
}

type fakeInstance struct {
	c    *cluster
	kind string
}

func (i fakeInstance) stop()          { i.c.events = append(i.c.events, "stop "+i.kind) }
func (i fakeInstance) failure() error { return i.c.ended[i.kind] }

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	c := &cluster{
		t: t, clock: clocktesting.NewFakePassiveClock(noon), mapper: meta.NewDefaultRESTMapper(nil), ended: map[string]error{}, broken: map[string]error{},
	}
	c.serve("TrainingRun")
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, switchyard.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c.api = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&switchyard.JobKind{}).
		WithInterceptorFuncs(interceptor.Funcs{Create: c.answerReviews}).Build()
	c.reconciler = &reconciler{
		client: c.api, mapper: c.mapper, clock: c.clock, runner: c, listener: nobody{}, running: &runningKinds{}, webhooks: &webhookRules{client: c.api}, dispatches: true,
		taken: New(Options{
			BuiltIn:  []schema.GroupVersionKind{{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"}},
			External: []schema.GroupVersionKind{{Group: "ml.example.com", Version: "v1", Kind: "Foreign"}},
		}).isTaken,
	}
	return c
}

// answerReviews plays the API server's authorizer.
func (c *cluster) answerReviews(ctx context.Context, w client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
	review, ok := obj.(*authorizationv1.SelfSubjectAccessReview)
	if !ok {
		return w.Create(ctx, obj, opts...)
	}
	a := review.Spec.ResourceAttributes
	review.Status.Allowed = !slices.Contains(c.denied, strings.Trim(a.Verb+" "+a.Resource+"/"+a.Subresource, "/"))
	return nil
}

// serve has the API server serve a kind.
func (c *cluster) serve(kind string) {
	c.mapper.Add(schema.GroupVersionKind{Group: "ml.example.com", Version: "v1", Kind: kind}, meta.RESTScopeNamespace)
}

func (c *cluster) reconcile() ctrl.Result {
	c.t.Helper()
	result, err := c.reconciler.Reconcile(c.t.Context(), ctrl.Request{})
	if err != nil {
		c.t.Fatal(err)
	}
	return result
}

// conditions are those of a JobKind, as "Accepted=True Sound".
func (c *cluster) conditions(name string) map[string]string {
	c.t.Helper()
	var declared switchyard.JobKind
	if err := c.api.Get(c.t.Context(), client.ObjectKey{Name: name}, &declared); err != nil {
		c.t.Fatal(err)
	}
	all := map[string]string{}
	for _, condition := range declared.Status.Conditions {
		if condition.ObservedGeneration != declared.Generation {
			c.t.Errorf("condition %s is of generation %d", condition.Type, condition.ObservedGeneration)
		}
		all[condition.Type] = string(condition.Status) + " " + condition.Reason
	}
	return all
}

func (c *cluster) message(name, condition string) string {
	c.t.Helper()
	var declared switchyard.JobKind
	if err := c.api.Get(c.t.Context(), client.ObjectKey{Name: name}, &declared); err != nil {
		c.t.Fatal(err)
	}
	return meta.FindStatusCondition(declared.Status.Conditions, condition).Message
}

// change changes the spec of a JobKind as a user does.
func (c *cluster) change(name string, do func(*switchyard.JobKindSpec)) {
	c.t.Helper()
	var declared switchyard.JobKind
	if err := c.api.Get(c.t.Context(), client.ObjectKey{Name: name}, &declared); err != nil {
		c.t.Fatal(err)
	}
	do(&declared.Spec)
	declared.Generation++
	if err := c.api.Update(c.t.Context(), &declared); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) expect(name, accepted, serving string) {
	c.t.Helper()
	want := map[string]string{switchyard.JobKindAccepted: accepted, switchyard.JobKindServing: serving}
	if diff := cmp.Diff(want, c.conditions(name)); diff != "" {
		c.t.Errorf("conditions of %s (-want +got):\n%s", name, diff)
	}
}

func (c *cluster) expectEvents(want ...string) {
	c.t.Helper()
	if diff := cmp.Diff(want, c.events); diff != "" {
		c.t.Errorf("what was started and stopped (-want +got):\n%s", diff)
	}
}

func TestAKindIsServedFromItsDeclarationUntilThatIsDeleted(t *testing.T) {
	c := newCluster(t, declare("runs", "TrainingRun", 0))
	c.reconcile()
	c.expect("runs", "True Sound", "True Started")
	c.reconcile()
	c.expectEvents("start TrainingRun")
	if !c.reconciler.running.serves(schema.GroupKind{Group: "ml.example.com", Kind: "TrainingRun"}) {
		t.Error("it is not served")
	}
	if diff := cmp.Diff([]string{"TrainingRun.v1.ml.example.com"}, c.reconciler.running.names()); diff != "" {
		t.Error(diff)
	}
	if err := c.api.Delete(t.Context(), declare("runs", "TrainingRun", 0)); err != nil {
		t.Fatal(err)
	}
	c.reconcile()
	c.expectEvents("start TrainingRun", "stop TrainingRun")
}

func TestAChangedDeclarationTakesTheKindUpAnewAndAWrongOneLetsItGo(t *testing.T) {
	c := newCluster(t, declare("runs", "TrainingRun", 0))
	c.reconcile()
	c.change("runs", func(s *switchyard.JobKindSpec) { s.Progress.Active = "object.?status.running.orValue(false)" })
	c.reconcile()
	c.expectEvents("start TrainingRun", "stop TrainingRun", "start TrainingRun")
	c.change("runs", func(s *switchyard.JobKindSpec) { s.Progress.Active = "status.running" })
	c.reconcile()
	c.expect("runs", "False Invalid", "False NotAccepted")
	if got, want := c.message("runs", "Accepted"), "spec.progress.active: Invalid value: 1:1: undeclared reference to 'status' (in container '')"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	c.expectEvents("start TrainingRun", "stop TrainingRun", "start TrainingRun", "stop TrainingRun")
}

func TestAKindIsDeclaredOnce(t *testing.T) {
	set := declare("sets", "JobSet", 0)
	set.Spec.Group = "jobset.x-k8s.io"
	c := newCluster(t, declare("b", "TrainingRun", time.Hour), declare("a", "TrainingRun", time.Minute), declare("c", "TrainingRun", time.Hour), set, declare("f", "Foreign", 0))
	c.reconcile()
	c.expect("b", "True Sound", "True Started")
	c.expect("a", "False Duplicate", "False NotAccepted")
	c.expect("c", "False Duplicate", "False NotAccepted")
	c.expect("sets", "False CompiledIn", "False NotAccepted")
	c.expect("f", "False External", "False NotAccepted")
	if got := c.message("a", "Accepted"); !strings.Contains(got, "JobKind b declares TrainingRun.ml.example.com") {
		t.Error(got)
	}
	if err := c.api.Delete(t.Context(), declare("b", "TrainingRun", 0)); err != nil {
		t.Fatal(err)
	}
	c.reconcile()
	c.expect("c", "True Sound", "True Started")
	c.expectEvents("start TrainingRun", "stop TrainingRun", "start TrainingRun")
}

func TestAKindThatTheAPIServerDoesNotServeIsWaitedFor(t *testing.T) {
	c := newCluster(t, declare("sims", "Simulation", 0))
	for _, want := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second} {
		if got := c.reconcile().RequeueAfter; got != want {
			t.Errorf("it is looked for again after %v", got)
		}
		c.clock.SetTime(c.clock.Now().Add(want))
	}
	c.expect("sims", "True Sound", "False CRDMissing")
	c.serve("Simulation")
	c.reconcile()
	c.expect("sims", "True Sound", "True Started")
}

func TestAClusterScopedKindIsNoKindOfJob(t *testing.T) {
	c := newCluster(t, declare("sims", "Simulation", 0))
	c.mapper.Add(schema.GroupVersionKind{Group: "ml.example.com", Version: "v1", Kind: "Simulation"}, meta.RESTScopeRoot)
	c.reconcile()
	c.expect("sims", "True Sound", "False Failed")
}

func TestMissingRightsAreNamedAndAskedForAgain(t *testing.T) {
	runs := declare("runs", "TrainingRun", 0)
	runs.Spec.Dispatch = &switchyard.JobKindDispatch{}
	c := newCluster(t, runs)
	c.denied = []string{"watch trainingruns", "update trainingruns/finalizers", "patch trainingruns/status"}
	c.reconcile()
	c.expect("runs", "True Sound", "False Forbidden")
	want := `The program may not do this in API group "ml.example.com": watch trainingruns, update trainingruns/finalizers, patch trainingruns/status. ` +
		`Grant it by a ClusterRole with the label switchyard.dev/aggregate-to-program: "true"`
	if got := c.message("runs", "Serving"); got != want {
		t.Errorf("it says %q", got)
	}
	c.denied = nil
	c.reconcile()
	c.expect("runs", "True Sound", "False Forbidden")
	c.clock.SetTime(noon.Add(time.Minute))
	c.reconcile()
	c.expect("runs", "True Sound", "True Started")
}

func TestAKindThatEndsByItselfIsStartedAgainLater(t *testing.T) {
	c := newCluster(t, declare("runs", "TrainingRun", 0))
	c.reconcile()
	c.ended["TrainingRun"] = errors.New("timed out waiting for cache to be synced")
	if got := c.reconcile().RequeueAfter; got != 2*time.Second {
		t.Errorf("it is started again after %v", got)
	}
	c.expect("runs", "True Sound", "False Failed")
	c.expectEvents("start TrainingRun", "stop TrainingRun")
	delete(c.ended, "TrainingRun")
	c.broken["TrainingRun"] = errors.New("it breaks")
	c.clock.SetTime(noon.Add(2 * time.Second))
	if got := c.reconcile().RequeueAfter; got != 4*time.Second {
		t.Errorf("it is started again after %v", got)
	}
	delete(c.broken, "TrainingRun")
	c.clock.SetTime(noon.Add(6 * time.Second))
	c.reconcile()
	c.expect("runs", "True Sound", "True Started")
}

func TestNothingIsWrittenWhenNothingIsNew(t *testing.T) {
	c := newCluster(t, declare("runs", "TrainingRun", 0))
	c.reconcile()
	version := func() string {
		var declared switchyard.JobKind
		if err := c.api.Get(t.Context(), client.ObjectKey{Name: "runs"}, &declared); err != nil {
			t.Fatal(err)
		}
		return declared.ResourceVersion
	}
	before := version()
	c.clock.SetTime(noon.Add(time.Hour))
	c.reconcile()
	if after := version(); after != before {
		t.Errorf("version %s became %s", before, after)
	}
}

// builtInWebhooks are the webhooks of a built-in kind, and empty configurations for ours.
func builtInWebhooks() []client.Object {
	at := func(path string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{
			CABundle: []byte("authority"),
			Service:  &admissionregistrationv1.ServiceReference{Namespace: "system", Name: "webhooks", Path: &path},
		}
	}
	outside := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "kubernetes.io/metadata.name", Operator: "NotIn", Values: []string{"kube-system"}}}}
	return []client.Object{
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: builtInMutating}, Webhooks: []admissionregistrationv1.MutatingWebhook{
			{Name: "mclusterqueue.kb.io", ClientConfig: at("/mutate-clusterqueue")},
			{Name: "mjob.kb.io", ClientConfig: at("/mutate-batch-v1-job"), NamespaceSelector: outside, FailurePolicy: ptr.To(admissionregistrationv1.Fail), TimeoutSeconds: ptr.To[int32](7)},
		}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: builtInValidating}, Webhooks: []admissionregistrationv1.ValidatingWebhook{
			{Name: "vjob.kb.io", ClientConfig: at("/validate-batch-v1-job"), NamespaceSelector: outside},
		}},
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: ownMutating}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: ownValidating}},
	}
}

func TestWebhooksOfConfiguredKindsAreLikeThoseOfBuiltInOnes(t *testing.T) {
	c := newCluster(t, append(builtInWebhooks(), declare("runs", "TrainingRun", 0), declare("sims", "Simulation", 0))...)
	c.reconcile()
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	get := func() {
		t.Helper()
		err := errors.Join(c.api.Get(t.Context(), client.ObjectKey{Name: ownMutating}, &mutating), c.api.Get(t.Context(), client.ObjectKey{Name: ownValidating}, &validating))
		if err != nil {
			t.Fatal(err)
		}
	}
	get()
	if len(mutating.Webhooks) != 1 || len(validating.Webhooks) != 1 {
		t.Fatalf("there are %d and %d webhooks", len(mutating.Webhooks), len(validating.Webhooks))
	}
	m, v := mutating.Webhooks[0], validating.Webhooks[0]
	if m.Name != "mtrainingruns.ml.example.com.jobkinds.switchyard.dev" || *m.ClientConfig.Service.Path != DefaultPath || string(m.ClientConfig.CABundle) != "authority" ||
		*m.FailurePolicy != admissionregistrationv1.Fail || *m.TimeoutSeconds != 7 || m.NamespaceSelector == nil {
		t.Errorf("the mutating one is %+v", m)
	}
	want := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{"CREATE", "UPDATE"},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{"ml.example.com"}, APIVersions: []string{"v1"}, Resources: []string{"trainingruns"}, Scope: ptr.To(admissionregistrationv1.NamespacedScope)},
	}}
	if diff := cmp.Diff(want, v.Rules); diff != "" || *v.ClientConfig.Service.Path != ValidatePath {
		t.Errorf("the validating one is at %s:\n%s", *v.ClientConfig.Service.Path, diff)
	}
	if got := c.message("runs", "Serving"); got != "Jobs of the kind are looked after" {
		t.Error(got)
	}
	if err := c.api.Delete(t.Context(), declare("runs", "TrainingRun", 0)); err != nil {
		t.Fatal(err)
	}
	c.reconcile()
	if get(); len(mutating.Webhooks)+len(validating.Webhooks) > 0 {
		t.Error("webhooks stay")
	}
}

func TestAKindWithoutWebhooksIsServedAndItIsSaid(t *testing.T) {
	c := newCluster(t, declare("runs", "TrainingRun", 0))
	c.reconcile()
	c.expect("runs", "True Sound", "True Started")
	if got := c.message("runs", "Serving"); !strings.Contains(got, "neither suspended nor judged") || !strings.Contains(got, ownMutating) {
		t.Error(got)
	}
}
