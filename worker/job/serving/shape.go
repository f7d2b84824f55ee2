package serving

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateShape says what has changed in a pod spec, at the path, of what tells pods of one role from others (contract: job-kinds.md
// 10.3): what they ask for and where they may run. Names, images, commands, volumes and the like may change.
func ValidateShape(old, now *corev1.PodSpec, path *field.Path) field.ErrorList {
	errs := validateContainers(old.InitContainers, now.InitContainers, path.Child("initContainers"))
	errs = append(errs, validateContainers(old.Containers, now.Containers, path.Child("containers"))...)
	for _, part := range []struct {
		name    string
		was, is any
	}{
		{"nodeSelector", old.NodeSelector, now.NodeSelector},
		{"affinity", old.Affinity, now.Affinity},
		{"tolerations", old.Tolerations, now.Tolerations},
		{"runtimeClassName", old.RuntimeClassName, now.RuntimeClassName},
		{"priority", old.Priority, now.Priority},
		{"topologySpreadConstraints", old.TopologySpreadConstraints, now.TopologySpreadConstraints},
		{"overhead", old.Overhead, now.Overhead},
		{"resourceClaims", old.ResourceClaims, now.ResourceClaims},
	} {
		errs = append(errs, apivalidation.ValidateImmutableField(part.is, part.was, path.Child(part.name))...)
	}
	return append(errs, validateRequests(old.Resources, now.Resources, path.Child("resources"))...)
}

// validateContainers compares containers by position.
func validateContainers(old, now []corev1.Container, path *field.Path) field.ErrorList {
	if len(old) != len(now) {
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, apivalidation.FieldImmutableErrorMsg)}
	}
	var errs field.ErrorList
	for i := range now {
		at := path.Index(i)
		errs = append(errs, validateRequests(&old[i].Resources, &now[i].Resources, at.Child("resources"))...)
		errs = append(errs, apivalidation.ValidateImmutableField(now[i].Ports, old[i].Ports, at.Child("ports"))...)
	}
	return errs
}

func validateRequests(old, now *corev1.ResourceRequirements, path *field.Path) field.ErrorList {
	return apivalidation.ValidateImmutableField(requests(now), requests(old), path.Child("requests"))
}

// requests are those that the pods will have: a limit without a request is one, as the API server makes of it.
func requests(r *corev1.ResourceRequirements) corev1.ResourceList {
	if r == nil {
		return nil
	}
	all := maps.Clone(r.Limits)
	if all == nil {
		return r.Requests
	}
	maps.Copy(all, r.Requests)
	return all
}
