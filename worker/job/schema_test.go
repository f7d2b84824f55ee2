package job_test

import (
	"encoding/json"
	"os"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// converters let the fake API server merge applied Workloads as the real one does, by the schema of their CRD: list entries
// have keys and owners.
func converters(t *testing.T, scheme *runtime.Scheme) []managedfields.TypeConverter {
	t.Helper()
	workloads, err := workloadConverter()
	if err != nil {
		t.Fatal(err)
	}
	return []managedfields.TypeConverter{workloads, applyconfigurations.NewTypeConverter(scheme), managedfields.NewDeducedTypeConverter()}
}

// workloadConverter reads the CRD once; that takes a good part of a second.
var workloadConverter = sync.OnceValues(func() (managedfields.TypeConverter, error) {
	data, err := os.ReadFile("../../config/crd/bases/kueue.x-k8s.io_workloads.yaml")
	if err != nil {
		return nil, err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(data, &crd); err != nil {
		return nil, err
	}
	models := map[string]*spec.Schema{}
	for _, version := range crd.Spec.Versions {
		if version.Name != kueue.GroupVersion.Version {
			continue
		}
		data, err := json.Marshal(version.Schema.OpenAPIV3Schema)
		if err != nil {
			return nil, err
		}
		model := &spec.Schema{}
		if err := json.Unmarshal(data, model); err != nil {
			return nil, err
		}
		model.AddExtension("x-kubernetes-group-version-kind", []any{
			map[string]any{"group": kueue.GroupName, "version": version.Name, "kind": "Workload"},
		})
		models["workload"] = model
	}
	return managedfields.NewTypeConverter(models, true)
})
