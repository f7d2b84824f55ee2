package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"switchyard.dev/apis/kueue/v1beta2"
)

// Cohort is v1beta2.Cohort with more in its status.
//
// +kubebuilder:object:root=true
// +kubebuilder:deprecatedversion:warning="kueue.x-k8s.io/v1beta1 Cohort is deprecated; use kueue.x-k8s.io/v1beta2 Cohort"
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=co
type Cohort struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the place in the tree and the quota owned.
	// +optional
	Spec CohortSpec `json:"spec,omitempty"`
	// status is the present share.
	// +optional
	Status CohortStatus `json:"status,omitempty"`
}

// CohortList is a list of Cohorts.
//
// +kubebuilder:object:root=true
type CohortList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Cohort `json:"items"`
}

// CohortSpec is the place of a cohort in the tree and the quota it owns.
type CohortSpec struct {
	// parentName is the parent cohort; empty for a root.
	// +optional
	ParentName v1beta2.CohortReference `json:"parentName,omitempty"`
	// resourceGroups are quotas shared by all members.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	ResourceGroups []ResourceGroup `json:"resourceGroups,omitempty"`
	// fairSharing are the settings of the cohort among its siblings.
	// +optional
	FairSharing *v1beta2.FairSharing `json:"fairSharing,omitempty"`
}

// CohortStatus is the present share of a cohort.
type CohortStatus struct {
	// fairSharing is the present share.
	// +optional
	FairSharing *FairSharingStatus `json:"fairSharing,omitempty"`
}
