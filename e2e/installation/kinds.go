package installation

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/all"
)

// MirrorableKinds are the compiled-in kinds of job that a hub can dispatch.
func MirrorableKinds() []job.Integration {
	return slices.DeleteFunc(all.Kinds(), func(kind job.Integration) bool { return !kind.Mirrorable() })
}

// Frameworks is the part of a configuration that enables kinds of job, see Options.
func Frameworks(kinds []job.Integration) map[string]any {
	names := make([]any, 0, len(kinds))
	for _, kind := range kinds {
		names = append(names, kind.Name())
	}
	return map[string]any{"frameworks": names}
}

// CopyTrainingRuntimes gives a hub the ClusterTrainingRuntimes of a worker, as an administrator would: the hub must know what a TrainJob
// asks for.
func CopyTrainingRuntimes(ctx context.Context, hub, worker *Site) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "trainer.kubeflow.org", Version: "v1alpha1", Kind: "ClusterTrainingRuntimeList"})
	if err := worker.List(ctx, list); err != nil {
		return fmt.Errorf("read the training runtimes of %s: %w", worker.Name, err)
	}
	for i := range list.Items {
		list.Items[i].SetResourceVersion("")
		if err := hub.Create(ctx, &list.Items[i]); err != nil {
			return fmt.Errorf("copy training runtime %s to %s: %w", list.Items[i].GetName(), hub.Name, err)
		}
	}
	return nil
}
