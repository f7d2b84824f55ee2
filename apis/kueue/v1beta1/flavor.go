package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"switchyard.dev/apis/kueue/v1beta2"
)

// ResourceFlavor is v1beta2.ResourceFlavor.
//
// +kubebuilder:object:root=true
// +kubebuilder:deprecatedversion:warning="kueue.x-k8s.io/v1beta1 ResourceFlavor is deprecated; use kueue.x-k8s.io/v1beta2 ResourceFlavor"
// +kubebuilder:resource:scope=Cluster,shortName={flavor,flavors,rf}
type ResourceFlavor struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec describes the nodes.
	// +optional
	Spec v1beta2.ResourceFlavorSpec `json:"spec,omitempty"`
}

// ResourceFlavorList is a list of ResourceFlavors.
//
// +kubebuilder:object:root=true
type ResourceFlavorList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ResourceFlavor `json:"items"`
}

// Topology is v1beta2.Topology with levels that never change.
//
// +kubebuilder:object:root=true
// +kubebuilder:deprecatedversion:warning="kueue.x-k8s.io/v1beta1 Topology is deprecated; use kueue.x-k8s.io/v1beta2 Topology"
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
	// levels from top to bottom; immutable.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, x.nodeLabel == y.nodeLabel))",message="must be unique"
	// +kubebuilder:validation:XValidation:rule="size(self) < 2 || self.filter(x, x.nodeLabel == 'kubernetes.io/hostname').size() == 0 || self[size(self) - 1].nodeLabel == 'kubernetes.io/hostname'",message="the kubernetes.io/hostname label can only be used at the lowest level of topology"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="field is immutable"
	Levels []v1beta2.TopologyLevel `json:"levels"`
}
