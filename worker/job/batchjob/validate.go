package batchjob

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// minParallelism returns how few pods the Job can run with, nil if it needs all (contract: kueue-api.md 4.9).
func minParallelism(j *batchv1.Job) (*int32, error) {
	value, ok := j.Annotations[kueue.JobMinParallelismAnnotation]
	if !ok {
		return nil, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		return nil, fmt.Errorf("annotation %s: %w", kueue.JobMinParallelismAnnotation, err)
	}
	return ptr.To(int32(max(min(n, math.MaxInt32), math.MinInt32))), nil
}

// validate checks the annotations for partial admission (contract: messages.md 4.7). While the Job runs, or has still to be
// restored, its counts are those that were admitted and say nothing about what the user wrote.
func validate(old, j *batchv1.Job) field.ErrorList {
	_, stopping := j.Annotations[kueue.StoppingAnnotation]
	if old != nil && (stopping || !ptr.Deref(old.Spec.Suspend, false) || !ptr.Deref(j.Spec.Suspend, false)) {
		return validateChange(old, j)
	}
	return slices.Concat(validateMinParallelism(j), validateCompletions(j), validateElastic(j))
}

// validateChange keeps what the counts mean as long as the Job may have pods.
func validateChange(old, j *batchv1.Job) field.ErrorList {
	var errs field.ErrorList
	const completions = kueue.JobCompletionsEqualParallelismAnnotation
	running := !ptr.Deref(old.Spec.Suspend, false)
	_, partial := old.Annotations[kueue.JobMinParallelismAnnotation]
	if running && partial && ptr.Deref(old.Spec.Parallelism, 1) != ptr.Deref(j.Spec.Parallelism, 1) {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "parallelism"),
			"cannot change when partial admission is enabled and the job is not suspended"))
	}
	if running && old.Annotations[completions] != j.Annotations[completions] {
		errs = append(errs, field.Forbidden(annotation(completions), "field is immutable while the job is not suspended"))
	}
	return errs
}

// validateMinParallelism validates the annotation for partial admission against the number of pods.
func validateMinParallelism(j *batchv1.Job) field.ErrorList {
	value := j.Annotations[kueue.JobMinParallelismAnnotation]
	path := annotation(kueue.JobMinParallelismAnnotation)
	floor, err := minParallelism(j)
	if err != nil {
		return field.ErrorList{field.Invalid(path, value, errors.Unwrap(err).Error())}
	}
	if floor == nil {
		return nil
	}
	var errs field.ErrorList
	if *floor < 1 || *floor >= podCount(j) {
		errs = append(errs, field.Invalid(path, *floor, fmt.Sprintf("should be between 0 and %d", podCount(j)-1)))
	}
	if isElastic(j) {
		errs = append(errs, field.Invalid(path, value, "partial admission and elastic job cannot be used together"))
	}
	return errs
}

// validateCompletions validates the annotation that keeps completions equal to parallelism: it needs an indexed Job.
func validateCompletions(j *batchv1.Job) field.ErrorList {
	const name = kueue.JobCompletionsEqualParallelismAnnotation
	value, ok := j.Annotations[name]
	if !ok {
		return nil
	}
	equal, err := strconv.ParseBool(value)
	if err != nil {
		return field.ErrorList{field.Invalid(annotation(name), value, err.Error())}
	}
	if !equal {
		return nil
	}
	if ptr.Deref(j.Spec.CompletionMode, batchv1.NonIndexedCompletion) != batchv1.IndexedCompletion {
		return field.ErrorList{field.Invalid(annotation(name), value, "should not be enabled for NonIndexed jobs")}
	}
	if completions := ptr.Deref(j.Spec.Completions, 1); ptr.Deref(j.Spec.Parallelism, 1) != completions {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "completions"), completions,
			"should be equal to parallelism when "+name+" annotation is true")}
	}
	return nil
}

// validateElastic refuses pods that must stay together in a Job whose pods come in several lots.
func validateElastic(j *batchv1.Job) field.ErrorList {
	if !isElastic(j) {
		return nil
	}
	var errs field.ErrorList
	template := field.NewPath("spec", "template", "metadata", "annotations")
	for _, topology := range []struct{ name, word string }{
		{kueue.PodSetRequiredTopologyAnnotation, "required"}, {kueue.PodSetPreferredTopologyAnnotation, "preferred"},
	} {
		if _, asked := j.Spec.Template.Annotations[topology.name]; asked {
			errs = append(errs, field.Forbidden(template.Key(topology.name), topology.word+" topology is not supported with elastic jobs"))
		}
	}
	return errs
}

func isElastic(j *batchv1.Job) bool { return j.Annotations[kueue.ElasticJobAnnotation] == "true" }

func annotation(name string) *field.Path {
	return field.NewPath("metadata", "annotations").Key(name)
}
