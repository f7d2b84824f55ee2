package job

import (
	"context"
	"fmt"

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
	var path func(int) *field.Path
	if k.Webhook.TemplatePath != nil {
		path = func(i int) *field.Path { return k.Webhook.TemplatePath(job, i) }
	}
	return sets, checkPodSets(sets, path)
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
