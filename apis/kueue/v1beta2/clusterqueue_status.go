package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterQueueStatus is the present use of a ClusterQueue (contract: kueue-api.md 1.18).
type ClusterQueueStatus struct {
	// conditions are the latest observations; see the ClusterQueue... condition types.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// flavorsReservation is the usage of all workloads that hold quota.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	FlavorsReservation []FlavorUsage `json:"flavorsReservation,omitempty"`
	// flavorsUsage is the usage of admitted workloads.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	FlavorsUsage []FlavorUsage `json:"flavorsUsage,omitempty"`
	// pendingWorkloads is the number of workloads that wait.
	// +optional
	PendingWorkloads int32 `json:"pendingWorkloads"`
	// reservingWorkloads is the number of workloads that hold quota.
	// +optional
	ReservingWorkloads int32 `json:"reservingWorkloads"`
	// admittedWorkloads is the number of admitted workloads that have not finished.
	// +optional
	AdmittedWorkloads int32 `json:"admittedWorkloads"`
	// fairSharing is the present share; only with fair sharing on.
	// +optional
	FairSharing *FairSharingStatus `json:"fairSharing,omitempty"`
}

// FlavorUsage is the usage of one flavor.
type FlavorUsage struct {
	// name of the ResourceFlavor.
	// +required
	Name ResourceFlavorReference `json:"name"`
	// resources are the usages of the resources.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Resources []ResourceUsage `json:"resources"`
}

// ResourceUsage is the usage of one resource in one flavor.
type ResourceUsage struct {
	// name of the resource.
	// +required
	Name corev1.ResourceName `json:"name"`
	// total usage, borrowed part included.
	// +optional
	Total resource.Quantity `json:"total,omitempty"`
	// borrowed is the part above the nominal quota.
	// +optional
	Borrowed resource.Quantity `json:"borrowed,omitempty"`
}
