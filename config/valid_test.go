package config_test

import (
	"context"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
)

// The API server refuses a definition whose rules could cost too much; this asks
// it without starting one.
func TestAnAPIServerAcceptsEveryDefinition(t *testing.T) {
	for _, crd := range crds(t) {
		t.Run(crd.Name, func(t *testing.T) {
			internal := &apiextensions.CustomResourceDefinition{}
			apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(crd)
			if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, internal, nil); err != nil {
				t.Fatal(err)
			}
			for _, problem := range validation.ValidateCustomResourceDefinition(context.Background(), internal) {
				if problem.Field == "status.storedVersions" {
					continue // A definition that is not stored yet has none.
				}
				t.Error(problem)
			}
		})
	}
}
