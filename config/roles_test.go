package config

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"switchyard.dev/worker/job/all"
)

func TestEachProgramHasAClusterRoleAndARoleOfItsOwn(t *testing.T) {
	for _, program := range []string{"hub", "worker"} {
		cluster, own, err := Roles(program)
		if err != nil {
			t.Fatal(err)
		}
		if cluster.Kind != "ClusterRole" || own.Kind != "Role" || len(cluster.Rules) == 0 || len(own.Rules) == 0 {
			t.Errorf("%s: got %s with %d rules and %s with %d", program, cluster.Kind, len(cluster.Rules), own.Kind, len(own.Rules))
		}
		for _, rule := range append(cluster.Rules, own.Rules...) {
			for _, word := range append(append(rule.Verbs, rule.Resources...), rule.APIGroups...) {
				if word == "*" {
					t.Errorf("%s: a wildcard in %v", program, rule)
				}
			}
		}
	}
	if _, _, err := Roles("nobody"); err == nil {
		t.Error("a program that does not exist has roles")
	}
}

// Everything else is patched. A user with the right to update any webhook configuration or CRD could have all requests sent
// to himself.
func TestAProgramUpdatesInAllTheClusterOnlyWhatCarriesItsCertificateAndWhatOwnersAskFor(t *testing.T) {
	mutating, validating := webhookNames(t)
	want := map[string][]string{
		"mutatingwebhookconfigurations": mutating, "validatingwebhookconfigurations": validating,
		"customresourcedefinitions": convertedCRDs(t),
	}
	for _, kind := range all.Kinds() { // owner references that block, see worker/job
		resource, _ := meta.UnsafeGuessKindToResource(kind.GVK())
		want[resource.Resource+"/finalizers"] = nil
	}
	want["pods/finalizers"] = nil
	for _, program := range []string{"hub", "worker"} {
		cluster, _, err := Roles(program)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][]string{}
		for _, rule := range cluster.Rules {
			if slices.Contains(rule.Verbs, "update") {
				for _, resource := range rule.Resources {
					got[resource] = append(got[resource], rule.ResourceNames...)
				}
			}
		}
		for _, names := range got {
			slices.Sort(names)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", program, diff)
		}
	}
}

func webhookNames(t *testing.T) (mutating, validating []string) {
	t.Helper()
	m, v, err := Webhooks()
	if err != nil {
		t.Fatal(err)
	}
	// The second of each holds the webhooks of kinds that JobKinds declare, see worker/controller/jobkind.
	return []string{m.Name, "switchyard-mutating-jobkinds"}, []string{v.Name, "switchyard-validating-jobkinds"}
}

func convertedCRDs(t *testing.T) []string {
	t.Helper()
	crds, err := CRDs()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, crd := range crds {
		if c := crd.Spec.Conversion; c != nil && c.Strategy == apiextensionsv1.WebhookConverter {
			names = append(names, crd.Name)
		}
	}
	slices.Sort(names)
	return names
}
