package jobtest

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/validation/spec"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/config"
)

// Converters let the fake API server merge applied Workloads as the real one does, by the schema of their CRD: list entries
// have keys and owners.
func Converters(tb testing.TB) []managedfields.TypeConverter {
	tb.Helper()
	workloads, err := workloadConverter()
	if err != nil {
		tb.Fatal(err)
	}
	return []managedfields.TypeConverter{workloads, builtInConverter(), managedfields.NewDeducedTypeConverter()}
}

// builtInConverter knows the kinds of Kubernetes; it takes a good part of a second.
var builtInConverter = sync.OnceValue(func() managedfields.TypeConverter { return applyconfigurations.NewTypeConverter(scheme.Scheme) })

// workloadConverter reads the CRD once; that takes a good part of a second.
var workloadConverter = sync.OnceValues(func() (managedfields.TypeConverter, error) {
	all, err := config.CRDs()
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(crd *apiextensionsv1.CustomResourceDefinition) bool { return crd.Spec.Names.Kind == "Workload" })
	models := map[string]*spec.Schema{}
	for _, version := range all[at].Spec.Versions {
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
