package job

import (
	"context"
	"errors"
	"fmt"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/fence/epoch"
	"switchyard.dev/worker/workload"
)

func labelPath(key string) *field.Path      { return field.NewPath("metadata", "labels").Key(key) }
func annotationPath(key string) *field.Path { return field.NewPath("metadata", "annotations").Key(key) }

// ValidateCreate implements admission.Validator.
func (h *webhook[T]) ValidateCreate(ctx context.Context, job T) (admission.Warnings, error) {
	if !h.enabled || !h.managed(job) {
		return nil, nil
	}
	var none T
	errs := validateMeta(job, h.opts.Gates)
	errs = append(errs, h.validateElastic(job)...)
	if h.opts.Gates.AdmissionGatedBy {
		errs = append(errs, workload.ValidateGates(job.GetAnnotations()[kueue.AdmissionGatedByAnnotation])...)
	}
	errs = append(errs, h.validateStale(ctx, job)...)
	if h.kind.Validate != nil {
		errs = append(errs, h.kind.Validate(none, job)...)
	}
	return nil, errs.ToAggregate()
}

// ValidateUpdate implements admission.Validator.
func (h *webhook[T]) ValidateUpdate(ctx context.Context, old, job T) (admission.Warnings, error) {
	if !h.enabled || !h.managed(old) && !h.managed(job) || !job.GetDeletionTimestamp().IsZero() {
		return nil, nil
	}
	errs := validateMeta(job, h.opts.Gates)
	errs = append(errs, h.validateElastic(job)...)
	if h.kind.Validate != nil {
		errs = append(errs, h.kind.Validate(old, job)...)
	}
	emptied, err := h.validateQueueKept(ctx, old, job)
	if err != nil {
		return nil, err
	}
	errs = append(errs, validateQueueChange(old, job, h.kind.Suspended(job))...)
	errs = append(errs, emptied...)
	errs = append(errs, validateChange(old, job, h.opts.Gates, h.kind.Suspended(old), h.kind.Suspended(job))...)
	if err := epoch.Update(old, job); err != nil {
		errs = append(errs, err)
	}
	return nil, errs.ToAggregate()
}

// ValidateDelete implements admission.Validator; it is never called (contract: kueue-api.md 8.5).
func (h *webhook[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) { return nil, nil }

// validateQueueKept refuses to take a job out of its queue where the next webhook call would put it into another.
func (h *webhook[T]) validateQueueKept(ctx context.Context, old, job T) (field.ErrorList, error) {
	if QueueName(old) == "" || QueueName(job) != "" {
		return nil, nil
	}
	found, err := h.hasDefaultQueue(ctx, job.GetNamespace())
	if err != nil || !found {
		return nil, err
	}
	return field.ErrorList{field.Invalid(labelPath(kueue.QueueNameLabel), "", "queue-name must not be empty in namespace with default queue")}, nil
}

func (h *webhook[T]) validateElastic(job T) field.ErrorList {
	if h.kind.Elastic || job.GetAnnotations()[kueue.ElasticJobAnnotation] != "true" {
		return nil
	}
	path := annotationPath(kueue.ElasticJobAnnotation)
	return field.ErrorList{field.Forbidden(path, fmt.Sprintf("elastic job is not supported for %q", h.kind.GVK))}
}

// validateStale refuses what a hub has sent too late: it might take up a Workload of a later epoch.
func (h *webhook[T]) validateStale(ctx context.Context, job T) field.ErrorList {
	if h.opts.Stale == nil {
		return nil
	}
	if err := h.opts.Stale(ctx, job, h.opts.Gates.PrebuiltWorkloadName(job)); err != nil {
		return field.ErrorList{err}
	}
	return nil
}

// validateMeta checks labels and annotations for themselves.
func validateMeta(job client.Object, gates Gates) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, validateName(labelPath(kueue.QueueNameLabel), QueueName(job))...)
	errs = append(errs, validateName(labelPath(kueue.PriorityClassLabel), job.GetLabels()[kueue.PriorityClassLabel])...)
	errs = append(errs, validateName(prebuiltPath(job), gates.PrebuiltWorkloadName(job))...)
	if _, err := maxExecTime(job); err != nil {
		value := job.GetLabels()[kueue.MaxExecTimeSecondsLabel]
		errs = append(errs, field.Invalid(labelPath(kueue.MaxExecTimeSecondsLabel), value, errors.Unwrap(err).Error()))
	}
	return errs
}

// prebuiltPath is where the job names its Workload.
func prebuiltPath(job client.Object) *field.Path {
	key := kueue.PrebuiltWorkloadNameKey
	if job.GetAnnotations()[key] == "" && job.GetLabels()[key] != "" {
		return labelPath(key)
	}
	return annotationPath(key)
}

func validateName(path *field.Path, name string) field.ErrorList {
	var errs field.ErrorList
	if name == "" {
		return nil
	}
	for _, problem := range validation.IsDNS1123Subdomain(name) {
		errs = append(errs, field.Invalid(path, name, problem))
	}
	return errs
}

func validateQueueChange(old, job client.Object, suspended bool) field.ErrorList {
	if suspended {
		return nil
	}
	return unchanged(labelPath(kueue.QueueNameLabel), QueueName(old), QueueName(job))
}

// validateChange checks what else may change while the job runs, in the order of contract: job-kinds.md 1.2.
func validateChange(old, job client.Object, gates Gates, wasSuspended, isSuspended bool) field.ErrorList {
	var errs field.ErrorList
	elastic := kueue.ElasticJobAnnotation
	if !isSuspended && job.GetAnnotations()[elastic] != "true" {
		errs = append(errs, unchanged(prebuiltPath(job), gates.PrebuiltWorkloadName(old), gates.PrebuiltWorkloadName(job))...)
	}
	if !wasSuspended || !isSuspended {
		key := kueue.MaxExecTimeSecondsLabel
		errs = append(errs, unchanged(labelPath(key), old.GetLabels()[key], job.GetLabels()[key])...)
	}
	had, has := old.GetLabels()[kueue.PriorityClassLabel], job.GetLabels()[kueue.PriorityClassLabel]
	switch {
	case had == "" && has != "" && !isSuspended:
		errs = append(errs, field.Invalid(labelPath(kueue.PriorityClassLabel), has, "WorkloadPriorityClass cannot be added to a non-suspended workload"))
	case had != "" && has == "":
		errs = append(errs, field.Invalid(labelPath(kueue.PriorityClassLabel), has, "WorkloadPriorityClass cannot be removed from a workload"))
	}
	if was, is := old.GetAnnotations()[elastic], job.GetAnnotations()[elastic]; (was == "true") != (is == "true") {
		errs = append(errs, unchanged(annotationPath(elastic), was, is)...)
	}
	if gates.AdmissionGatedBy {
		key := kueue.AdmissionGatedByAnnotation
		errs = append(errs, workload.ValidateGatesUpdate(old.GetAnnotations()[key], job.GetAnnotations()[key])...)
	}
	return errs
}

func unchanged(path *field.Path, was, is string) field.ErrorList {
	if was == is {
		return nil
	}
	return field.ErrorList{field.Invalid(path, is, apivalidation.FieldImmutableErrorMsg)}
}
