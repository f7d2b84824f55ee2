// Package config reads the configuration file of the programs, in any version
// of config.kueue.x-k8s.io, into its newest version (contract: kueue-api.md 7).
package config

import (
	"fmt"
	"os"

	"github.com/hashicorp/go-multierror"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"switchyard.dev/apis/config/v1beta1"
	"switchyard.dev/apis/config/v1beta2"
)

// Load decodes a file strictly (an unknown or repeated field is an error), turns
// it into the newest version, fills its defaults and validates it. Empty data is
// an empty file of the newest version.
func Load(data []byte) (*v1beta2.Configuration, error) {
	c, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("decoding the configuration: %w", err)
	}
	c.SetDefaults()
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("validating the configuration: %w", err)
	}
	return c, nil
}

// LoadFile is Load for the content of a file; an empty path is an empty file.
func LoadFile(path string) (*v1beta2.Configuration, error) {
	if path == "" {
		return Load(nil)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	return Load(data)
}

func decode(data []byte) (*v1beta2.Configuration, error) {
	if len(data) == 0 {
		return &v1beta2.Configuration{}, nil
	}
	var meta metav1.TypeMeta
	if err := yaml.Unmarshal(data, &meta); err != nil {
		return nil, err
	}
	if meta.Kind != v1beta2.Kind {
		return nil, fmt.Errorf("kind is %q, not %q", meta.Kind, v1beta2.Kind)
	}
	switch meta.APIVersion {
	case v1beta2.GroupVersion.String():
		c := &v1beta2.Configuration{}
		return c, decodeStrict(data, c)
	case v1beta1.GroupVersion.String():
		old := &v1beta1.Configuration{}
		if err := decodeStrict(data, old); err != nil {
			return nil, err
		}
		return old.Convert(), nil
	}
	return nil, fmt.Errorf("apiVersion is %q, neither %q nor %q", meta.APIVersion, v1beta2.GroupVersion, v1beta1.GroupVersion)
}

// decodeStrict tells of every unknown field, by its path, and minds the case of names.
func decodeStrict(data []byte, into any) error {
	converted, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return err
	}
	unknown, err := json.UnmarshalStrict(converted, into)
	if err != nil {
		return err
	}
	return multierror.Append(nil, unknown...).ErrorOrNil()
}
