package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

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

// ValidateCreate implements admission.Validator. As in the public API the rules hold for unmanaged jobs, too.
func (h *webhook[T]) ValidateCreate(ctx context.Context, job T) (admission.Warnings, error) {
	if !h.enabled {
		return nil, nil
	}
	var none T
	job = h.readJobs(job)
	errs := validateMeta(job, h.opts.Gates)
	errs = append(errs, h.validatePrebuilt(job)...)
	errs = append(errs, h.validateElastic(job)...)
	if h.opts.Gates.AdmissionGatedBy {
		errs = append(errs, workload.ValidateAdmissionGates(job.GetAnnotations()[kueue.AdmissionGatedByAnnotation])...)
	}
	if h.isManaged(job) {
		errs = append(errs, h.validateStale(ctx, job)...)
	}
	errs = append(errs, h.validateKind(none, job)...)
	templates, err := h.validateTemplates(ctx, job)
	if err != nil {
		return nil, err
	}
	return nil, h.listErrors(append(errs, templates...))
}

// ValidateUpdate implements admission.Validator.
func (h *webhook[T]) ValidateUpdate(ctx context.Context, old, job T) (admission.Warnings, error) {
	if !h.enabled || !job.GetDeletionTimestamp().IsZero() {
		return nil, nil
	}
	old, job = h.readJobs(old), h.readJobs(job)
	var stamps field.ErrorList // what a hub has written is judged whatever else is not
	if err := epoch.ValidateUpdate(old, job); err != nil {
		stamps = append(stamps, err)
	}
	if judged, err := h.isJudged(ctx, old, job); !judged || err != nil {
		return nil, errors.Join(stamps.ToAggregate(), err)
	}
	always := validateMeta(job, h.opts.Gates)
	always = append(always, h.validateElastic(job)...)
	always = append(always, h.validateKind(old, job)...)
	templates, err := h.validateTemplateChange(ctx, old, job)
	if err != nil {
		return nil, err
	}
	always = append(always, templates...)
	emptied, err := h.validateQueueKept(ctx, old, job)
	if err != nil {
		return nil, err
	}
	changes := validateQueueChange(old, job, h.kind.Suspended(job))
	changes = append(changes, emptied...)
	changes = append(changes, validateChange(old, job, h.opts.Gates, h.kind.Suspended(old), h.kind.Suspended(job))...)
	changes = append(changes, stamps...)
	if h.kind.Webhook.ChangesFirst {
		return nil, h.listErrors(append(changes, always...))
	}
	return nil, h.listErrors(append(always, changes...))
}

// listErrors returns what is wrong with a job in the order of its kind; nil if nothing is.
func (h *webhook[T]) listErrors(errs field.ErrorList) error {
	if h.kind.Webhook.SortByField {
		slices.SortStableFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	}
	return errs.ToAggregate()
}

// isJudged tells whether the rules hold for a change of the job. They do not if its kind judges managed jobs only, nor if an ancestor's
// Workload speaks for the job: what its labels and annotations say is then without effect, and its owner's controller may bring them in line
// with the owner's at any time.
func (h *webhook[T]) isJudged(ctx context.Context, old, job T) (bool, error) {
	if h.kind.Webhook.ManagedOnly && !h.isManaged(job) && (!h.opts.Gates.ValidateRayAndSparkUpdates || !h.isManaged(old)) {
		return false, nil
	}
	above, err := findAncestors(ctx, h.newReader(), &h.opts, job, h.kind.GVK)
	return above.top == nil, err
}

// readJobs returns the job without what the gates make meaningless.
func (h *webhook[T]) readJobs(job T) T {
	if _, found := job.GetAnnotations()[kueue.ElasticJobAnnotation]; !found || h.opts.Gates.ElasticJobs {
		return job
	}
	plain := deepCopy(job)
	annotations := maps.Clone(plain.GetAnnotations())
	delete(annotations, kueue.ElasticJobAnnotation)
	plain.SetAnnotations(annotations)
	return plain
}

// validateKind asks the kind about its own fields. On creation old is the zero value.
func (h *webhook[T]) validateKind(old, job T) field.ErrorList {
	rules := h.kind.Webhook
	if rules.Validate == nil || rules.ManagedOnly && !h.isManaged(job) {
		return nil
	}
	return rules.Validate(old, job)
}

// validateTemplateChange judges what has become wrong with the templates of a job.
func (h *webhook[T]) validateTemplateChange(ctx context.Context, old, job T) (field.ErrorList, error) {
	now, err := h.validateTemplates(ctx, job)
	if err != nil || len(now) == 0 {
		return nil, err
	}
	before, err := h.validateTemplates(ctx, old)
	return newErrors(now, before), err
}

// validateTemplates judges what the job asks for and what its pod templates say. The error is one of reading what the job names.
func (h *webhook[T]) validateTemplates(ctx context.Context, job T) (field.ErrorList, error) {
	rules := &h.kind.Webhook
	if rules.TemplatePath == nil && rules.PodSetPath == nil || h.kind.Inputs != nil && !h.opts.Gates.Topology {
		return nil, nil
	}
	inputs, err := h.kind.readInputs(ctx, h.newReader(), job)
	if err != nil {
		return nil, err
	}
	sets, err := h.kind.PodSetsOf(job, inputs)
	path := h.kind.templatePath(job, sets)
	if err == nil {
		err = checkPodSets(sets, path)
	}
	if err != nil {
		return h.refusePodSets(job, err), nil
	}
	if !h.opts.Gates.Topology || h.kind.Webhook.NoTopologyRules {
		return nil, nil
	}
	templates := make([]templateMetadata, len(sets))
	for i := range sets {
		templates[i] = templateMetadata{path: path(i).Child("annotations"), values: sets[i].Template.Annotations, pods: sets[i].Count}
	}
	return h.advise(validateTopology(templates, h.opts.Gates, !h.kind.Webhook.PairsFree)), nil
}

