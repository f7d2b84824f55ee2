package v1beta2

// TopologyAssignment says in which domains the pods of a pod set are to be
// placed, in the compact encoding of contract: kueue-api.md 1.16.
//
// +kubebuilder:validation:XValidation:rule="self.slices.all(x, size(x.valuesPerLevel) == size(self.levels))",message="valuesPerLevel must have the same length as the number of levels in this TopologyAssignment"
type TopologyAssignment struct {
	// levels are the node labels of the levels, top to bottom; only the hostname
	// label when that is the lowest level.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=317
	Levels []string `json:"levels"`
	// slices together list every domain once, in order.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	Slices []TopologyAssignmentSlice `json:"slices"`
}

// TopologyAssignmentSlice encodes domainCount domains.
//
// +kubebuilder:validation:XValidation:rule="self.valuesPerLevel.all(x, !has(x.individual) || size(x.individual.roots) == self.domainCount)",message="valuesPerLevel.individual, if set, must have roots of length equal to domainCount of this TopologyAssignmentSlice"
// +kubebuilder:validation:XValidation:rule="!has(self.podCounts.individual) || size(self.podCounts.individual) == self.domainCount",message="podCounts.individual must have length equal to domainCount"
type TopologyAssignmentSlice struct {
	// domainCount is the number of domains in this slice.
	// +required
	// +kubebuilder:validation:Minimum=1
	DomainCount int32 `json:"domainCount"`
	// valuesPerLevel are the values of the node labels, one entry for each level.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	ValuesPerLevel []TopologyAssignmentSliceLevelValues `json:"valuesPerLevel"`
	// podCounts are the numbers of pods in the domains.
	// +required
	PodCounts TopologyAssignmentSlicePodCounts `json:"podCounts"`
}

// TopologyAssignmentSliceLevelValues are the values of one node label in the
// domains of a slice; exactly one member is set.
//
// +kubebuilder:validation:XValidation:rule="has(self.universal) != has(self.individual)",message="exactly one of the fields in [universal individual] must be set"
type TopologyAssignmentSliceLevelValues struct {
	// universal is the one value that all domains share.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Universal *string `json:"universal,omitempty"`
	// individual are values that differ.
	// +optional
	Individual *TopologyAssignmentSliceLevelIndividualValues `json:"individual,omitempty"`
}

// TopologyAssignmentSliceLevelIndividualValues encodes value i as prefix + roots[i] + suffix.
type TopologyAssignmentSliceLevelIndividualValues struct {
	// prefix that all values share.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Prefix *string `json:"prefix,omitempty"`
	// suffix that all values share.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Suffix *string `json:"suffix,omitempty"`
	// roots are the parts that differ, one for each domain.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100000
	// +kubebuilder:validation:items:MaxLength=63
	Roots []string `json:"roots"`
}

// TopologyAssignmentSlicePodCounts are the numbers of pods in the domains of a
// slice; exactly one member is set.
//
// +kubebuilder:validation:XValidation:rule="has(self.universal) != has(self.individual)",message="exactly one of the fields in [universal individual] must be set"
type TopologyAssignmentSlicePodCounts struct {
	// universal is the one number that all domains share.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Universal *int32 `json:"universal,omitempty"`
	// individual has one number for each domain.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100000
	// +kubebuilder:validation:items:Minimum=1
	Individual []int32 `json:"individual,omitempty"`
}
