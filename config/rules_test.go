package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// ruleCase is an object, or an update of old to it, and what an API server says of
// it: a message, or nothing when it is let through.
type ruleCase struct {
	name string
	// kind and, after a slash, version.
	kind   string
	old    string
	object string
	want   string
}

func TestRulesLetTheGoodThroughAndSayWhatIsWrongWithTheBad(t *testing.T) {
	all := doors(t)
	for _, c := range slices.Concat(workloadRules(), queueRules(), otherRules()) {
		t.Run(c.kind+": "+c.name, func(t *testing.T) {
			expect(t, all[c.kind].admit(object(t, c.old), object(t, c.object)), c.want)
		})
	}
}

// A rule that no case breaks is a rule that may say anything.
func TestEveryRuleIsBrokenBySomeCase(t *testing.T) {
	var missing []string
	cases := slices.Concat(workloadRules(), queueRules(), otherRules())
	for _, crd := range crds(t) {
		for _, version := range crd.Spec.Versions {
			kind := crd.Spec.Names.Kind + "/" + version.Name
			for _, message := range messages(version.Schema.OpenAPIV3Schema) {
				broken := slices.ContainsFunc(cases, func(c ruleCase) bool {
					return c.kind == kind && c.want != "" && strings.Contains(message, c.want)
				})
				if !broken {
					missing = append(missing, fmt.Sprintf("%s: %s", kind, message))
				}
			}
		}
	}
	slices.Sort(missing)
	if diff := cmp.Diff([]string(nil), slices.Compact(missing)); diff != "" {
		t.Errorf("rules without a case that breaks them:\n%s", diff)
	}
}

func messages(schema *apiextensionsv1.JSONSchemaProps) []string {
	var all []string
	for _, rule := range schema.XValidations {
		all = append(all, rule.Message)
	}
	for _, property := range schema.Properties {
		all = append(all, messages(&property)...)
	}
	if schema.Items != nil {
		all = append(all, messages(schema.Items.Schema)...)
	}
	if schema.AdditionalProperties != nil {
		all = append(all, messages(schema.AdditionalProperties.Schema)...)
	}
	return all
}
