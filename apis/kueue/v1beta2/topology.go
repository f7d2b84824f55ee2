package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Topology names the levels of a hierarchy of nodes (contract: kueue-api.md 1.7).
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Cluster,shortName=topo
type Topology struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec lists the levels.
	// +optional
	Spec TopologySpec `json:"spec,omitempty"`
}

// TopologyList is a list of Topologies.
//
// +kubebuilder:object:root=true
type TopologyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Topology `json:"items"`
}

// TopologySpec lists the levels of a hierarchy.
type TopologySpec struct {
	// levels from top to bottom. They can change only while the lowest level is
	// and stays kubernetes.io/hostname.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, x.nodeLabel == y.nodeLabel))",message="must be unique"
	// +kubebuilder:validation:XValidation:rule="size(self) < 2 || self.filter(x, x.nodeLabel == 'kubernetes.io/hostname').size() == 0 || self[size(self) - 1].nodeLabel == 'kubernetes.io/hostname'",message="the kubernetes.io/hostname label can only be used at the lowest level of topology"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf || (self[size(self) - 1].nodeLabel == 'kubernetes.io/hostname' && oldSelf[size(oldSelf) - 1].nodeLabel == 'kubernetes.io/hostname')",message="levels are mutable only when kubernetes.io/hostname is the lowest level both before and after the change"
	Levels []TopologyLevel `json:"levels"`
}

// TopologyLevel is one level of a hierarchy.
type TopologyLevel struct {
	// nodeLabel whose value tells the domains of the level apart.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern="^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
	NodeLabel string `json:"nodeLabel"`
}
