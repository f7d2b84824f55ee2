package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// shape is what the schema of an object, or of a part of one, says of its fields.
type shape struct {
	Ref        string           `json:"$ref"`
	AllOf      []shape          `json:"allOf"`
	Properties map[string]shape `json:"properties"`
	// Open lets there be fields of which it says nothing.
	Open  bool                                    `json:"x-kubernetes-preserve-unknown-fields"`
	Kinds []struct{ Group, Version, Kind string } `json:"x-kubernetes-group-version-kind"`
}

// publication is what an API server publishes of a group version, by the names of its schemas.
type publication struct {
	Components struct {
		Schemas map[string]shape `json:"schemas"`
	} `json:"components"`
}

// hasField tells whether objects of a kind can have a field, by the schema that the cluster publishes, which everybody may read;
// not known if that cannot be read.
func hasField(at *site, kind schema.GroupVersionKind, path ...string) (has, known bool) {
	d, err := published(at, kind.GroupVersion())
	if err != nil {
		return false, false
	}
	for _, s := range d.Components.Schemas {
		for _, k := range s.Kinds {
			if k.Group == kind.Group && k.Version == kind.Version && k.Kind == kind.Kind {
				return d.has(s, path), true
			}
		}
	}
	return false, false
}

func published(at *site, of schema.GroupVersion) (*publication, error) {
	paths, err := at.schemas.Paths()
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
	d := &publication{}
	if err := json.Unmarshal(raw, d); err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", of, err)
	}
	return d, nil
}

// has follows a path into the schema. A schema that refers to another is that one.
func (d *publication) has(s shape, path []string) bool {
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
	return d.has(next, path[1:])
}
