package charts_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	certmanager "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"switchyard.dev/charts"
)

// strictDecoder knows every kind that the chart renders and refuses fields that the kind has not.
func strictDecoder(t *testing.T) runtime.Decoder {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, monitoring.AddToScheme, certmanager.AddToScheme, apiregistration.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
}

func TestEveryManifestHasOnlyFieldsOfItsKind(t *testing.T) {
	decoder := strictDecoder(t)
	for name, values := range valueSets(t) {
		t.Run(name, func(t *testing.T) {
			checkStrictly(t, decoder, render(t, values).Objects)
		})
	}
}

func checkStrictly(t *testing.T, decoder runtime.Decoder, objects []*unstructured.Unstructured) {
	t.Helper()
	seen := map[string]bool{}
	for _, o := range objects {
		text, err := json.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := decoder.Decode(text, nil, nil); err != nil {
			t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
		id := strings.Join([]string{o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName()}, " ")
		if seen[id] {
			t.Errorf("%s is rendered twice", id)
		}
		seen[id] = true
	}
}

func TestAMisspeltFieldWouldBeNoticed(t *testing.T) {
	_, _, err := strictDecoder(t).Decode([]byte(`{"apiVersion":"v1","kind":"Service","spec":{"port":[]}}`), nil, nil)
	if err == nil || !strings.Contains(err.Error(), `unknown field "spec.port"`) {
		t.Errorf("the error is %v", err)
	}
}

// rolesOf are the rules by kind and name of their role.
func rolesOf(t *testing.T, r charts.Rendered) map[string][]rbacv1.PolicyRule {
	t.Helper()
	roles := map[string][]rbacv1.PolicyRule{}
	for _, o := range r.Objects {
		if o.GetKind() != "ClusterRole" && o.GetKind() != "Role" {
			continue
		}
		role := &rbacv1.ClusterRole{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, role); err != nil {
			t.Fatal(err)
		}
		roles[o.GetKind()+" "+o.GetName()] = role.Rules
	}
	return roles
}

func TestNoRoleHasWildcardsAndSecretsAreReadableOnlyWhereTheyLie(t *testing.T) {
	for _, role := range []string{"hub", "worker"} {
		for name, rules := range rolesOf(t, render(t, map[string]any{"role": role})) {
			for _, rule := range rules {
				if slices.Contains(slices.Concat(rule.Verbs, rule.Resources, rule.APIGroups, rule.NonResourceURLs), "*") {
					t.Errorf("%s has a wildcard: %v", name, rule)
				}
				if slices.Contains(rule.Resources, "secrets") && strings.HasPrefix(name, "ClusterRole ") {
					t.Errorf("%s reaches Secrets of every namespace: %v", name, rule)
				}
				for _, verb := range []string{"bind", "escalate", "impersonate"} {
					if slices.Contains(rule.Verbs, verb) {
						t.Errorf("%s may %s: %v", name, verb, rule)
					}
				}
			}
		}
	}
}

func TestEveryKindOfTheCRDsHasRolesForPeople(t *testing.T) {
	r := render(t, nil)
	roles := rolesOf(t, r)
	for _, o := range r.Objects {
		if o.GetKind() != "CustomResourceDefinition" {
			continue
		}
		plural, _, _ := strings.Cut(o.GetName(), ".")
		singular, _, err := unstructured.NestedString(o.Object, "spec", "names", "singular")
		if err != nil || singular == "" {
			t.Fatalf("%s: %v", o.GetName(), err)
		}
		wanted := map[string]string{"viewer": "list"}
		if o.GetName() != "capacityreports.switchyard.dev" { // which are written by programs only
			wanted["editor"] = "update"
		}
		for role, verb := range wanted {
			rules := roles["ClusterRole kueue-"+singular+"-"+role+"-role"]
			if len(rules) == 0 || !slices.Contains(rules[0].Resources, plural) || !slices.Contains(rules[0].Verbs, verb) {
				t.Errorf("the %s of %s has %v", role, o.GetName(), rules)
			}
		}
	}
}
