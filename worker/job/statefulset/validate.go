package statefulset

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/serving"
	"switchyard.dev/worker/workload"
)

// validate says what must not change of a set whose pods wait (contract: job-kinds.md 12, validation). A set that is marked only now has
// no Workload that could contradict it.
func validate(ctx context.Context, w serving.World, old, set *appsv1.StatefulSet) (field.ErrorList, error) {
	if old == nil || !isMarked(old) || !isMarked(set) {
		return nil, nil
	}
	held := func() (bool, error) { return isHeld(ctx, w, old) }
	shape, err := validateTemplate(old, set, held)
	if err != nil {
		return nil, err
	}
	scale, err := validateReplicas(old, set, held)
	return append(shape, scale...), err
}

// validateTemplate lets the shape of the pods change only while there are none and none are paid for.
func validateTemplate(old, set *appsv1.StatefulSet, held func() (bool, error)) (field.ErrorList, error) {
	errs := serving.ValidateShape(&old.Spec.Template.Spec, &set.Spec.Template.Spec, field.NewPath("spec", "template", "spec"))
	if len(errs) == 0 || replicas(old) > 0 || replicas(set) > 0 || old.Status.Replicas > 0 {
		return errs, nil
	}
	if free, err := held(); err != nil || free {
		return nil, err
	}
	return errs, nil
}

// validateReplicas lets a set be scaled to zero, and from zero once nothing is left of the last time.
func validateReplicas(old, set *appsv1.StatefulSet, held func() (bool, error)) (field.ErrorList, error) {
	path, was, is := field.NewPath("spec", "replicas"), replicas(old), replicas(set)
	switch {
	case was == is || is == 0:
		return nil, nil
	case was > 0:
		return field.ErrorList{field.Invalid(path, is, apivalidation.FieldImmutableErrorMsg)}, nil
	case old.Status.Replicas > 0:
		return field.ErrorList{field.Forbidden(path, "scaling down is still in progress")}, nil
	}
	if free, err := held(); err != nil || free {
		return nil, err
	}
	return field.ErrorList{field.Forbidden(path, "workload from previous scale-down is still being deleted")}, nil
}

// isHeld tells whether no Workload of the set may hold quota or get any.
func isHeld(ctx context.Context, w serving.World, set *appsv1.StatefulSet) (bool, error) {
	for i, name := range workloadNames(set, w.Gates) {
		wl := &kueue.Workload{}
		err := w.Live.Get(ctx, client.ObjectKey{Namespace: set.Namespace, Name: name}, wl)
		if client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("get workload %s/%s: %w", set.Namespace, name, err)
		}
		of := i == 0 || serving.IsOwnedBy(wl, set) // the old name says nothing of which set
		if err == nil && of && !workload.IsOnHold(wl) && (workload.IsActive(wl) || workload.HasQuota(wl)) {
			return false, nil
		}
	}
	return true, nil
}

// workloadNames are the names that the Workload of a set may have: its own first, then the one from before names told apart sets that
// were made again.
func workloadNames(set *appsv1.StatefulSet, gates job.Gates) []string {
	return []string{
		serving.WorkloadName(gvk(), set, set.Name, gates.ShortWorkloadNames),
		job.WorkloadName(gvk(), set.Name, "", gates.ShortWorkloadNames),
	}
}
