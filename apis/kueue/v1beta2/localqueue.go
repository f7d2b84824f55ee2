package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LocalQueue is the way of one namespace to a ClusterQueue (contract: kueue-api.md 1.4).
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName={queue,queues,lq}
// +kubebuilder:printcolumn:name="ClusterQueue",JSONPath=".spec.clusterQueue",type=string,description="ClusterQueue behind the queue"
// +kubebuilder:printcolumn:name="Pending Workloads",JSONPath=".status.pendingWorkloads",type=integer,description="Number of waiting workloads"
// +kubebuilder:printcolumn:name="Admitted Workloads",JSONPath=".status.admittedWorkloads",type=integer,description="Number of admitted workloads that have not finished"
type LocalQueue struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec names the ClusterQueue.
	// +optional
	Spec LocalQueueSpec `json:"spec,omitempty"`
	// status is the present use through this queue.
	// +optional
	Status LocalQueueStatus `json:"status,omitempty"`
}

// LocalQueueList is a list of LocalQueues.
//
// +kubebuilder:object:root=true
type LocalQueueList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LocalQueue `json:"items"`
}

// LocalQueueSpec names the ClusterQueue behind a LocalQueue.
type LocalQueueSpec struct {
	// clusterQueue is the ClusterQueue behind the queue; immutable.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="field is immutable"
	ClusterQueue ClusterQueueReference `json:"clusterQueue,omitempty"`
	// stopPolicy stops the queue.
	// +optional
	// +kubebuilder:default=None
	StopPolicy StopPolicy `json:"stopPolicy,omitempty"`
	// fairSharing are the settings of the queue when past use orders admissions.
	// +optional
	FairSharing *FairSharing `json:"fairSharing,omitempty"`
}

// LocalQueueStatus is the present use through a LocalQueue (contract: kueue-api.md 1.18).
type LocalQueueStatus struct {
	// conditions are the latest observations; see LocalQueueActive.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// pendingWorkloads is the number of workloads that wait; 0 while the queue is stopped.
	// +optional
	PendingWorkloads int32 `json:"pendingWorkloads"`
	// reservingWorkloads is the number of workloads that hold quota.
	// +optional
	ReservingWorkloads int32 `json:"reservingWorkloads"`
	// admittedWorkloads is the number of admitted workloads that have not finished.
	// +optional
	AdmittedWorkloads int32 `json:"admittedWorkloads"`
	// flavorsReservation is the usage of all workloads that hold quota.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	FlavorsReservation []LocalQueueFlavorUsage `json:"flavorsReservation,omitempty"`
	// flavorsUsage is the usage of admitted workloads.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	FlavorsUsage []LocalQueueFlavorUsage `json:"flavorsUsage,omitempty"`
	// fairSharing is the present share.
	// +optional
	FairSharing *LocalQueueFairSharingStatus `json:"fairSharing,omitempty"`
}

// LocalQueueFlavorUsage is the usage of one flavor through a LocalQueue.
type LocalQueueFlavorUsage struct {
	// name of the ResourceFlavor.
	// +required
	Name ResourceFlavorReference `json:"name"`
	// resources are the usages of the resources.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Resources []LocalQueueResourceUsage `json:"resources"`
}

// LocalQueueResourceUsage is the usage of one resource in one flavor.
type LocalQueueResourceUsage struct {
	// name of the resource.
	// +required
	Name corev1.ResourceName `json:"name"`
	// total usage.
	// +optional
	Total resource.Quantity `json:"total,omitempty"`
}
