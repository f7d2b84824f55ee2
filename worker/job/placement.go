package job

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// Placement is the outcome of an admission for one pod set: what has to be merged into its pod template before it starts,
// and how many pods were admitted.
type Placement struct {
	// Name of the pod set.
	Name kueue.PodSetReference
	// Count of pods that were admitted; below the pod set's own count only with partial admission.
	Count int32

	NodeSelector    map[string]string
	Tolerations     []corev1.Toleration
	Labels          map[string]string
	Annotations     map[string]string
	SchedulingGates []corev1.PodSchedulingGate
}

// ConflictError says that two sources want different values for one key of a pod template. No retry solves it.
type ConflictError struct {
	// What is the part of the template: "labels", "annotations" or "nodeSelector".
	What string
	// Key with its present and wanted value.
	Key, Current, Wanted string
}

// Error implements error in the words of the public API (contract: job-kinds.md 1.5), which blames a check in every case.
func (e *ConflictError) Error() string {
	const text = "invalid admission check PodSetUpdate: conflict for %s: conflict for key=%s, value1=%s, value2=%s"
	return fmt.Sprintf(text, e.What, e.Key, e.Current, e.Wanted)
}

// Merge adds other to p. What both have must agree; tolerations and gates that p has already are not added twice. After
// an error p is partly merged and useless.
func (p *Placement) Merge(other Placement) error {
	for _, part := range []struct {
		what string
		into *map[string]string
		from map[string]string
	}{
		{"annotations", &p.Annotations, other.Annotations},
		{"labels", &p.Labels, other.Labels},
		{"nodeSelector", &p.NodeSelector, other.NodeSelector},
	} {
		if err := mergeMap(part.what, part.into, part.from); err != nil {
			return err
		}
	}
	for _, t := range other.Tolerations {
		if !slices.ContainsFunc(p.Tolerations, func(has corev1.Toleration) bool { return equality.Semantic.DeepEqual(has, t) }) {
			p.Tolerations = append(p.Tolerations, t)
		}
	}
	for _, g := range other.SchedulingGates {
		if !slices.Contains(p.SchedulingGates, g) {
			p.SchedulingGates = append(p.SchedulingGates, g)
		}
	}
	return nil
}

// PlaceTemplate merges the placement into a pod template, all or nothing: on a conflict the template is unchanged.
func PlaceTemplate(t *corev1.PodTemplateSpec, p Placement) error {
	placed := Placement{
		NodeSelector: maps.Clone(t.Spec.NodeSelector),
		Labels:       maps.Clone(t.Labels),
		Annotations:  maps.Clone(t.Annotations),
		Tolerations:  slices.Clone(t.Spec.Tolerations), SchedulingGates: slices.Clone(t.Spec.SchedulingGates),
	}
	if err := placed.Merge(p); err != nil {
		return err
	}
	t.Labels, t.Annotations = placed.Labels, placed.Annotations
	t.Spec.NodeSelector = placed.NodeSelector
	t.Spec.Tolerations = placed.Tolerations
	t.Spec.SchedulingGates = placed.SchedulingGates
	return nil
}

// RestoreTemplate makes the parts of a template that PlaceTemplate can change what they are in the original.
func RestoreTemplate(t, original *corev1.PodTemplateSpec) {
	t.Labels = maps.Clone(original.Labels)
	t.Annotations = maps.Clone(original.Annotations)
	t.Spec.NodeSelector = maps.Clone(original.Spec.NodeSelector)
	t.Spec.Tolerations = slices.Clone(original.Spec.Tolerations)
	t.Spec.SchedulingGates = slices.Clone(original.Spec.SchedulingGates)
}

// mergeMap adds entries to a map. An entry that is there with another value is a ConflictError, unless it tells of earlier slices.
func mergeMap(what string, into *map[string]string, from map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(from)) {
		if has, ok := (*into)[key]; ok && has != from[key] && key != kueue.WorkloadSliceNameAnnotation && key != switchyard.ElasticPodLabel {
			return &ConflictError{What: what, Key: key, Current: has, Wanted: from[key]}
		}
	}
	if len(from) == 0 {
		return nil
	}
	if *into == nil {
		*into = make(map[string]string, len(from))
	}
	maps.Copy(*into, from)
	return nil
}
