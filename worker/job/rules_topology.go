package job

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// ValidateTopology says what pod sets say wrong about topology that those before them, if any, did not say in the same way (contract:
// job-kinds.md 1.4). metadata is the path of the metadata of a pod set's template.
func ValidateTopology(now, before []kueue.PodSet, metadata func(kueue.PodSetReference) *field.Path, gates Gates) field.ErrorList {
	if !gates.Topology {
		return nil
	}
	of := func(sets []kueue.PodSet) field.ErrorList {
		templates := make([]templateMetadata, len(sets))
		for i := range sets {
			templates[i] = templateMetadata{
				path: metadata(sets[i].Name).Child("annotations"), values: sets[i].Template.Annotations, pods: sets[i].Count,
			}
		}
		return validateTopology(templates, gates, true)
	}
	return newErrors(of(now), of(before))
}
