package job

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/workload"
)

// Rules are what holds for every object that names a queue (contract: job-kinds.md 1.1, 1.2, 1.7), for objects that are no [Kind]:
// those that cannot be suspended, and whose pods wait one by one instead.
type Rules struct {
	webhook webhook[client.Object]
}

// NewRules returns the rules for objects of a kind. What the cached reader lacks is looked for with the live one.
func NewRules(gvk schema.GroupVersionKind, o Options, cached, live client.Reader) Rules {
	return Rules{webhook[client.Object]{kind: Kind[client.Object]{GVK: gvk}, opts: o, reader: cached, live: live, enabled: true}}
}

// IsOwn tells whether nothing else answers for the object: its namespace is one whose jobs are managed, and no managed job has
// made it.
func (r Rules) IsOwn(ctx context.Context, obj client.Object) (bool, error) {
	selected, err := isNamespaceManaged(ctx, r.webhook.newReader(), r.webhook.opts.Namespaces, obj.GetNamespace())
	if err != nil || !selected {
		return false, err
	}
	above, err := findAncestors(ctx, r.webhook.newReader(), &r.webhook.opts, obj, r.webhook.kind.GVK)
	return err == nil && !above.tooDeep && !above.free && above.top == nil, err
}

// IsManaged tells whether an object that [Rules.IsOwn] is to wait for quota.
func (r Rules) IsManaged(obj client.Object) bool { return r.webhook.isManaged(obj) }

// Default names the default queue and the default priority class where the object names none, and reports whether the object is
// managed. One that runs keeps to what it names: what a default would add could not be added by its user either.
func (r Rules) Default(ctx context.Context, obj client.Object, runs bool) (managed bool, err error) {
	if !obj.GetDeletionTimestamp().IsZero() {
		return false, nil
	}
	if own, err := r.IsOwn(ctx, obj); err != nil || !own {
		return false, err
	}
	if !runs {
		if err := r.webhook.defaultQueue(ctx, obj); err != nil {
			return false, err
		}
	}
	if !r.IsManaged(obj) || runs {
		return r.IsManaged(obj), nil
	}
	return true, r.webhook.defaultPriorityClass(ctx, obj)
}

// ValidateCreate says what is wrong with the labels and annotations of a new object.
func (r Rules) ValidateCreate(obj client.Object) field.ErrorList {
	errs := validateName(labelPath(kueue.QueueNameLabel), QueueName(obj))
	errs = append(errs, r.webhook.validateElastic(r.webhook.readJobs(obj))...)
	if r.webhook.opts.Gates.AdmissionGatedBy {
		errs = append(errs, workload.ValidateAdmissionGates(obj.GetAnnotations()[kueue.AdmissionGatedByAnnotation])...)
	}
	return errs
}

// ValidateUpdate says what is wrong with a change of labels and annotations. While the object runs it keeps its queue; without one
// it is never left (contract: job-kinds.md 11).
func (r Rules) ValidateUpdate(old, obj client.Object, ran, runs bool) field.ErrorList {
	errs := validateName(labelPath(kueue.QueueNameLabel), QueueName(obj))
	if ran || QueueName(obj) == "" {
		errs = append(errs, validateUnchanged(labelPath(kueue.QueueNameLabel), QueueName(old), QueueName(obj))...)
	}
	errs = append(errs, validatePriorityChange(old, obj, !runs)...)
	errs = append(errs, validateElasticChange(r.webhook.readJobs(old), r.webhook.readJobs(obj))...)
	if r.webhook.opts.Gates.AdmissionGatedBy {
		key := kueue.AdmissionGatedByAnnotation
		errs = append(errs, workload.ValidateAdmissionGatesUpdate(old.GetAnnotations()[key], obj.GetAnnotations()[key])...)
	}
	return errs
}
