package webhook

import (
	"os"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
	"sigs.k8s.io/yaml"

	kueuev1beta1 "switchyard.dev/apis/kueue/v1beta1"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// schemaOf reads the schema of a version of a kind.
func schemaOf(t *testing.T, plural, version string) *structuralschema.Structural {
	t.Helper()
	data, err := os.ReadFile("../../config/crd/bases/kueue.x-k8s.io_" + plural + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(data, &crd); err != nil {
		t.Fatal(err)
	}
	for _, v := range crd.Spec.Versions {
		if v.Name != version {
			continue
		}
		internal := &apiextensions.JSONSchemaProps{}
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, internal, nil); err != nil {
			t.Fatal(err)
		}
		schema, err := structuralschema.NewStructural(internal)
		if err != nil {
			t.Fatal(err)
		}
		return schema
	}
	t.Fatalf("%s has no version %s", plural, version)
	return nil
}

// writtenBack is what an old client has read of the object, with a label more, and what the API server makes of its update:
// the errors of the rules of the old version's schema, and the object in the version that is stored.
func writtenBack[Hub, Spoke any](t *testing.T, plural string, stored *Hub) (*Hub, field.ErrorList) {
	t.Helper()
	schema := schemaOf(t, plural, kueuev1beta1.GroupVersion.Version)
	before := unstructuredOf(t, convertedFrom[Spoke](t, any(stored).(conversion.Hub)))
	after := unstructuredOf(t, convertedFrom[Spoke](t, any(stored).(conversion.Hub)))
	metadata, _ := after["metadata"].(map[string]any)
	metadata["labels"] = map[string]any{"seen": "true"}
	defaulting.Default(after, schema)
	rules := cel.NewValidator(schema, true, celconfig.PerCallLimit)
	problems, _ := rules.Validate(t.Context(), nil, schema, after, before, celconfig.RuntimeCELCostBudget)
	written, hub := new(Spoke), new(Hub)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(after, written); err != nil {
		t.Fatal(err)
	}
	if err := any(written).(conversion.Convertible).ConvertTo(any(hub).(conversion.Hub)); err != nil {
		t.Fatal(err)
	}
	return hub, problems
}

func convertedFrom[Spoke any](t *testing.T, hub conversion.Hub) *Spoke {
	t.Helper()
	spoke := new(Spoke)
	if err := any(spoke).(conversion.Convertible).ConvertFrom(hub); err != nil {
		t.Fatal(err)
	}
	return spoke
}

func unstructuredOf(t *testing.T, object any) map[string]any {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestAClientOfV1beta1MayWriteBackAWorkloadThatHoldsQuota(t *testing.T) {
	const layers = "topologyRequest: {required: block, podsetSliceRequiredTopologyConstraints: [{topology: rack, size: 2}]}"
	for name, c := range map[string]struct{ podSet, spec, status string }{
		"without priority class":      {"", "", ""},
		"with a priority class":       {"", "priority: 3, priorityClassRef: {group: kueue.x-k8s.io, kind: WorkloadPriorityClass, name: high}", ""},
		"with a pod priority class":   {"", "priority: 3, priorityClassRef: {group: scheduling.k8s.io, kind: PriorityClass, name: high}", ""},
		"with layers of slices":       {layers, "", ""},
		"with preemption gates":       {"", "preemptionGates: [{name: example.com/gate}]", "preemptionGates: [{name: example.com/gate, position: Open, lastTransitionTime: '2026-11-21T00:00:00Z'}]"},
		"with a late topology":        {"topologyRequest: {required: block}", "", ""},
		"with queue and time to live": {"", "queueName: lq, maximumExecutionTimeSeconds: 60", ""},
	} {
		t.Run(name, func(t *testing.T) {
			stored := read[kueue.Workload](t, "metadata: {name: w, namespace: ns}\nspec: {podSets: [{name: main, count: 4, template: {}, "+c.podSet+"}], "+c.spec+"}\n"+
				"status: {"+onTrue+","+assigned("count: 4, resourceUsage: {cpu: 4}")+","+c.status+"}")
			written, problems := writtenBack[kueue.Workload, kueuev1beta1.Workload](t, "workloads", stored)
			problems = append(problems, byDefault().ValidateWorkloadUpdate(stored, written)...)
			expect(t, problems, "")
			if len(written.Spec.PreemptionGates) != len(stored.Spec.PreemptionGates) || len(written.Status.PreemptionGates) != len(stored.Status.PreemptionGates) {
				t.Error("its preemption gates are lost")
			}
		})
	}
}

func TestAClientOfV1beta1MayWriteBackAQueueWithFieldsItNeverSaw(t *testing.T) {
	stored := read[kueue.ClusterQueue](t, "metadata: {name: q}\nspec: {concurrentAdmissionPolicy: {migration: {mode: TryPreferredFlavors}}, resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 1}]}]}]}")
	written, problems := writtenBack[kueue.ClusterQueue, kueuev1beta1.ClusterQueue](t, "clusterqueues", stored)
	expect(t, append(problems, byDefault().ValidateClusterQueueUpdate(stored, written)...), "")
	if written.Spec.ConcurrentAdmissionPolicy == nil {
		t.Error("its policy is lost")
	}
}
