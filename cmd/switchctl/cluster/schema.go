package cluster

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"switchyard.dev/cmd/switchctl/kubeclient"
)

// schemaNode is what the schema of an object, or of a part of one, says of its fields.
type schemaNode struct {
	Ref        string                `json:"$ref"`
	AllOf      []schemaNode          `json:"allOf"`
	Properties map[string]schemaNode `json:"properties"`
	// Open lets there be fields of which it says nothing.
	Open  bool                                    `json:"x-kubernetes-preserve-unknown-fields"`
	Kinds []struct{ Group, Version, Kind string } `json:"x-kubernetes-group-version-kind"`
}

// openAPISchema is what an API server publishes of a group version, by the names of its schemas.
type openAPISchema struct {
	Components struct {
		Schemas map[string]schemaNode `json:"schemas"`
	} `json:"components"`
}

// hasField reports whether objects of a kind can have a field, by the schema that the cluster publishes, which all users may
// read; not known if that cannot be read.
func hasField(at *kubeclient.Client, kind schema.GroupVersionKind, path ...string) (has, known bool) {
	d, err := readSchema(at, kind.GroupVersion())
	if err != nil {
		return false, false
	}
	for _, s := range d.Components.Schemas {
		for _, k := range s.Kinds {
			if k.Group == kind.Group && k.Version == kind.Version && k.Kind == kind.Kind {
				return d.hasPath(s, path), true
			}
		}
	}
	return false, false
}

// readSchema reads what the API server publishes of the kinds of a group and version.
func readSchema(at *kubeclient.Client, of schema.GroupVersion) (*openAPISchema, error) {
	paths, err := at.Schemas.Paths()
	if err != nil {
		return nil, fmt.Errorf("list the schemas: %w", err)
	}
	path, found := paths["apis/"+of.String()]
	if !found {
		return nil, fmt.Errorf("there is no schema of %s", of)
	}
	raw, err := path.Schema(runtime.ContentTypeJSON)
	if err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", of, err)
	}
	d := &openAPISchema{}
	if err := json.Unmarshal(raw, d); err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", of, err)
	}
	return d, nil
}

// hasPath follows a path into the schema. A schema that refers to another is that one.
func (d *openAPISchema) hasPath(s schemaNode, path []string) bool {
	for s.Ref != "" || len(s.AllOf) == 1 {
		if s.Ref != "" {
			s = d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
			continue
		}
		s = s.AllOf[0]
	}
	if len(path) == 0 {
		return true
	}
	next, found := s.Properties[path[0]]
	if !found {
		return s.Open
	}
	return d.hasPath(next, path[1:])
}
