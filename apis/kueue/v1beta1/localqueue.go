package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"switchyard.dev/apis/kueue/v1beta2"
)

// LocalQueue is v1beta2.LocalQueue with another name for a part of its status
// and a list of flavors.
//
// +kubebuilder:object:root=true
// +kubebuilder:deprecatedversion:warning="kueue.x-k8s.io/v1beta1 LocalQueue is deprecated; use kueue.x-k8s.io/v1beta2 LocalQueue"
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
	Spec v1beta2.LocalQueueSpec `json:"spec,omitempty"`
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

// LocalQueueStatus is the present use through a LocalQueue.
type LocalQueueStatus struct {
	// conditions are the latest observations.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// pendingWorkloads is the number of workloads that wait.
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
	FlavorsReservation []v1beta2.LocalQueueFlavorUsage `json:"flavorsReservation,omitempty"`
	// flavorUsage is the usage of admitted workloads.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	FlavorUsage []v1beta2.LocalQueueFlavorUsage `json:"flavorUsage,omitempty"`
	// flavors is kept for old clients and always empty.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Flavors []LocalQueueFlavorStatus `json:"flavors,omitempty"`
	// fairSharing is the present share.
	// +optional
	FairSharing *v1beta2.LocalQueueFairSharingStatus `json:"fairSharing,omitempty"`
}

// LocalQueueFlavorStatus described a flavor of the queue.
type LocalQueueFlavorStatus struct {
	// name of the ResourceFlavor.
	// +required
	Name v1beta2.ResourceFlavorReference `json:"name"`
	// resources that the flavor has quota of.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Resources []corev1.ResourceName `json:"resources,omitempty"`
	// nodeLabels of the flavor.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=8
	NodeLabels map[string]string `json:"nodeLabels,omitempty"`
	// nodeTaints of the flavor.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	NodeTaints []corev1.Taint `json:"nodeTaints,omitempty"`
	// topology of the flavor.
	// +optional
	Topology *TopologyInfo `json:"topology,omitempty"`
}

// TopologyInfo described the topology of a flavor.
type TopologyInfo struct {
	// name of the Topology.
	// +required
	Name v1beta2.TopologyReference `json:"name"`
	// levels of the Topology.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Levels []string `json:"levels"`
}
