package webhook

import "switchyard.dev/apis/config/features"

// Gates are the features that change what is admitted. The zero Gates have all of
// them off.
type Gates struct {
	// PartialAdmission keeps minCount.
	PartialAdmission bool
	// Elastic lets workloads with the annotation elastic-job shrink.
	Elastic bool
	// StrictOnFlavors refuses updates of a ClusterQueue that keep names of flavors
	// it does not have.
	StrictOnFlavors bool
	// NonNegativeResources refuses negative requests and limits.
	NonNegativeResources bool
	// PodSetMetadata refuses labels and annotations that pods could not have.
	PodSetMetadata bool
	// SliceSize refuses slices smaller than one pod or greater than the pod set.
	SliceSize bool
	// AdmissionGatedBy guards the annotation admission-gated-by.
	AdmissionGatedBy bool
	// Variants judges policies to race a workload in several flavors.
	Variants bool
	// PriorityBoost refuses values of the annotation priority-boost that are no number.
	PriorityBoost bool
}

// NewGates resolves the gates from the feature gates.
func NewGates(set features.Set) Gates {
	return Gates{
		PartialAdmission:     set.Enabled(features.PartialAdmission),
		Elastic:              set.Enabled(features.ElasticJobsViaWorkloadSlices),
		StrictOnFlavors:      set.Enabled(features.RejectUpdatesToCQWithInvalidOnFlavors),
		NonNegativeResources: set.Enabled(features.WorkloadValidateResourcesAreNonNegative),
		PodSetMetadata:       set.Enabled(features.WorkloadValidationForPodSetMetadata),
		SliceSize:            set.Enabled(features.TASValidateWorkloadSliceSize),
		AdmissionGatedBy:     set.Enabled(features.AdmissionGatedBy),
		Variants:             set.Enabled(features.ConcurrentAdmission),
		PriorityBoost:        set.Enabled(features.PriorityBoost),
	}
}
