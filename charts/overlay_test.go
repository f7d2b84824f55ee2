package charts_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"switchyard.dev/charts"
)

// "kubectl apply -k" and "helm install" give the same objects, apart from what is told to Helm alone, the namespace, which
// Helm leaves to its user, and how pods notice a new configuration.
func TestTheOverlaysAreTheChartWithItsDefaults(t *testing.T) {
	for _, role := range []string{"hub", "worker"} {
		t.Run(role, func(t *testing.T) {
			overlay, err := charts.Overlay("../config/" + role)
			if err != nil {
				t.Fatal(err)
			}
			checkStrictly(t, strictDecoder(t), overlay)
			want, got := byName(t, render(t, map[string]any{"role": role}).Objects), byName(t, overlay)
			namespaces := "v1 Namespace  " + namespace
			if _, there := got[namespaces]; !there {
				t.Error("the overlay makes no namespace")
			}
			delete(got, namespaces)
			for name, object := range want {
				if diff := cmp.Diff(object, got[name]); diff != "" {
					t.Errorf("%s (-chart +overlay)\n%s", name, diff)
				}
				delete(got, name)
			}
			for name := range got {
				t.Errorf("only the overlay has %s", name)
			}
		})
	}
}

// byName are the objects without what may differ.
func byName(t *testing.T, objects []*unstructured.Unstructured) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, o := range objects {
		normalize(t, o)
		all[strings.Join([]string{o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName()}, " ")] = o.Object
	}
	return all
}

// generated is the hash that kustomize appends to the names of what it generates.
var generated = regexp.MustCompile(`^(switchyard-(?:hub|worker))-[a-z0-9]{10}$`)

func normalize(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	labels := o.GetLabels()
	delete(labels, "app.kubernetes.io/managed-by")
	delete(labels, "helm.sh/chart")
	o.SetLabels(labels)
	annotations := o.GetAnnotations()
	delete(annotations, "helm.sh/resource-policy")
	o.SetAnnotations(annotations)
	switch o.GetKind() {
	case "ConfigMap":
		o.SetName(generated.ReplaceAllString(o.GetName(), "$1"))
		data := o.Object["data"].(map[string]any)
		fields := map[string]any{}
		if err := yaml.UnmarshalStrict([]byte(data["config.yaml"].(string)), &fields); err != nil {
			t.Fatal(err)
		}
		o.Object["data"] = fields
	case "Deployment":
		unstructured.RemoveNestedField(o.Object, "spec", "template", "metadata", "annotations")
		volumes, _, err := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "volumes")
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range volumes {
			if source, ok := v.(map[string]any)["configMap"].(map[string]any); ok {
				source["name"] = generated.ReplaceAllString(source["name"].(string), "$1")
			}
		}
		if err := unstructured.SetNestedSlice(o.Object, volumes, "spec", "template", "spec", "volumes"); err != nil {
			t.Fatal(err)
		}
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		for _, hook := range o.Object["webhooks"].([]any) {
			hook := hook.(map[string]any)
			if timeout, said := hook["timeoutSeconds"]; said && timeout == float64(10) {
				delete(hook, "timeoutSeconds") // the API's default
			}
		}
	}
}
