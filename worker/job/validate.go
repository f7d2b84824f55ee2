package job

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/fence/epoch"
)

// maxGateName is the longest name in admission-gated-by (contract: kueue-api.md 1.15).
const maxGateName = 63

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
	errs = append(errs, h.validateGates(nil, job)...)
	errs = append(errs, h.validateStale(ctx, job)...)
	if h.kind.Validate != nil {
		errs = append(errs, h.kind.Validate(none, job)...)
	}
	return nil, h.invalid(job, errs)
}

// ValidateUpdate implements admission.Validator.
func (h *webhook[T]) ValidateUpdate(ctx context.Context, old, job T) (admission.Warnings, error) {
	if !h.enabled || !h.managed(old) && !h.managed(job) || !job.GetDeletionTimestamp().IsZero() {
		return nil, nil
	}
	errs := validateMeta(job, h.opts.Gates)
	errs = append(errs, h.validateElastic(job)...)
	errs = append(errs, validateChange(old, job, h.opts.Gates, h.kind.Suspended(old), h.kind.Suspended(job))...)
	errs = append(errs, h.validateGates(old, job)...)
	if err := epoch.Update(old, job); err != nil {
		errs = append(errs, err)
	}
	if QueueName(old) != "" && QueueName(job) == "" {
		found, err := h.hasDefaultQueue(ctx, job.GetNamespace())
		if err != nil {
			return nil, err
		}
		if found {
			errs = append(errs, field.Forbidden(labelPath(kueue.QueueNameLabel), "cannot be removed where a default LocalQueue exists"))
		}
	}
	if h.kind.Validate != nil {
		errs = append(errs, h.kind.Validate(old, job)...)
	}
	return nil, h.invalid(job, errs)
}

// ValidateDelete implements admission.Validator; it is never called (contract: kueue-api.md 8.5).
func (h *webhook[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) { return nil, nil }

func (h *webhook[T]) invalid(job T, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(h.kind.GVK.GroupKind(), job.GetName(), errs)
}

func (h *webhook[T]) validateElastic(job T) field.ErrorList {
	if h.kind.Elastic || job.GetAnnotations()[kueue.ElasticJobAnnotation] != "true" {
		return nil
	}
	return field.ErrorList{field.Forbidden(annotationPath(kueue.ElasticJobAnnotation), "is not supported for "+h.kind.GVK.Kind)}
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
	errs = append(errs, validateName(annotationPath(kueue.PrebuiltWorkloadNameKey), gates.PrebuiltWorkloadName(job))...)
	if _, err := maxExecTime(job); err != nil {
		value := job.GetLabels()[kueue.MaxExecTimeSecondsLabel]
		errs = append(errs, field.Invalid(labelPath(kueue.MaxExecTimeSecondsLabel), value, errMaxExecTime.Error()))
	}
	return errs
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

// validateChange checks what may change while the job runs (contract: kueue-api.md 3.1, webhook validate).
func validateChange(old, job client.Object, gates Gates, wasSuspended, isSuspended bool) field.ErrorList {
	var errs field.ErrorList
	if !isSuspended {
		errs = append(errs, unchanged(labelPath(kueue.QueueNameLabel), QueueName(old), QueueName(job))...)
		errs = append(errs, unchanged(annotationPath(kueue.PrebuiltWorkloadNameKey), gates.PrebuiltWorkloadName(old), gates.PrebuiltWorkloadName(job))...)
	}
	if !wasSuspended || !isSuspended {
		key := kueue.MaxExecTimeSecondsLabel
		errs = append(errs, unchanged(labelPath(key), old.GetLabels()[key], job.GetLabels()[key])...)
	}
	had, has := old.GetLabels()[kueue.PriorityClassLabel], job.GetLabels()[kueue.PriorityClassLabel]
	switch {
	case had != "" && has == "":
		errs = append(errs, field.Forbidden(labelPath(kueue.PriorityClassLabel), "cannot be removed"))
	case had == "" && has != "" && !isSuspended:
		errs = append(errs, field.Forbidden(labelPath(kueue.PriorityClassLabel), "cannot be added while the job runs"))
	}
	return errs
}

func unchanged(path *field.Path, was, is string) field.ErrorList {
	if was == is {
		return nil
	}
	return field.ErrorList{field.Forbidden(path, "cannot be changed while the job runs")}
}

// validateGates bounds the names of the admission gates, and lets gates go and never come once there is an old job, which
// is nil for a new one.
func (h *webhook[T]) validateGates(old, job client.Object) field.ErrorList {
	if !h.opts.Gates.AdmissionGatedBy {
		return nil
	}
	var errs field.ErrorList
	path := annotationPath(kueue.AdmissionGatedByAnnotation)
	for _, gate := range gatesOf(job) {
		if len(gate) > maxGateName {
			errs = append(errs, field.TooLong(path, gate, maxGateName))
		}
		if old != nil && !slices.Contains(gatesOf(old), gate) {
			errs = append(errs, field.Forbidden(path, "gates can only be removed"))
		}
	}
	return errs
}

// gatesOf returns the names in the annotation admission-gated-by, blanks around them and empty names left out.
func gatesOf(obj client.Object) []string {
	var gates []string
	for gate := range strings.SplitSeq(obj.GetAnnotations()[kueue.AdmissionGatedByAnnotation], ",") {
		if gate = strings.TrimSpace(gate); gate != "" {
			gates = append(gates, gate)
		}
	}
	return gates
}
