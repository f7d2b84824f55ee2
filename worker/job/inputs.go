package job

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// PodSetsOf returns what a job asks for, given its inputs as they are in the cluster, of which none exists if they are nil. Kinds without
// inputs do not look at them.
func (k *Kind[T]) PodSetsOf(job T, inputs []client.Object) ([]kueue.PodSet, error) {
	if k.Inputs == nil {
		return k.PodSets(job)
	}
	if inputs == nil {
		named, err := k.Inputs.Of(job)
		if err != nil {
			return nil, err
		}
		inputs = make([]client.Object, len(named))
	}
	return k.Inputs.PodSets(job, inputs)
}

// readPodSets reads the job's inputs and returns what it asks for. An error that is not of the reader's says what the user must change.
func (k *Kind[T]) readPodSets(ctx context.Context, reader client.Reader, job T) ([]kueue.PodSet, error) {
	inputs, err := k.readInputs(ctx, reader, job)
	if err != nil {
		return nil, err
	}
	sets, err := k.PodSetsOf(job, inputs)
	if err != nil {
		return nil, err
	}
	return sets, checkPodSets(sets, k.templatePath(job, sets))
}

// templatePath returns where the metadata of the pod templates is, by the number of the pod set; nil if the kind does not say.
func (k *Kind[T]) templatePath(job T, sets []kueue.PodSet) func(int) *field.Path {
	switch {
	case k.Webhook.PodSetPath != nil:
		return func(i int) *field.Path { return k.Webhook.PodSetPath(sets[i].Name) }
	case k.Webhook.TemplatePath != nil:
		return func(i int) *field.Path { return k.Webhook.TemplatePath(job, i) }
	}
	return nil
}

// ProgressOf is Progress, and what the job's inputs add to it.
func (k *Kind[T]) ProgressOf(job T, inputs []client.Object) Progress {
	known := k.Progress(job)
	if k.Inputs == nil || k.Inputs.Progress == nil {
		return known
	}
	return k.Inputs.Progress(job, inputs, known)
}

// readProgress reads what the job's progress depends on. A job that has to change first has the progress of its status.
func (k *Kind[T]) readProgress(ctx context.Context, reader client.Reader, job T) (Progress, error) {
	if k.Inputs == nil || k.Inputs.Progress == nil {
		return k.Progress(job), nil
	}
	if _, err := k.Inputs.Of(job); err != nil {
		return k.Progress(job), nil //nolint:nilerr // what is wrong is said of the pod sets
	}
	inputs, err := k.readInputs(ctx, reader, job)
	if err != nil {
		return Progress{}, err
	}
	return k.ProgressOf(job, inputs), nil
}

// coversChild tells whether the child is one of the job's children (see [Children]).
func (k *Kind[T]) coversChild(ctx context.Context, reader client.Reader, job T, child client.Object) (bool, error) {
	if k.Children == nil {
		return false, nil
	}
	if k.Inputs == nil || k.Inputs.Covers == nil {
		return k.Children.Covers(job, child), nil
	}
	if _, err := k.Inputs.Of(job); err != nil {
		return false, nil //nolint:nilerr // such a job makes nothing
	}
	inputs, err := k.readInputs(ctx, reader, job)
	return err == nil && k.Inputs.Covers(job, inputs, child), err
}

// completePlacements adds to placements of a kind with inputs what the templates have, which the job may not show. It fails with a
// [ConflictError].
func (k *Kind[T]) completePlacements(sets []kueue.PodSet, placements []Placement) ([]Placement, error) {
	if k.Inputs == nil {
		return placements, nil
	}
	placed, err := withPlacements(sets, placements)
	if err != nil {
		return nil, err
	}
	completed := slices.Clone(placements)
	for i := range completed {
		completed[i].Tolerations = placed[i].Template.Spec.Tolerations
	}
	return completed, nil
}

// readInputs reads the objects that decide what the job asks for; nil stands for one that does not exist.
func (k *Kind[T]) readInputs(ctx context.Context, reader client.Reader, job T) ([]client.Object, error) {
	if k.Inputs == nil {
		return nil, nil
	}
	inputs, err := k.Inputs.Of(job)
	if err != nil {
		return nil, err
	}
	for i, input := range inputs {
		err := reader.Get(ctx, client.ObjectKeyFromObject(input), input)
		if meta.IsNoMatchError(err) || client.IgnoreNotFound(err) == nil && err != nil {
			inputs[i] = nil
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("get what %s %s/%s names: %w", k.GVK.Kind, job.GetNamespace(), job.GetName(), err)
		}
	}
	return inputs, nil
}

// inputIndex finds jobs by the objects that decide what they ask for.
const inputIndex = "switchyard.inputs"

// inputKeys are the keys of a job in that index.
func (k *Kind[T]) inputKeys(scheme *runtime.Scheme) client.IndexerFunc {
	return func(obj client.Object) []string {
		job, ok := obj.(T)
		if !ok {
			return nil
		}
		inputs, err := k.Inputs.Of(job)
		if err != nil {
			return nil // the job has to change first
		}
		var keys []string
		for _, input := range inputs {
			if kind, err := apiutil.GVKForObject(input, scheme); err == nil {
				keys = append(keys, inputKey(kind, client.ObjectKeyFromObject(input)))
			}
		}
		return keys
	}
}

// inputKey names one object of whatever kind.
func inputKey(kind schema.GroupVersionKind, name types.NamespacedName) string {
	return kind.GroupKind().String() + "/" + name.String()
}
