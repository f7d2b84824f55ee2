package config_test

import (
	"slices"
	"strings"
	"testing"

	"switchyard.dev/apis/kueue/contracttest"
)

// Which rule says which of these is for the cases of the rules to tell.
func TestWhatTheSchemasSay(t *testing.T) {
	got := map[string]contracttest.Said{}
	for _, crd := range crds(t) {
		for _, version := range crd.Spec.Versions {
			if crd.Spec.Group != "kueue.x-k8s.io" || version.Name != "v1beta2" {
				continue
			}
			if said := messages(version.Schema.OpenAPIV3Schema); len(said) > 0 {
				slices.Sort(said)
				got[crd.Spec.Names.Kind] = contracttest.Said{Kind: version.Name, Text: strings.Join(slices.Compact(said), "; ")}
			}
		}
	}
	contracttest.Compare(t, "schemas", got)
}
