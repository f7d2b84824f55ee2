package batchjob

import (
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
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return nil, field.Invalid(minParallelismPath(), value, "must be an integer")
	}
	return ptr.To(int32(n)), nil
}

func minParallelismPath() *field.Path {
	return field.NewPath("metadata", "annotations").Key(kueue.JobMinParallelismAnnotation)
}

// validate checks the annotations for partial admission (contract: kueue-api.md 3.3, batch/job). While the Job runs, or
// has still to be restored, its counts are those that were admitted and say nothing about what the user wrote.
func validate(old, j *batchv1.Job) field.ErrorList {
	_, stopping := j.Annotations[kueue.StoppingAnnotation]
	if old != nil && (stopping || !ptr.Deref(old.Spec.Suspend, false) || !ptr.Deref(j.Spec.Suspend, false)) {
		return nil
	}
	return append(validateMinParallelism(j), validateCompletions(j)...)
}

func validateMinParallelism(j *batchv1.Job) field.ErrorList {
	floor, err := minParallelism(j)
	if err != nil {
		return field.ErrorList{field.Invalid(minParallelismPath(), j.Annotations[kueue.JobMinParallelismAnnotation], "must be an integer")}
	}
	if floor == nil {
		return nil
	}
	var errs field.ErrorList
	if *floor < 1 || *floor >= podCount(j) {
		errs = append(errs, field.Invalid(minParallelismPath(), *floor, "must be between 1 and "+strconv.Itoa(int(podCount(j)-1))))
	}
	if j.Annotations[kueue.ElasticJobAnnotation] == "true" {
		errs = append(errs, field.Forbidden(minParallelismPath(), "cannot be combined with "+kueue.ElasticJobAnnotation))
	}
	return errs
}

func validateCompletions(j *batchv1.Job) field.ErrorList {
	value, ok := j.Annotations[kueue.JobCompletionsEqualParallelismAnnotation]
	if !ok {
		return nil
	}
	path := field.NewPath("metadata", "annotations").Key(kueue.JobCompletionsEqualParallelismAnnotation)
	equal, err := strconv.ParseBool(value)
	if err != nil {
		return field.ErrorList{field.Invalid(path, value, "must be true or false")}
	}
	if !equal {
		return nil
	}
	if ptr.Deref(j.Spec.CompletionMode, batchv1.NonIndexedCompletion) != batchv1.IndexedCompletion {
		return field.ErrorList{field.Invalid(path, value, "needs an Indexed Job")}
	}
	if ptr.Deref(j.Spec.Parallelism, 1) != ptr.Deref(j.Spec.Completions, 1) {
		return field.ErrorList{field.Invalid(path, value, "needs completions equal to parallelism")}
	}
	return nil
}
