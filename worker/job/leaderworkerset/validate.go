package leaderworkerset

import (
	"context"
	"fmt"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	lwsv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/serving"
)

func templatePath(name string) *field.Path {
	return field.NewPath("spec", "leaderWorkerTemplate", name)
}

// validate says what is wrong with a set, and what must not change of one whose pods wait (contract: job-kinds.md 13, validation). old
// is nil on create.
func validate(_ context.Context, w serving.World, old, set *lwsv1.LeaderWorkerSet) (field.ErrorList, error) {
	errs := validateReplicas(set)
	if old != nil && isMarked(old) && isMarked(set) {
		errs = append(errs, validateShape(old, set)...)
		if w.Gates.ImmutableGroupSize {
			errs = append(errs, apivalidation.ValidateImmutableField(groupSize(set), groupSize(old), templatePath("size"))...)
		}
	}
	return append(errs, validateTopology(old, set, w.Gates)...), nil
}

// validateReplicas bounds the number of groups, each of which has a Workload.
func validateReplicas(s *lwsv1.LeaderWorkerSet) field.ErrorList {
	path, n := field.NewPath("spec", "replicas"), ptr.Deref(s.Spec.Replicas, 1)
	const prefix = "invalid LeaderWorkerSet replicas: must be "
	switch {
	case n < 0:
		return field.ErrorList{field.Invalid(path, n, fmt.Sprintf(prefix+">= 0, got %d", n))}
	case n > maxReplicas:
		return field.ErrorList{field.Invalid(path, n, fmt.Sprintf(prefix+"<= %d, got %d", maxReplicas, n))}
	}
	return nil
}

// validateShape keeps what the pods of a group ask for, and that a leader is unlike its workers.
func validateShape(old, set *lwsv1.LeaderWorkerSet) field.ErrorList {
	was, is := &old.Spec.LeaderWorkerTemplate, &set.Spec.LeaderWorkerTemplate
	leader, worker := templatePath("leaderTemplate"), templatePath("workerTemplate")
	var errs field.ErrorList
	switch {
	case (was.LeaderTemplate == nil) != (is.LeaderTemplate == nil):
		errs = append(errs, field.Invalid(leader, field.OmitValueType{}, apivalidation.FieldImmutableErrorMsg))
	case is.LeaderTemplate != nil:
		errs = append(errs, serving.ValidateShape(&was.LeaderTemplate.Spec, &is.LeaderTemplate.Spec, leader.Child("spec"))...)
	}
	return append(errs, serving.ValidateShape(&was.WorkerTemplate.Spec, &is.WorkerTemplate.Spec, worker.Child("spec"))...)
}

// validateTopology judges the annotations of the templates, unless the set cannot be told in pod sets at all.
func validateTopology(old, set *lwsv1.LeaderWorkerSet, gates job.Gates) field.ErrorList {
	now, err := podSets(set)
	if err != nil {
		return nil
	}
	var before []kueue.PodSet
	if old != nil {
		before, _ = podSets(old) // without any nothing was wrong with them
	}
	return job.ValidateTopology(now, before, func(name kueue.PodSetReference) *field.Path {
		if name == leaderSet {
			return templatePath("leaderTemplate").Child("metadata")
		}
		return templatePath("workerTemplate").Child("metadata")
	}, gates)
}
