package podwebhook

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/podgroup/podmeta"
)

// ownerWarning is the contract's (contract: job-kinds.md 10.2).
const ownerWarning = "pod owner is managed by kueue, label 'kueue.x-k8s.io/managed=true' might lead to unexpected behaviour"

// ValidateCreate implements admission.Validator. As in the public API the rules hold for unmanaged pods, too.
func (h *Webhook) ValidateCreate(ctx context.Context, pod *corev1.Pod) (admission.Warnings, error) {
	if !h.enabled {
		return nil, nil
	}
	_, err := h.rules.ValidateCreate(ctx, pod)
	return h.warnings(pod), err
}

// ValidateUpdate implements admission.Validator.
func (h *Webhook) ValidateUpdate(ctx context.Context, old, pod *corev1.Pod) (admission.Warnings, error) {
	if !h.enabled {
		return nil, nil
	}
	_, err := h.rules.ValidateUpdate(ctx, old, pod)
	if podmeta.HasSuspendingParent(pod) {
		return nil, err
	}
	return h.warnings(pod), err
}

// ValidateDelete implements admission.Validator; it is never called.
func (h *Webhook) ValidateDelete(context.Context, *corev1.Pod) (admission.Warnings, error) {
	return nil, nil
}

// warnings are about a pod that is managed although its controller may be, too.
func (h *Webhook) warnings(pod *corev1.Pod) admission.Warnings {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil || !podmeta.IsManaged(pod) {
		return nil
	}
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	for _, kind := range h.opts.Kinds {
		if kind.GVK() == gvk {
			return admission.Warnings{ownerWarning}
		}
	}
	return nil
}

// validate checks what only pods have. What was wrong before a change is not judged again: a pod must be allowed to end.
func (h *Webhook) validate(old, pod *corev1.Pod) field.ErrorList {
	errs := h.validateAlone(pod)
	if old == nil {
		return errs
	}
	return append(job.NewErrors(errs, h.validateAlone(old)), h.validateChange(old, pod)...)
}

// validateAlone checks the pod as it is.
func (h *Webhook) validateAlone(pod *corev1.Pod) field.ErrorList {
	var errs field.ErrorList
	if value, found := pod.Labels[kueue.ManagedLabel]; found && value != kueue.ManagedLabelValue {
		errs = append(errs, field.Forbidden(labelPath(kueue.ManagedLabel), "managed label value can only be 'true'"))
	}
	errs = append(errs, h.validateGroup(pod)...)
	return append(errs, job.ValidatePodAnnotations(field.NewPath("metadata", "annotations"), pod.Annotations, h.podsLike(pod), h.opts.Gates)...)
}

// podsLike is how many pods a slice of the pod's can have at most.
func (h *Webhook) podsLike(pod *corev1.Pod) int32 {
	if podmeta.GroupName(pod, h.opts.Gates) == "" {
		return 1
	}
	total, _ := podmeta.TotalCount(pod)
	return int32(total) //nolint:gosec // TotalCount returns none beyond an int32
}

// validateGroup checks what the pod says of its group.
func (h *Webhook) validateGroup(pod *corev1.Pod) field.ErrorList {
	group, form, path := podmeta.GroupName(pod, h.opts.Gates), "annotation", annotationPath(kueue.PodGroupNameKey)
	if podmeta.IsGroupInLabel(pod, h.opts.Gates) {
		form, path = "label", labelPath(kueue.PodGroupNameKey)
	}
	_, counted := pod.Annotations[kueue.PodGroupTotalCountAnnotation]
	count := annotationPath(kueue.PodGroupTotalCountAnnotation)
	both := fmt.Sprintf("both the '%s' annotation and the '%s' %s should be set", kueue.PodGroupTotalCountAnnotation, kueue.PodGroupNameKey, form)
	var errs field.ErrorList
	switch {
	case group == "" && counted:
		errs = append(errs, field.Required(path, both))
	case group != "" && !counted:
		errs = append(errs, field.Required(count, both))
	}
	if counted {
		if _, err := podmeta.TotalCount(pod); err != nil {
			errs = append(errs, field.Invalid(count, pod.Annotations[kueue.PodGroupTotalCountAnnotation], err.Error()))
		}
	}
	if group == "" {
		return errs
	}
	for _, problem := range validation.IsDNS1123Subdomain(group) {
		errs = append(errs, field.Invalid(path, group, problem))
	}
	if prebuilt := h.opts.Gates.PrebuiltWorkloadName(pod); prebuilt != "" && prebuilt != group {
		errs = append(errs, field.Invalid(job.PrebuiltPath(pod), prebuilt, "prebuilt workload and pod group should be equal"))
	}
	return errs
}

// validateChange checks what may change.
func (h *Webhook) validateChange(old, pod *corev1.Pod) field.ErrorList {
	var errs field.ErrorList
	was, is := podmeta.GroupName(old, h.opts.Gates), podmeta.GroupName(pod, h.opts.Gates)
	if was != "" && is != was {
		path := annotationPath(kueue.PodGroupNameKey)
		if podmeta.IsGroupInLabel(old, h.opts.Gates) {
			path = labelPath(kueue.PodGroupNameKey)
		}
		errs = append(errs, field.Invalid(path, is, apivalidation.FieldImmutableErrorMsg))
	}
	if is != "" && podmeta.IsUnretriable(old) && !podmeta.IsUnretriable(pod) {
		errs = append(errs, field.Forbidden(annotationPath(kueue.RetriableInGroupAnnotation), "unretriable pod group can't be converted to retriable"))
	}
	if _, kept := pod.Labels[kueue.ManagedLabel]; podmeta.IsManaged(old) && !kept && !podmeta.IsTerminal(pod) { // it would be out of sight, with its quota
		errs = append(errs, field.Invalid(labelPath(kueue.ManagedLabel), "", apivalidation.FieldImmutableErrorMsg))
	}
	return errs
}

func labelPath(key string) *field.Path      { return field.NewPath("metadata", "labels").Key(key) }
func annotationPath(key string) *field.Path { return field.NewPath("metadata", "annotations").Key(key) }
