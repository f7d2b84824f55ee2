// Package config carries the generated manifests, so that programs, the sandbox
// and tests can install them without knowing where the sources are.
//
// The manifests are written by "make generate" (see apis/DESIGN.md) and name the Service of a default installation as their
// webhook server. A program that serves webhooks elsewhere passes what is returned here to ServeConversion and ServeWebhooks
// before installing it.
package config

import (
	"embed"
	"fmt"
	"io/fs"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:embed crd/bases/*.yaml
var crdFiles embed.FS

// ConversionPath is where the webhook server answers conversion reviews.
const ConversionPath = "/convert"

// CRDs returns the definitions of the kinds of kueue.x-k8s.io and switchyard.dev, by group and name.
// Each call returns new objects.
func CRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	files, err := fs.Glob(crdFiles, "crd/bases/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing the CRDs: %w", err)
	}
	crds := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(files))
	for _, file := range files {
		data, err := crdFiles.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, crd); err != nil {
			return nil, fmt.Errorf("decoding %s: %w", file, err)
		}
		crds = append(crds, crd)
	}
	return crds, nil
}

// ServeConversion makes every definition that has a conversion webhook use this
// client configuration. The client must reach ConversionPath: an URL includes it.
func ServeConversion(crds []*apiextensionsv1.CustomResourceDefinition, client apiextensionsv1.WebhookClientConfig) {
	for _, crd := range crds {
		if conversion := crd.Spec.Conversion; conversion != nil && conversion.Webhook != nil {
			conversion.Webhook.ClientConfig = client.DeepCopy()
		}
	}
}
