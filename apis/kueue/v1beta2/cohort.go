package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Cohort is a node of the tree of quota: ClusterQueues and Cohorts under it
// lend to each other and share what it owns itself (contract: kueue-api.md 1.5).
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
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
	// parentName is the parent cohort; empty for a root. A cycle makes the queues
	// of the tree inactive.
	// +optional
	ParentName CohortReference `json:"parentName,omitempty"`
	// resourceGroups are quotas shared by all members. Limits need a parent.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	ResourceGroups []ResourceGroup `json:"resourceGroups,omitempty"`
	// fairSharing are the settings of the cohort among its siblings.
	// +optional
	FairSharing *FairSharing `json:"fairSharing,omitempty"`
}

// CohortStatus is the present share of a cohort.
type CohortStatus struct {
	// fairSharing is the present share; only with fair sharing on.
	// +optional
	FairSharing *FairSharingStatus `json:"fairSharing,omitempty"`
}
