package charts_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"switchyard.dev/charts"
)

const (
	chartDir  = "switchyard"
	namespace = "kueue-system"
)

var update = flag.Bool("update", false, "write the golden files anew")

// valuesOf reads a file of values.
func valuesOf(t *testing.T, text []byte) map[string]any {
	t.Helper()
	values := map[string]any{}
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// valueSets are the files in testdata/values, by name.
func valueSets(t *testing.T) map[string]map[string]any {
	t.Helper()
	files, err := filepath.Glob("testdata/values/*.yaml")
	if err != nil || len(files) < 6 {
		t.Fatalf("value sets %v, %v", files, err)
	}
	sets := map[string]map[string]any{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sets[strings.TrimSuffix(filepath.Base(file), ".yaml")] = valuesOf(t, text)
	}
	return sets
}

func render(t *testing.T, values map[string]any) charts.Rendered {
	t.Helper()
	r, err := charts.Render(charts.Release{Chart: chartDir, Name: "switchyard", Namespace: namespace, Values: values})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestHelmLintFindsNothing(t *testing.T) {
	for name, values := range valueSets(t) {
		t.Run(name, func(t *testing.T) {
			for _, m := range lint.RunAll(chartDir, values, namespace).Messages {
				if m.Severity > support.InfoSev {
					t.Error(m)
				}
			}
		})
	}
}

func TestTheManifestsAreTheGoldenOnes(t *testing.T) {
	for name, values := range valueSets(t) {
		t.Run(name, func(t *testing.T) {
			r := render(t, values)
			got := abridged(t, r)
			file := filepath.Join("testdata", "golden", name+".yaml")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("differs from %s (if it should: go -C charts test . -update)\n%s", file, diff)
			}
		})
	}
}

// abridged is the text of the objects without what is copied from config/, which another test compares, so that a golden
// file changes only when the chart does.
func abridged(t *testing.T, r charts.Rendered) string {
	t.Helper()
	var out bytes.Buffer
	for _, o := range r.Objects {
		abridge(o)
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("---\n")
		out.Write(text)
	}
	out.WriteString("---\n# " + strings.ReplaceAll(strings.TrimSpace(r.Notes), "\n", "\n# ") + "\n")
	return strings.ReplaceAll(out.String(), "# \n", "#\n")
}

func abridge(o *unstructured.Unstructured) {
	const elsewhere = "as in config/"
	switch o.GetKind() {
	case "CustomResourceDefinition":
		spec := o.Object["spec"].(map[string]any)
		o.Object["spec"] = map[string]any{"conversion": spec["conversion"], "rest": elsewhere}
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		for _, hook := range o.Object["webhooks"].([]any) {
			hook := hook.(map[string]any)
			delete(hook, "matchConditions")
			hook["rules"] = elsewhere
		}
	case "ClusterRole", "Role":
		if name := o.GetName(); name == "switchyard-hub" || name == "switchyard-worker" {
			o.Object["rules"] = elsewhere
		}
	case "Deployment":
		unstructured.RemoveNestedField(o.Object, "spec", "template", "metadata", "annotations", "switchyard.dev/config")
	case "ConfigMap":
		if data := o.Object["data"].(map[string]any); data["switchyard.json"] != nil {
			data["switchyard.json"] = "as in files/monitoring"
		}
	case "PrometheusRule":
		o.Object["spec"] = "as in files/monitoring"
	}
}

func TestTheFilesOfTheChartAreThoseOfConfig(t *testing.T) {
	for copied, of := range map[string]string{
		"crds/*.yaml": "crd/bases", "webhook/*.yaml": "webhook", "rbac/*.yaml": "rbac", "component/*.yaml": "component",
	} {
		got := contents(t, filepath.Join(chartDir, "files", copied))
		want := contents(t, filepath.Join("..", "config", of, "*.yaml"))
		delete(want, "kustomization.yaml")
		delete(want, "kustomizeconfig.yaml")
		if of == "webhook" {
			maps.Copy(want, map[string]string{"pods.yaml": contents(t, "../config/pods/manifests.yaml")["manifests.yaml"]})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("run make chart-files: %s\n%s", copied, diff)
		}
	}
}

func contents(t *testing.T, pattern string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v, %v", pattern, files, err)
	}
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = string(text)
	}
	return all
}

// Helm keeps a release, chart and manifest, compressed in a Secret, whose data may have 1 MiB.
func TestAReleaseFitsIntoItsSecret(t *testing.T) {
	chart, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	release, err := json.Marshal(map[string]any{"chart": chart, "manifest": render(t, nil).Manifest})
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(release); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	size := base64.StdEncoding.EncodedLen(packed.Len())
	t.Logf("%d KiB", size/1024)
	if size > 512*1024 {
		t.Errorf("a release takes %d KiB of a Secret's 1024; it should leave half to values", size/1024)
	}
}
