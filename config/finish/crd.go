package main

import (
	"fmt"
	"os"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// Where the conversion webhook is found in a default installation. Overlays and
// package config replace it.
const (
	namespace   = "kueue-system"
	serviceName = "kueue-webhook-service"
	path        = "/convert"
)

// convertible tells whether the versions of a kind differ by more than pruning.
func convertible(plural string) bool {
	return slices.Contains([]string{"localqueues", "clusterqueues", "cohorts", "workloads", "multikueueclusters"}, plural)
}

// finishCRD adds the conversion webhook and drops descriptions of pod templates.
func finishCRD(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(data, crd); err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	if convertible(crd.Spec.Names.Plural) {
		crd.Spec.Conversion = conversion()
	}
	for i := range crd.Spec.Versions {
		silence(crd.Spec.Versions[i].Schema.OpenAPIV3Schema, false)
	}
	return write(file, crd)
}

func conversion() *apiextensionsv1.CustomResourceConversion {
	return &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig: &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{
				Namespace: namespace, Name: serviceName, Path: ptr.To(path),
			}},
			ConversionReviewVersions: []string{"v1"},
		},
	}
}

// silence drops the descriptions below every property named "template".
func silence(schema *apiextensionsv1.JSONSchemaProps, silent bool) {
	if schema == nil {
		return
	}
	if silent {
		schema.Description = ""
	}
	for name, property := range schema.Properties {
		silence(&property, silent || name == "template")
		schema.Properties[name] = property
	}
	if schema.Items != nil {
		silence(schema.Items.Schema, silent)
	}
	if schema.AdditionalProperties != nil {
		silence(schema.AdditionalProperties.Schema, silent)
	}
}
