package configured

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job"
)

// placement says where in a job the outcome of an admission for one pod set goes; a nil path is nowhere.
type placement struct {
	nodeSelector, tolerations, labels, annotations, schedulingGates path
	// discard are the parts that may get lost.
	discard []switchyard.PlacementPart
}

// templatePlacement is where a pod template at the path has its parts; nowhere without one.
func templatePlacement(template path) placement {
	if template == nil {
		return placement{}
	}
	return placement{
		nodeSelector: template.child(specField, "nodeSelector"), tolerations: template.child(specField, "tolerations"),
		schedulingGates: template.child(specField, "schedulingGates"),
		labels:          template.child(metadataField, "labels"), annotations: template.child(metadataField, "annotations"),
	}
}

// fields are the paths, by the names that they have in declarations.
func (p *placement) fields() map[string]*path {
	return map[string]*path{
		"nodeSelector": &p.nodeSelector, "tolerations": &p.tolerations, "schedulingGates": &p.schedulingGates,
		"labels": &p.labels, "annotations": &p.annotations,
	}
}

// readPlacement reads the entry placement of what an expression returned.
func readPlacement(value any, template path) (placement, error) {
	p := templatePlacement(template)
	if value == nil {
		return p, nil
	}
	entries, ok := value.(map[string]any)
	if !ok {
		return p, errors.New("placement must be a map")
	}
	fields := p.fields()
	for key, value := range entries {
		if key == "discard" {
			if err := p.readDiscard(value); err != nil {
				return p, err
			}
			continue
		}
		into, known := fields[key]
		text, ok := value.(string)
		if !known || !ok {
			return p, fmt.Errorf("placement: %q is not a part with a path", key)
		}
		parsed, err := parseOwnPath(text)
		if err != nil {
			return p, fmt.Errorf("placement.%s: %w", key, err)
		}
		*into = parsed
	}
	return p, nil
}

// readDiscard reads the list of parts that may get lost.
func (p *placement) readDiscard(value any) error {
	list, ok := value.([]any)
	if !ok {
		return errors.New("placement.discard must be a list")
	}
	for _, part := range list {
		text, _ := part.(string)
		p.discard = append(p.discard, switchyard.PlacementPart(text))
	}
	return nil
}

// read returns what stands where an admission is placed.
func (p *placement) read(object map[string]any) (job.Placement, error) {
	var is job.Placement
	for _, part := range []struct {
		at   path
		into any
	}{
		{p.nodeSelector, &is.NodeSelector},
		{p.tolerations, &is.Tolerations},
		{p.schedulingGates, &is.SchedulingGates},
		{p.labels, &is.Labels},
		{p.annotations, &is.Annotations},
	} {
		value, _ := part.at.get(object)
		if value == nil {
			continue
		}
		if err := decode(part.at.fieldPath(), value, part.into); err != nil {
			return is, err
		}
	}
	return is, nil
}

// complete gives a template the parts that stand elsewhere in the job.
func (p *placement) complete(t *corev1.PodTemplateSpec, is job.Placement) {
	if p.nodeSelector != nil {
		t.Spec.NodeSelector = is.NodeSelector
	}
	if p.tolerations != nil {
		t.Spec.Tolerations = is.Tolerations
	}
	if p.schedulingGates != nil {
		t.Spec.SchedulingGates = is.SchedulingGates
	}
	if p.labels != nil {
		t.Labels = is.Labels
	}
	if p.annotations != nil {
		t.Annotations = is.Annotations
	}
}

// place merges an admission into the job.
func (p *placement) place(object map[string]any, admitted job.Placement) error {
	if err := p.checkPlaces(admitted); err != nil {
		return err
	}
	is, err := p.read(object)
	if err != nil {
		return err
	}
	merged := is
	merged.NodeSelector, merged.Labels, merged.Annotations = maps.Clone(is.NodeSelector), maps.Clone(is.Labels), maps.Clone(is.Annotations)
	if err := merged.Merge(admitted); err != nil {
		return err
	}
	return p.write(object, is, merged)
}

// PlaceError says that an admission brings what the kind has no place for. No retry solves it.
type PlaceError struct {
	// Part is what gets lost.
	Part switchyard.PlacementPart
}

// Error implements error.
func (e *PlaceError) Error() string {
	return fmt.Sprintf("the JobKind names no path for the admission's %s, and does not discard them", e.Part)
}

// checkPlaces fails with a [PlaceError] if a part of the admission would get lost that may not.
func (p *placement) checkPlaces(admitted job.Placement) error {
	for _, part := range []struct {
		name  switchyard.PlacementPart
		at    path
		count int
	}{
		{switchyard.PlacementNodeSelector, p.nodeSelector, len(admitted.NodeSelector)},
		{switchyard.PlacementTolerations, p.tolerations, len(admitted.Tolerations)},
		{switchyard.PlacementSchedulingGates, p.schedulingGates, len(admitted.SchedulingGates)},
	} {
		if part.at == nil && part.count > 0 && !slices.Contains(p.discard, part.name) {
			return &PlaceError{Part: part.name}
		}
	}
	return nil
}

// write changes in the job what differs between is and want.
func (p *placement) write(object map[string]any, is, want job.Placement) error {
	for _, part := range []struct {
		at       path
		is, want any
		empty    bool
	}{
		{p.nodeSelector, is.NodeSelector, want.NodeSelector, len(want.NodeSelector) == 0},
		{p.tolerations, is.Tolerations, want.Tolerations, len(want.Tolerations) == 0},
		{p.schedulingGates, is.SchedulingGates, want.SchedulingGates, len(want.SchedulingGates) == 0},
		{p.labels, is.Labels, want.Labels, len(want.Labels) == 0},
		{p.annotations, is.Annotations, want.Annotations, len(want.Annotations) == 0},
	} {
		switch {
		case part.at == nil || equality.Semantic.DeepEqual(part.is, part.want):
		case part.empty:
			part.at.remove(object)
		default:
			value, err := encode(part.want)
			if err != nil {
				return field.InternalError(part.at.fieldPath(), err)
			}
			if err := part.at.set(object, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// placementParts are the parts that a declaration can discard.
func placementParts() []switchyard.PlacementPart {
	return []switchyard.PlacementPart{switchyard.PlacementNodeSelector, switchyard.PlacementTolerations, switchyard.PlacementSchedulingGates}
}

func isPlacementPart(part switchyard.PlacementPart) bool {
	return slices.Contains(placementParts(), part)
}
