package manifest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"switchyard.dev/cmd/switchctl/cli"
)

// Print prints objects as YAML documents under a remark.
func Print(a *cli.App, remark string, objects ...client.Object) error {
	for i, obj := range objects {
		text, err := manifest(obj)
		if err != nil {
			return err
		}
		if i == 0 {
			_, _ = fmt.Fprintf(a.Out, "# %s\n", remark)
		}
		_, _ = fmt.Fprintf(a.Out, "---\n%s", text)
	}
	return nil
}

// manifest is an object as a user would write it.
func manifest(obj client.Object) (string, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return "", fmt.Errorf("write %T: %w", obj, err)
	}
	KeepAuthoredFields(fields)
	raw, err := yaml.Marshal(fields)
	if err != nil {
		return "", fmt.Errorf("write %T: %w", obj, err)
	}
	return string(raw), nil
}

// KeepAuthoredFields leaves of an object's fields what a person writes: neither status nor what servers put into metadata.
func KeepAuthoredFields(fields map[string]any) {
	delete(fields, "status")
	if metadata, ok := fields["metadata"].(map[string]any); ok {
		for _, key := range []string{"creationTimestamp", "uid", "resourceVersion", "generation", "managedFields", "selfLink"} {
			delete(metadata, key)
		}
	}
	if spec, ok := fields["spec"].(map[string]any); ok && len(spec) == 0 {
		delete(fields, "spec")
	}
}
