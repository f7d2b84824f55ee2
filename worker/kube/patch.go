package kube

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Patch writes metadata and spec (everything but status) of after where they differ from before, as one merge patch that
// fails with a conflict when somebody else wrote since before was read. It reports whether it wrote; after then holds the
// server's answer, except that a status changed in memory is kept.
func Patch(ctx context.Context, c client.Client, before, after client.Object) (bool, error) {
	return patch(before, after, withoutStatus, func(p client.Patch) error {
		status, err := statusOf(after)
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
	return patch(before, after, onlyStatus, func(p client.Patch) error {
		return c.Status().Patch(ctx, after, p)
	})
}

func patch(before, after client.Object, part func(map[string]any) map[string]any, write func(client.Patch) error) (bool, error) {
	was, err := fields(before)
	if err != nil {
		return false, err
	}
	is, err := fields(after)
	if err != nil {
		return false, err
	}
	if equality.Semantic.DeepEqual(part(was), part(is)) {
		return false, nil
	}
	base, ok := before.DeepCopyObject().(client.Object)
	if !ok {
		return false, fmt.Errorf("deep copy of %T is not an object", before)
	}
	return true, write(client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
}

func fields(obj client.Object) (map[string]any, error) {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("convert %T to fields: %w", obj, err)
	}
	return m, nil
}

func withoutStatus(m map[string]any) map[string]any {
	rest := make(map[string]any, len(m))
	for k, v := range m {
		if k != "status" {
			rest[k] = v
		}
	}
	return rest
}

func onlyStatus(m map[string]any) map[string]any {
	status, _ := m["status"].(map[string]any)
	return status
}

func statusOf(obj client.Object) (map[string]any, error) {
	m, err := fields(obj)
	if err != nil {
		return nil, err
	}
	return onlyStatus(m), nil
}

func setStatus(obj client.Object, status map[string]any) error {
	m, err := fields(obj)
	if err != nil {
		return err
	}
	if status == nil {
		return nil
	}
	m["status"] = status
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, obj); err != nil {
		return fmt.Errorf("keep status of %T: %w", obj, err)
	}
	return nil
}
