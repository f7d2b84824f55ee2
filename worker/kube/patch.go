package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Patch writes metadata and spec (everything but status) of after where they differ from before, as one merge patch. It fails
// with a conflict if the object was written since before was read. It reports whether it wrote; after then holds the server's
// answer, except that a status changed in memory is kept.
func Patch(ctx context.Context, c client.Client, before, after client.Object) (bool, error) {
	return patchDifference(before, after, false, func(p client.Patch) error {
		status, err := statusFields(after)
		if err != nil {
			return err
		}
		if err := c.Patch(ctx, after, p); err != nil {
			return err
		}
		return setStatus(after, status)
	})
}

// PatchStatus is Patch for the status subresource alone.
func PatchStatus(ctx context.Context, c client.Client, before, after client.Object) (bool, error) {
	return patchDifference(before, after, true, func(p client.Patch) error {
		return c.Status().Patch(ctx, after, p)
	})
}

const statusKey = "status"

// patchDifference writes the difference in the status, or in everything else.
func patchDifference(before, after client.Object, status bool, write func(client.Patch) error) (bool, error) {
	if isUnchanged(before, after, status) {
		return false, nil
	}
	data, err := client.MergeFrom(before).Data(after)
	if err != nil {
		return false, fmt.Errorf("compare %T: %w", after, err)
	}
	parts := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &parts); err != nil {
		return false, fmt.Errorf("compare %T: %w", after, err)
	}
	maps.DeleteFunc(parts, func(name string, _ json.RawMessage) bool { return (name == statusKey) != status })
	if len(parts) == 0 {
		return false, nil
	}
	if data, err = withResourceVersion(parts, before.GetResourceVersion()); err != nil {
		return false, fmt.Errorf("compare %T: %w", after, err)
	}
	return true, write(client.RawPatch(types.MergePatchType, data))
}

// isUnchanged finds out cheaply whether nothing differs that is to be written; false may mean that it cannot tell.
func isUnchanged(before, after client.Object, status bool) bool {
	was, is := reflect.Indirect(reflect.ValueOf(before)), reflect.Indirect(reflect.ValueOf(after))
	if was.Kind() != reflect.Struct || was.Type() != is.Type() || !was.FieldByName("Status").IsValid() {
		return false
	}
	for i := range was.NumField() {
		if name := was.Type().Field(i).Name; (name == "Status") != status || name == "TypeMeta" {
			continue
		}
		if !equality.Semantic.DeepEqual(was.Field(i).Interface(), is.Field(i).Interface()) {
			return false
		}
	}
	return true
}

// withResourceVersion is the merge patch with the version that it is for.
func withResourceVersion(parts map[string]json.RawMessage, version string) ([]byte, error) {
	metadata := map[string]any{}
	if raw, found := parts["metadata"]; found {
		if err := json.Unmarshal(raw, &metadata); err != nil {
			return nil, err
		}
	}
	metadata["resourceVersion"] = version
	raw, err := json.Marshal(metadata)
	if err != nil {
		return nil, err
	}
	parts["metadata"] = raw
	return json.Marshal(parts)
}

func toFields(obj client.Object) (map[string]any, error) {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("convert %T to fields: %w", obj, err)
	}
	return m, nil
}

func statusFields(obj client.Object) (map[string]any, error) {
	m, err := toFields(obj)
	if err != nil {
		return nil, err
	}
	status, _ := m[statusKey].(map[string]any)
	return status, nil
}

// setStatus replaces the status of an object by fields that were read from it; nil leaves it as it is.
func setStatus(obj client.Object, status map[string]any) error {
	m, err := toFields(obj)
	if err != nil {
		return err
	}
	if status == nil {
		return nil
	}
	m[statusKey] = status
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, obj); err != nil {
		return fmt.Errorf("keep status of %T: %w", obj, err)
	}
	return nil
}
