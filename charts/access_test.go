package charts_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// keptOut are the namespaces in which hubs can do nothing, and the expression that knows the hubs.
func keptOut(t *testing.T, values map[string]any) (namespaces []any, hubs string) {
	t.Helper()
	for _, o := range render(t, values).Objects {
		if !strings.HasSuffix(o.GetName(), "-hub-access") {
			continue
		}
		switch o.GetKind() {
		case "ValidatingAdmissionPolicyBinding":
			expressions, _, _ := unstructured.NestedSlice(o.Object, "spec", "matchResources", "namespaceSelector", "matchExpressions")
			namespaces = expressions[0].(map[string]any)["values"].([]any)
		case "ValidatingAdmissionPolicy":
			conditions, _, _ := unstructured.NestedSlice(o.Object, "spec", "matchConditions")
			hubs = conditions[0].(map[string]any)["expression"].(string)
		}
	}
	return namespaces, hubs
}

func TestHubsAreKeptOutOfTheSystemsNamespacesOfAWorker(t *testing.T) {
	got, _ := keptOut(t, map[string]any{"role": "worker"})
	if diff := cmp.Diff([]any{"kube-system", "kube-public", "kube-node-lease", namespace}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	got, hubs := keptOut(t, map[string]any{"role": "worker", "hubAccess": map[string]any{
		"excludedNamespaces": []any{"kube-system", "vault"}, "users": []any{"CN=hub", `it's "one"`},
	}})
	if diff := cmp.Diff([]any{"kube-system", "vault", namespace}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if !strings.HasSuffix(hubs, `|| request.userInfo.username in ["CN=hub","it's \"one\""]`) {
		t.Errorf("hubs are known by %s", hubs)
	}
	for _, values := range []map[string]any{{"role": "hub"}, {"role": "worker", "hubAccess": map[string]any{"policy": false}}} {
		if got, _ := keptOut(t, values); got != nil {
			t.Errorf("with %v hubs are kept out of %v", values, got)
		}
	}
}
