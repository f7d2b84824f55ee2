package servingtest

import (
	"encoding/json"
	"os"
	"reflect"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// converters let the fake API server merge applied Workloads as the real one does, by the schema of their CRD: list entries
// have keys and owners.
func converters(t *testing.T, s *runtime.Scheme) []managedfields.TypeConverter {
	t.Helper()
	workloads, err := workloadConverter()
	if err != nil {
		t.Fatal(err)
	}
	return []managedfields.TypeConverter{workloads, applyconfigurations.NewTypeConverter(s), managedfields.NewDeducedTypeConverter()}
}

// workloadConverter reads the CRD once; that takes a good part of a second. Tests run in the directory of a kind's package.
var workloadConverter = sync.OnceValues(func() (managedfields.TypeConverter, error) {
	data, err := os.ReadFile("../../../config/crd/bases/kueue.x-k8s.io_workloads.yaml")
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

func notFound(obj client.Object) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: reflect.TypeOf(obj).Elem().Name()}, obj.GetName())
}
