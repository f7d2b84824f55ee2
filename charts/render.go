package charts

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// Release is what "helm install NAME charts/switchyard --namespace NAMESPACE" is told.
type Release struct {
	// Chart is the chart's directory.
	Chart string
	// Name and Namespace of the release.
	Name, Namespace string
	// Values go before those of values.yaml.
	Values map[string]any
}

// Rendered is what Helm would apply and print.
type Rendered struct {
	// Objects in the order of the templates' names.
	Objects []*unstructured.Unstructured
	// Notes are what is printed after an installation.
	Notes string
	// Manifest is the text of all templates.
	Manifest string
}

// Render renders the chart without asking a cluster. Errors are the schema's, the templates' own refusals, and YAML that
// does not decode.
func Render(r Release) (Rendered, error) {
	chart, err := loader.Load(r.Chart)
	if err != nil {
		return Rendered{}, fmt.Errorf("load the chart: %w", err)
	}
	options := common.ReleaseOptions{Name: r.Name, Namespace: r.Namespace, Revision: 1, IsInstall: true}
	values, err := util.ToRenderValues(chart, r.Values, options, nil)
	if err != nil {
		return Rendered{}, fmt.Errorf("values: %w", err)
	}
	files, err := engine.Render(chart, values)
	if err != nil {
		return Rendered{}, fmt.Errorf("render the chart: %w", err)
	}
	return collect(files)
}

// collect turns rendered files into objects.
func collect(files map[string]string) (Rendered, error) {
	var out Rendered
	var manifest strings.Builder
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		switch filepath.Ext(name) {
		case ".txt":
			out.Notes = files[name]
		case ".yaml":
			objects, err := decode(files[name])
			if err != nil {
				return Rendered{}, fmt.Errorf("%s: %w", name, err)
			}
			out.Objects = append(out.Objects, objects...)
			fmt.Fprintf(&manifest, "---\n# Source: %s\n%s\n", name, files[name])
		}
	}
	out.Manifest = manifest.String()
	return out, nil
}

// decode reads the objects of a file of manifests; a document without fields is none.
func decode(text string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for i, document := range strings.Split("\n"+text, "\n---\n") {
		fields := map[string]any{}
		if err := yaml.UnmarshalStrict([]byte(document), &fields); err != nil {
			return nil, fmt.Errorf("document %d: %w", i, err)
		}
		if len(fields) > 0 {
			objects = append(objects, &unstructured.Unstructured{Object: fields})
		}
	}
	return objects, nil
}

// Overlay builds a kustomize directory under the same restrictions as "kubectl apply -k".
func Overlay(dir string) ([]*unstructured.Unstructured, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", dir, err)
	}
	text, err := built.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", dir, err)
	}
	return decode(string(text))
}