// refusePodSets is for a managed job that no Workload can speak for, though it needs one. Others may be what they like, and of what the kind itself refuses
// enough is said.
func (h *webhook[T]) refusePodSets(job T, err error) field.ErrorList {
	var none T
	ignored := h.kind.Ignores != nil && h.kind.Ignores(job)
	if ignored || !h.isManaged(job) || len(h.validateKind(none, job)) > 0 {
		return nil
	}
	var invalid *field.Error
	if errors.As(err, &invalid) {
		return field.ErrorList{invalid}
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec"), field.OmitValueType{}, err.Error())}
}

// advise adds the kind's advice to what is wrong with templates.
func (h *webhook[T]) advise(errs field.ErrorList) field.ErrorList {
	for _, err := range errs {
		err.Detail += h.kind.Webhook.TemplateAdvice
	}
	return errs
}

// validatePrebuilt refuses the name of a prebuilt Workload on kinds that take none.
func (h *webhook[T]) validatePrebuilt(job T) field.ErrorList {
	if !h.kind.Webhook.NoPrebuilt || h.opts.Gates.PrebuiltWorkloadName(job) == "" {
		return nil
	}
	return field.ErrorList{field.Forbidden(prebuiltPath(job), fmt.Sprintf("Is not supported for %q", h.kind.GVK))}
}

// newErrors leaves out what was wrong before the change: a job from before the rule must be allowed to end.
func newErrors(now, before field.ErrorList) field.ErrorList {
	return slices.DeleteFunc(now, func(e *field.Error) bool {
		return slices.ContainsFunc(before, func(was *field.Error) bool { return was.Error() == e.Error() })
	})
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

// validateElastic refuses the annotation of elastic jobs on kinds that do not support it.
func (h *webhook[T]) validateElastic(job T) field.ErrorList {
	if h.kind.Elastic != nil || job.GetAnnotations()[kueue.ElasticJobAnnotation] != "true" {
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
	if _, err := parseMaxExecTime(job); err != nil {
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

// validateName validates the name of an object; an empty one is fine.
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

// validateQueueChange lets a job change its queue only while it is suspended: otherwise it holds the quota of the old one.
func validateQueueChange(old, job client.Object, suspended bool) field.ErrorList {
	if suspended {
		return nil
	}
	return validateUnchanged(labelPath(kueue.QueueNameLabel), QueueName(old), QueueName(job))
}

// validateChange checks what else may change while the job runs, in the order of contract: job-kinds.md 1.2.
func validateChange(old, job client.Object, gates Gates, wasSuspended, isSuspended bool) field.ErrorList {
	var errs field.ErrorList
	elastic := kueue.ElasticJobAnnotation
	if !isSuspended && job.GetAnnotations()[elastic] != "true" {
		errs = append(errs, validateUnchanged(prebuiltPath(job), gates.PrebuiltWorkloadName(old), gates.PrebuiltWorkloadName(job))...)
	}
	if !wasSuspended || !isSuspended {
		key := kueue.MaxExecTimeSecondsLabel
		errs = append(errs, validateUnchanged(labelPath(key), old.GetLabels()[key], job.GetLabels()[key])...)
	}
	errs = append(errs, validatePriorityChange(old, job, isSuspended)...)
	errs = append(errs, validateElasticChange(old, job)...)
	if gates.AdmissionGatedBy {
		key := kueue.AdmissionGatedByAnnotation
		errs = append(errs, workload.ValidateAdmissionGatesUpdate(old.GetAnnotations()[key], job.GetAnnotations()[key])...)
	}
	return errs
}

// validatePriorityChange lets a job get its first priority class only while it is suspended, and never lose it.
func validatePriorityChange(old, job client.Object, isSuspended bool) field.ErrorList {
	path, had, has := labelPath(kueue.PriorityClassLabel), old.GetLabels()[kueue.PriorityClassLabel], job.GetLabels()[kueue.PriorityClassLabel]
	switch {
	case had == "" && has != "" && !isSuspended:
		return field.ErrorList{field.Invalid(path, has, "WorkloadPriorityClass cannot be added to a non-suspended workload")}
	case had != "" && has == "":
		return field.ErrorList{field.Invalid(path, has, "WorkloadPriorityClass cannot be removed from a workload")}
	}
	return nil
}

// validateElasticChange refuses that a job becomes elastic, or ceases to be.
func validateElasticChange(old, job client.Object) field.ErrorList {
	const elastic = kueue.ElasticJobAnnotation
	if was, is := old.GetAnnotations()[elastic], job.GetAnnotations()[elastic]; (was == "true") != (is == "true") {
		return validateUnchanged(annotationPath(elastic), was, is)
	}
	return nil
}

func validateUnchanged(path *field.Path, was, is string) field.ErrorList {
	if was == is {
		return nil
	}
	return field.ErrorList{field.Invalid(path, is, apivalidation.FieldImmutableErrorMsg)}
}
