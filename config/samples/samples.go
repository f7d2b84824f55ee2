// Package samples holds manifests to copy: a hub with two teams' queues, its two workers' queues, and jobs; a team that moves
// from ResourceQuotas to queues. The sandbox applies the very same files.
package samples

import (
	"bufio"
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Files are the manifests by directory: hub/ is applied on the hub, workers/<name>.yaml and workers/queues.yaml on the
// worker of that name, workers/access.yaml on a worker to let a hub in, and jobs/, kinds/ and pods/ by users on the hub.
// jobkinds/ is for clusters with kinds of job that no program knows. migration/ stands for itself, on a hub or a worker;
// teams.yaml is for "switchctl queue setup".
//
//go:embed hub workers jobs kinds pods jobkinds migration teams.yaml
var Files embed.FS

// Objects parses manifests in the order of the names; a directory stands for its files in alphabetical order.
func Objects(names ...string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, name := range names {
		err := fs.WalkDir(Files, name, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || path.Ext(file) != ".yaml" {
				return err
			}
			data, err := Files.ReadFile(file)
			if err != nil {
				return err
			}
			parsed, err := parse(data)
			objects = append(objects, parsed...)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("sample %s: %w", name, err)
		}
	}
	return objects, nil
}

func parse(data []byte) ([]*unstructured.Unstructured, error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	var objects []*unstructured.Unstructured
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &object.Object); err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}
