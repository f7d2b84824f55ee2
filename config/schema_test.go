package config_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// door is one version of one kind as an API server lets objects through it:
// defaults first, then bounds, list keys and rules.
type door struct {
	structural *schema.Structural
	bounds     validation.SchemaValidator
	rules      *cel.Validator
}

// doors opens every kind and version once; keys are like "Workload/v1beta2".
func doors(t *testing.T) map[string]door {
	t.Helper()
	all := map[string]door{}
	for _, crd := range crds(t) {
		for _, version := range crd.Spec.Versions {
			key := crd.Spec.Names.Kind + "/" + version.Name
			all[key] = newDoor(t, version.Schema)
		}
	}
	return all
}

func newDoor(t *testing.T, from *apiextensionsv1.CustomResourceValidation) door {
	t.Helper()
	internal := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(from, internal, nil); err != nil {
		t.Fatal(err)
	}
	structural, err := schema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	bounds, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	return door{structural: structural, bounds: bounds, rules: cel.NewValidator(structural, true, celconfig.PerCallLimit)}
}

// admit defaults the object and says what is wrong with it; old is nil on creation.
func (d door) admit(old, object map[string]any) field.ErrorList {
	defaulting.Default(object, d.structural)
	if old == nil {
		return append(d.stateless(object), d.apply(object, nil)...)
	}
	defaulting.Default(old, d.structural)
	problems := validation.ValidateCustomResourceUpdate(nil, object, old, d.bounds)
	problems = append(problems, listtype.ValidateListSetsAndMaps(nil, d.structural, object)...)
	return append(problems, d.apply(object, old)...)
}

func (d door) stateless(object map[string]any) field.ErrorList {
	problems := validation.ValidateCustomResource(nil, object, d.bounds)
	return append(problems, listtype.ValidateListSetsAndMaps(nil, d.structural, object)...)
}

func (d door) apply(object, old map[string]any) field.ErrorList {
	var before any
	if old != nil {
		before = old
	}
	problems, _ := d.rules.Validate(context.Background(), nil, d.structural, object, before, celconfig.RuntimeCELCostBudget)
	return problems
}

// object reads YAML as an API server does.
func object(t *testing.T, manifest string) map[string]any {
	t.Helper()
	if manifest == "" {
		return nil
	}
	fields := map[string]any{}
	if err := yaml.Unmarshal([]byte(manifest), &fields); err != nil {
		t.Fatalf("%s: %v", manifest, err)
	}
	return integers(fields).(map[string]any)
}

// integers makes whole numbers int64, which is what an API server's decoder yields.
func integers(value any) any {
	switch v := value.(type) {
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	case map[string]any:
		for key, item := range v {
			v[key] = integers(item)
		}
	case []any:
		for i, item := range v {
			v[i] = integers(item)
		}
	}
	return value
}

// expect fails the test unless the problems are exactly the wanted one, "" for none.
func expect(t *testing.T, problems field.ErrorList, want string) {
	t.Helper()
	switch {
	case want == "" && len(problems) > 0:
		t.Errorf("refused: %v", problems.ToAggregate())
	case want != "" && len(problems) == 0:
		t.Errorf("allowed, want %q", want)
	case want != "" && !strings.Contains(fmt.Sprint(problems.ToAggregate()), want):
		t.Errorf("refused with %v, want %q", problems.ToAggregate(), want)
	}
}
