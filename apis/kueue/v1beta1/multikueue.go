package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"switchyard.dev/apis/kueue/v1beta2"
)

// MultiKueueCluster is v1beta2.MultiKueueCluster with the members of its
// source side by side.
//
// +kubebuilder:object:root=true
// +kubebuilder:deprecatedversion:warning="kueue.x-k8s.io/v1beta1 MultiKueueCluster is deprecated; use kueue.x-k8s.io/v1beta2 MultiKueueCluster"
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=mkc
// +kubebuilder:printcolumn:name="Connected",JSONPath=".status.conditions[?(@.type=='Active')].status",type=string,description="Whether the cluster is connected"
// +kubebuilder:printcolumn:name="Age",JSONPath=".metadata.creationTimestamp",type=date,description="Time since the cluster was added"
type MultiKueueCluster struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says how the cluster is reached.
	// +optional
	Spec MultiKueueClusterSpec `json:"spec,omitempty"`
	// status says whether the cluster is connected.
	// +optional
	Status MultiKueueClusterStatus `json:"status,omitempty"`
}

// MultiKueueClusterList is a list of MultiKueueClusters.
//
// +kubebuilder:object:root=true
type MultiKueueClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MultiKueueCluster `json:"items"`
}

// MultiKueueClusterSpec says how a worker cluster is reached.
type MultiKueueClusterSpec struct {
	// kubeConfig is a Secret or a file; its location is empty when there is none.
	// +required
	KubeConfig KubeConfig `json:"kubeConfig"`
	// clusterProfileRef is a ClusterProfile in the namespace of the hub.
	// +optional
	ClusterProfileRef *v1beta2.ClusterProfileReference `json:"clusterProfileRef,omitempty"`
}

// KubeConfig is where a kubeconfig is found.
type KubeConfig struct {
	// location is the name of a Secret in the namespace of the hub, or the path of a file.
	// +required
	Location string `json:"location"`
	// locationType says what location is.
	// +required
	// +kubebuilder:default=Secret
	LocationType v1beta2.LocationType `json:"locationType"`
}

// MultiKueueClusterStatus says whether a worker cluster is connected.
type MultiKueueClusterStatus struct {
	// conditions are the latest observations.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// MultiKueueConfig is v1beta2.MultiKueueConfig with a set of clusters. It is
// the one kind whose v1beta1 is not deprecated.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=mkconf
type MultiKueueConfig struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec lists the clusters.
	// +optional
	Spec MultiKueueConfigSpec `json:"spec,omitempty"`
}

// MultiKueueConfigList is a list of MultiKueueConfigs.
//
// +kubebuilder:object:root=true
type MultiKueueConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MultiKueueConfig `json:"items"`
}

// MultiKueueConfigSpec lists the worker clusters of an admission check.
type MultiKueueConfigSpec struct {
	// clusters are names of MultiKueueClusters.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	Clusters []string `json:"clusters"`
}
