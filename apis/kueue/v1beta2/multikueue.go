package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MultiKueueCluster is one worker cluster as a hub reaches it (contract: kueue-api.md 1.10).
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
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
	// clusterSource is where the credentials come from.
	// +required
	ClusterSource ClusterSource `json:"clusterSource"`
}

// ClusterSource is where credentials come from; exactly one member is set.
//
// +kubebuilder:validation:XValidation:rule="has(self.kubeConfig) != has(self.clusterProfileRef)",message="exactly one of the fields in [kubeConfig clusterProfileRef] must be set"
type ClusterSource struct {
	// kubeConfig is a Secret or a file.
	// +optional
	KubeConfig *KubeConfig `json:"kubeConfig,omitempty"`
	// clusterProfileRef is a ClusterProfile in the namespace of the hub.
	// +optional
	ClusterProfileRef *ClusterProfileReference `json:"clusterProfileRef,omitempty"`
}

// KubeConfig is where a kubeconfig is found.
type KubeConfig struct {
	// location is the name of a Secret in the namespace of the hub, whose key
	// "kubeconfig" is read, or the path of a file.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Location string `json:"location"`
	// locationType says what location is.
	// +optional
	// +kubebuilder:default=Secret
	LocationType LocationType `json:"locationType,omitempty"`
}

// LocationType is what the location of a kubeconfig is.
//
// +kubebuilder:validation:Enum=Secret;Path
type LocationType string

const (
	// SecretLocationType makes location the name of a Secret; also what empty means.
	SecretLocationType LocationType = "Secret"
	// PathLocationType makes location the path of a file.
	PathLocationType LocationType = "Path"
)

// ClusterProfileReference names a ClusterProfile of the cluster inventory API.
type ClusterProfileReference struct {
	// name of the ClusterProfile.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`
}

// MultiKueueClusterStatus says whether a worker cluster is connected.
type MultiKueueClusterStatus struct {
	// conditions are the latest observations; see MultiKueueClusterActive.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// MultiKueueConfig is the set of worker clusters of an admission check (contract: kueue-api.md 1.11).
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
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
	// clusters are names of MultiKueueClusters, the preferred first.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, x == y))",message="must be unique"
	Clusters []string `json:"clusters"`
	// quotaManagement says what keeps the quota of the hub; unset, it is Manual.
	// +optional
	QuotaManagement QuotaManagement `json:"quotaManagement,omitempty"`
}

// QuotaManagement is what keeps the quota of the hub's ClusterQueues: an administrator or the hub itself.
//
// +kubebuilder:validation:Enum=Manual;Automated
type QuotaManagement string

const (
	// QuotaManagementManual leaves the quota to the administrator.
	QuotaManagementManual QuotaManagement = "Manual"
	// QuotaManagementAutomated makes the quota the sum of the workers' quotas.
	QuotaManagementAutomated QuotaManagement = "Automated"
)
