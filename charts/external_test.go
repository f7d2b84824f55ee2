package charts_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"switchyard.dev/charts"
)

const externalWebhook = "vexternaljob.kb.io"

// validating are the validating webhooks by name, without the Service, which is that of all others.
func validating(t *testing.T, objects []*unstructured.Unstructured) map[string]admissionregistrationv1.ValidatingWebhook {
	t.Helper()
	hooks := map[string]admissionregistrationv1.ValidatingWebhook{}
	for _, o := range objects {
		if o.GetKind() != "ValidatingWebhookConfiguration" {
			continue
		}
		text, err := json.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		if err := json.Unmarshal(text, configuration); err != nil {
			t.Fatal(err)
		}
		for _, hook := range configuration.Webhooks {
			hooks[hook.Name] = hook
		}
	}
	if len(hooks) == 0 {
		t.Fatal("there are no validating webhooks")
	}
	return hooks
}

func rendered(t *testing.T, values string) map[string]admissionregistrationv1.ValidatingWebhook {
	t.Helper()
	return validating(t, render(t, valuesOf(t, []byte(values))).Objects)
}

func TestJobsOfKindsThatOnlyTheConfigurationNamesHaveAWebhook(t *testing.T) {
	for name, c := range map[string]struct {
		values string
		groups []string
	}{
		"no such kind":        {"role: worker", nil},
		"lists that are none": {"config: {integrations: {externalFrameworks: []}, multiKueue: {externalFrameworks: null}}", nil},
		"their own controllers run here": {
			"config: {integrations: {externalFrameworks: [Simulation.v1.sim.example.com, Study.v2.example.com, Trial.v1.example.com]}}",
			[]string{"example.com", "sim.example.com"},
		},
		"a hub dispatches them": {
			"{role: hub, config: {multiKueue: {externalFrameworks: [{name: Simulation.v1.example.com}]}}}", []string{"example.com"},
		},
		"a name that the program refuses": {"config: {integrations: {externalFrameworks: [Simulation, Study.v1]}}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			hook, there := rendered(t, c.values)[externalWebhook]
			if there != (c.groups != nil) {
				t.Fatalf("there is one: %v", there)
			}
			if there && !slices.Equal(hook.Rules[0].APIGroups, c.groups) {
				t.Errorf("it is about %v, want %v", hook.Rules[0].APIGroups, c.groups)
			}
		})
	}
}

func TestTheWebhookOfExternalJobsIsCalledForWhatAHubHasMadeOnly(t *testing.T) {
	hooks := rendered(t, `
webhooks: {failurePolicy: Ignore, timeoutSeconds: 3, excludedNamespaces: [quiet]}
config: {integrations: {externalFrameworks: [Simulation.v1.example.com]}}
`)
	other := hooks["vjob.kb.io"]
	want := other.DeepCopy() // the Service, the policy, the namespaces
	want.Name, want.ClientConfig.Service.Path = externalWebhook, ptr.To("/validate-external-job")
	want.ObjectSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "kueue.x-k8s.io/multikueue-origin", Operator: metav1.LabelSelectorOpExists},
	}}
	want.Rules = []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{"example.com"}, APIVersions: []string{"*"}, Resources: []string{"*"},
			Scope: ptr.To(admissionregistrationv1.NamespacedScope),
		},
	}}
	if diff := cmp.Diff(*want, hooks[externalWebhook]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if *want.TimeoutSeconds != 3 || *want.FailurePolicy != admissionregistrationv1.Ignore {
		t.Errorf("the values are not those of %+v", want)
	}
}

func TestAHubMaySeeTheKindsThatItDispatchesByNameAndWriteTheirStatus(t *testing.T) {
	const name = "ClusterRole switchyard-external-jobs"
	multiKueue := "config: {multiKueue: {externalFrameworks: [{name: Simulation.v1.sim.example.com}, {name: Study.v2.example.com}, {name: Process.v1.example.com}]}}"
	rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	want := []rbacv1.PolicyRule{
		rule("sim.example.com", "simulations", "get", "list", "watch"), rule("sim.example.com", "simulations/status", "patch"),
		rule("example.com", "studies", "get", "list", "watch"), rule("example.com", "studies/status", "patch"),
		rule("example.com", "processes", "get", "list", "watch"), rule("example.com", "processes/status", "patch"),
	}
	hub := render(t, valuesOf(t, []byte("{role: hub, "+multiKueue+"}")))
	if diff := cmp.Diff(want, rolesOf(t, hub)[name]); diff != "" {
		t.Error(diff)
	}
	checkStrictly(t, strictDecoder(t), hub.Objects)
	bound := slices.ContainsFunc(hub.Objects, func(o *unstructured.Unstructured) bool {
		role, _, _ := unstructured.NestedString(o.Object, "roleRef", "name")
		return o.GetKind() == "ClusterRoleBinding" && role == "switchyard-external-jobs"
	})
	if !bound {
		t.Error("nobody has the role")
	}
	for what, values := range map[string]string{
		"a worker": "{role: worker, " + multiKueue + "}", "a hub without such kinds": "role: hub",
		"a hub that runs others' kinds itself": "{role: hub, config: {integrations: {externalFrameworks: [Study.v2.example.com]}}}",
	} {
		if rules, there := rolesOf(t, render(t, valuesOf(t, []byte(values))))[name]; there {
			t.Errorf("%s has %v", what, rules)
		}
	}
}

// The guide says what an installation without Helm has to add.
func TestTheGuidesPatchForOverlaysIsTheChartsWebhook(t *testing.T) {
	guide, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, patch, found := strings.Cut(string(guide), "<!-- the webhook of external kinds -->\n```yaml\n")
	patch, _, closed := strings.Cut(patch, "```\n")
	if !found || !closed {
		t.Fatal("the guide has no such patch")
	}
	at, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	base, err := filepath.Abs("../config/worker")
	if err != nil {
		t.Fatal(err)
	}
	if base, err = filepath.Rel(at, base); err != nil {
		t.Fatal(err)
	}
	patch = strings.Replace(patch, "config/worker", base, 1)
	if err := os.WriteFile(filepath.Join(at, "kustomization.yaml"), []byte(patch), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := charts.Overlay(at)
	if err != nil {
		t.Fatal(err)
	}
	got := validating(t, overlay)[externalWebhook]
	want := rendered(t, "config: {integrations: {externalFrameworks: [Simulation.v1.example.com]}}")[externalWebhook]
	want.TimeoutSeconds = nil // the API's default
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-chart +overlay)\n%s", diff)
	}
}
