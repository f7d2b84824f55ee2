package job

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// templateMetadata are the annotations of one pod template, which ask for a place in a topology.
type templateMetadata struct {
	// path is that of the annotations.
	path   *field.Path
	values map[string]string
	// pods is how many pods the template is for.
	pods int32
}

// validateTopology judges what the templates of a job say about topology, in words and order of the public API (contract:
// job-kinds.md 1.4). Pairs tells whether the templates of one group are compared with each other.
func validateTopology(templates []templateMetadata, gates Gates, pairs bool) field.ErrorList {
	var errs field.ErrorList
	for _, t := range templates {
		errs = append(errs, t.validateLevels()...)
		errs = append(errs, t.validateSlices()...)
		errs = append(errs, t.validateLayers(gates.MultiLayerTopology)...)
		errs = append(errs, t.validateGroupName()...)
	}
	if !pairs {
		return errs
	}
	return append(errs, validateGroups(templates)...)
}

func (t templateMetadata) has(key string) bool {
	_, found := t.values[key]
	return found
}

// validateLevels validates the level that all pods of the template are to share.
func (t templateMetadata) validateLevels() field.ErrorList {
	const (
		required, preferred = kueue.PodSetRequiredTopologyAnnotation, kueue.PodSetPreferredTopologyAnnotation
		unconstrained       = kueue.PodSetUnconstrainedTopologyAnnotation
	)
	var errs field.ErrorList
	asked := 0
	for _, key := range []string{required, preferred, unconstrained} {
		if t.has(key) {
			asked++
		}
	}
	if asked > 1 {
		errs = append(errs, field.Invalid(t.path, field.OmitValueType{},
			fmt.Sprintf("must not contain more than one topology annotation: [%q, %q, %q]", required, preferred, unconstrained)))
	}
	for _, key := range []string{required, preferred, kueue.PodSetSliceRequiredTopologyAnnotation} {
		if t.has(key) {
			errs = append(errs, metav1validation.ValidateLabelName(t.values[key], t.path.Key(key))...)
		}
	}
	if _, err := strconv.ParseBool(t.values[unconstrained]); t.has(unconstrained) && err != nil {
		errs = append(errs, field.Invalid(t.path.Key(unconstrained), t.values[unconstrained], "must be a boolean value"))
	}
	return errs
}

// validateSlices validates the slices into which the pods are to be placed: their size and their level.
func (t templateMetadata) validateSlices() field.ErrorList {
	const level, size = kueue.PodSetSliceRequiredTopologyAnnotation, kueue.PodSetSliceSizeAnnotation
	path, value := t.path.Key(size), t.values[size]
	switch {
	case t.has(level) && !t.has(size):
		return field.ErrorList{field.Required(path, fmt.Sprintf("must be set when '%s' is specified", level))}
	case !t.has(size):
		return nil
	}
	var errs field.ErrorList
	if !t.has(level) {
		errs = append(errs, field.Forbidden(path, fmt.Sprintf("may not be set when '%s' is not specified", level)))
	}
	switch n, err := strconv.ParseInt(value, 10, 32); {
	case err != nil:
		errs = append(errs, field.Invalid(path, value, "must be a numeric value"))
	case n < 1:
		errs = append(errs, field.Invalid(path, value, "must be greater than or equal to 1"))
	case n > int64(t.pods):
		errs = append(errs, field.Invalid(path, value, fmt.Sprintf("must not be greater than pod set count %d", t.pods)))
	}
	return errs
}

// validateGroupName judges the name of the group that the pod set is placed with.
func (t templateMetadata) validateGroupName() field.ErrorList {
	const key, required, preferred = kueue.PodSetGroupNameAnnotation, kueue.PodSetRequiredTopologyAnnotation, kueue.PodSetPreferredTopologyAnnotation
	if !t.has(key) {
		return nil
	}
	var errs field.ErrorList
	path := t.path.Key(key)
	if _, err := strconv.ParseUint(t.values[key], 10, 64); err == nil {
		errs = append(errs, field.Invalid(path, t.values[key], "must not be a number"))
	}
	for _, other := range []string{
		kueue.PodSetSliceSizeAnnotation, kueue.PodSetSliceRequiredTopologyAnnotation, kueue.PodSetSliceRequiredTopologyConstraintsAnnotation,
	} {
		if t.has(other) {
			errs = append(errs, field.Forbidden(path, fmt.Sprintf("may not be set when '%s' is specified", other)))
		}
	}
	if !t.has(required) && !t.has(preferred) {
		errs = append(errs, field.Forbidden(path, fmt.Sprintf("may not be set when neither '%s' nor '%s' is specified", preferred, required)))
	}
	return errs
}

// validateGroups judges the groups that the pod sets form, by name.
func validateGroups(templates []templateMetadata) field.ErrorList {
	groups := map[string][]templateMetadata{}
	for _, t := range templates {
		if name, found := t.values[kueue.PodSetGroupNameAnnotation]; found {
			groups[name] = append(groups[name], t)
		}
	}
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		errs = append(errs, validateGroup(name, groups[name])...)
	}
	return errs
}

// validateGroup validates one group: two templates, one of them of a single pod, that ask for the same level.
func validateGroup(name string, members []templateMetadata) field.ErrorList {
	const required, preferred = kueue.PodSetRequiredTopologyAnnotation, kueue.PodSetPreferredTopologyAnnotation
	var errs field.ErrorList
	each := func(text string) {
		for _, m := range members {
			errs = append(errs, field.Invalid(m.path.Key(kueue.PodSetGroupNameAnnotation), name, text))
		}
	}
	if len(members) != 2 {
		each(fmt.Sprintf("can only define groups of exactly 2 pod sets, got: %d pod set(s)", len(members)))
		return errs
	}
	a, b := members[0], members[1]
	if a.pods != 1 && b.pods != 1 {
		each(fmt.Sprintf("can only define groups where at least one pod set has only 1 replica, got: %d replica(s) and %d replica(s) in the group",
			a.pods, b.pods))
	}
	if a.values[required] == b.values[required] && a.values[preferred] == b.values[preferred] {
		return errs
	}
	const unlike = "must specify '%s' or '%s' topology consistent with '%s' in group '%s'"
	return append(errs,
		field.Invalid(a.path, field.OmitValueType{}, fmt.Sprintf(unlike, required, preferred, b.path, name)),
		field.Invalid(b.path, field.OmitValueType{}, fmt.Sprintf(unlike, required, preferred, a.path, name)))
}
