package job

import (
	"encoding/json"
	"fmt"

	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// maxLayers bounds the layers of slices.
const maxLayers = 3

// layer is one entry of the annotation podset-slice-required-topology-constraints, outer to inner.
type layer struct {
	Topology string `json:"topology"`
	Size     int32  `json:"size"`
}

// validateLayers judges slices of slices; on tells whether the gate TASMultiLayerTopology allows them.
func (t templateMetadata) validateLayers(on bool) field.ErrorList {
	const key = kueue.PodSetSliceRequiredTopologyConstraintsAnnotation
	path, value := t.path.Key(key), t.values[key]
	switch {
	case !t.has(key):
		return nil
	case !on:
		return field.ErrorList{field.Forbidden(path, "the TASMultiLayerTopology feature gate must be enabled to use this annotation")}
	}
	var errs field.ErrorList
	for _, other := range []string{kueue.PodSetSliceRequiredTopologyAnnotation, kueue.PodSetSliceSizeAnnotation} {
		if t.has(other) {
			errs = append(errs, field.Forbidden(path, fmt.Sprintf("may not be set when '%s' is specified", other)))
		}
	}
	var layers []layer
	if err := json.Unmarshal([]byte(value), &layers); err != nil {
		return append(errs, field.Invalid(path, value, "must be a valid JSON array: "+err.Error()))
	}
	if len(layers) < 1 || len(layers) > maxLayers {
		return append(errs, field.Invalid(path, value, fmt.Sprintf("topology constraints must contain between 1 and %d entries", maxLayers)))
	}
	for i := range layers {
		errs = append(errs, t.validateLayer(path.Index(i), layers, i)...)
	}
	return errs
}

// validateLayer validates one layer against the layers outside of it.
func (t templateMetadata) validateLayer(path *field.Path, layers []layer, i int) field.ErrorList {
	l := layers[i]
	errs := metav1validation.ValidateLabelName(l.Topology, path.Child("topology"))
	for j := range i {
		if layers[j].Topology == l.Topology {
			errs = append(errs, field.Duplicate(path.Child("topology"), fmt.Sprintf("%s (also at index %d)", l.Topology, j)))
			break
		}
	}
	size := path.Child("size")
	switch {
	case l.Size < 1:
		errs = append(errs, field.Invalid(size, l.Size, "must be greater than or equal to 1"))
	case i == 0 && l.Size > t.pods:
		errs = append(errs, field.Invalid(size, l.Size, fmt.Sprintf("must not be greater than pod set count %d", t.pods)))
	case i > 0 && layers[i-1].Size > 0 && layers[i-1].Size%l.Size != 0:
		errs = append(errs, field.Invalid(size, l.Size, fmt.Sprintf("must evenly divide the parent layer size %d", layers[i-1].Size)))
	}
	return errs
}
