package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/config"
)

// tables are the contract's tables of fields, one a kind and version.
const tables = "../apis/kueue/testdata/contract"

func TestEveryFactOfTheContractsTablesIsInTheCRDs(t *testing.T) {
	for _, crd := range crds(t) {
		for _, version := range crd.Spec.Versions {
			name := crd.Spec.Names.Plural + "." + version.Name + ".tsv"
			t.Run(name, func(t *testing.T) {
				want := table(t, filepath.Join(tables, name))
				got := []string{"path\ttype\tfacts"}
				got = append(got, fieldsOf("", version.Schema.OpenAPIV3Schema)...)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("the schema differs from the contract (-contract +CRD):\n%s", diff)
				}
			})
		}
	}
}

func TestScopeNamesAndColumnsAreThoseOfTheContractsIndex(t *testing.T) {
	got := []string{"kind\tversion\tscope\trole\tshortNames\tsubresource\troot-cel-rules\tprinter-columns"}
	for _, crd := range crds(t) {
		for _, version := range crd.Spec.Versions {
			got = append(got, indexLine(crd, version))
		}
	}
	want := table(t, filepath.Join(tables, "index.tsv"))
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the CRDs differ from the contract (-contract +CRD):\n%s", diff)
	}
}

// crds are those of the public API, which are what the contract's tables are about.
func crds(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	crds = slices.DeleteFunc(crds, func(crd *apiextensionsv1.CustomResourceDefinition) bool { return crd.Spec.Group != kueue.GroupName })
	if len(crds) != 11 {
		t.Fatalf("%d kinds, want 11", len(crds))
	}
	return crds
}

func TestTheKindsBeyondThePublicAPIAreInstalledToo(t *testing.T) {
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, crd := range crds {
		if crd.Spec.Group == switchyard.GroupName {
			names = append(names, crd.Name)
		}
	}
	if diff := cmp.Diff([]string{"capacityreports.switchyard.dev", "jobkinds.switchyard.dev"}, names); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func table(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimRight(string(data), "\n"), "\n")
}

// fieldsOf renders the fields of an object as the lines of a table, sorted.
func fieldsOf(path string, schema *apiextensionsv1.JSONSchemaProps) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		if path == "" && slices.Contains([]string{"apiVersion", "kind", "metadata"}, name) {
			continue
		}
		property := schema.Properties[name]
		at := strings.TrimPrefix(path+"."+name, ".")
		lines = append(lines, line(at, &property, slices.Contains(schema.Required, name)))
		if at == "spec.podSets[].template" {
			lines = append(lines, at+".*\tcore/v1 PodTemplateSpec\tfull schema")
			continue
		}
		lines = append(lines, below(at, &property)...)
	}
	return lines
}

// below renders what is inside a field: properties, items and values.
func below(path string, schema *apiextensionsv1.JSONSchemaProps) []string {
	switch {
	case schema.Items != nil:
		item := schema.Items.Schema
		return append([]string{line(path+"[]", item, false)}, below(path+"[]", item)...)
	case schema.AdditionalProperties != nil:
		value := schema.AdditionalProperties.Schema
		return append([]string{line(path+"{}", value, false)}, below(path+"{}", value)...)
	}
	return fieldsOf(path, schema)
}

func line(path string, schema *apiextensionsv1.JSONSchemaProps, required bool) string {
	kind := schema.Type
	if schema.XIntOrString {
		kind = "int-or-string"
	}
	if schema.Format != "" {
		kind += ":" + schema.Format
	}
	return path + "\t" + kind + "\t" + strings.Join(facts(schema, required), " ")
}

func facts(s *apiextensionsv1.JSONSchemaProps, required bool) []string {
	var facts []string
	add := func(there bool, format string, value func() any) {
		if there {
			facts = append(facts, fmt.Sprintf(format, value()))
		}
	}
	add(required, "%s", func() any { return "required" })
	add(s.Default != nil, "default=%s", func() any { return text(s.Default) })
	add(len(s.Enum) > 0, "enum=%s", func() any { return text(s.Enum) })
	add(s.Minimum != nil, "minimum=%v", func() any { return *s.Minimum })
	add(s.Maximum != nil, "maximum=%v", func() any { return *s.Maximum })
	add(s.MinLength != nil, "minLength=%d", func() any { return *s.MinLength })
	add(s.MaxLength != nil, "maxLength=%d", func() any { return *s.MaxLength })
	add(s.MinItems != nil, "minItems=%d", func() any { return *s.MinItems })
	add(s.MaxItems != nil, "maxItems=%d", func() any { return *s.MaxItems })
	add(s.MinProperties != nil, "minProperties=%d", func() any { return *s.MinProperties })
	add(s.MaxProperties != nil, "maxProperties=%d", func() any { return *s.MaxProperties })
	add(s.Pattern != "", "pattern=%s", func() any { return text(s.Pattern) })
	add(s.XListType != nil, "list-type=%s", func() any { return text(s.XListType) })
	add(len(s.XListMapKeys) > 0, "list-map-keys=%s", func() any { return text(s.XListMapKeys) })
	add(s.XMapType != nil, "map-type=%s", func() any { return text(s.XMapType) })
	add(len(s.XValidations) > 0, "cel-rules=%d", func() any { return len(s.XValidations) })
	return facts
}

// text is the JSON of a value, as the tables have it: compact, keys sorted.
func text(value any) string {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(encoded.String())
}

func indexLine(crd *apiextensionsv1.CustomResourceDefinition, version apiextensionsv1.CustomResourceDefinitionVersion) string {
	role := "served"
	if version.Storage {
		role = "storage"
	}
	subresource := "-"
	if version.Subresources != nil && version.Subresources.Status != nil {
		subresource = "status"
	}
	var columns []string
	for _, column := range version.AdditionalPrinterColumns {
		priority := ""
		if column.Priority != 0 {
			priority = fmt.Sprintf(",prio %d", column.Priority)
		}
		columns = append(columns, fmt.Sprintf("%s=%s(%s%s)", column.Name, column.JSONPath, column.Type, priority))
	}
	return strings.Join([]string{
		crd.Spec.Names.Kind, version.Name, string(crd.Spec.Scope), role, strings.Join(crd.Spec.Names.ShortNames, ","),
		subresource, fmt.Sprint(len(version.Schema.OpenAPIV3Schema.XValidations)), strings.Join(columns, "; "),
	}, "\t")
}
