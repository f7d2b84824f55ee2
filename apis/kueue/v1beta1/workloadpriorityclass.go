package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// WorkloadPriorityClass is v1beta2.WorkloadPriorityClass without a bound on its description.
//
// +kubebuilder:object:root=true
// +kubebuilder:deprecatedversion:warning="kueue.x-k8s.io/v1beta1 WorkloadPriorityClass is deprecated; use kueue.x-k8s.io/v1beta2 WorkloadPriorityClass"
// +kubebuilder:resource:scope=Cluster,shortName=wpc
// +kubebuilder:printcolumn:name="Value",JSONPath=".value",type=integer,description="Priority of the class"
type WorkloadPriorityClass struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// value is the priority; higher is sooner.
	// +required
	Value int32 `json:"value"`
	// description says when to use the class.
	// +optional
	Description string `json:"description,omitempty"`
}

// WorkloadPriorityClassList is a list of WorkloadPriorityClasses.
//
// +kubebuilder:object:root=true
type WorkloadPriorityClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []WorkloadPriorityClass `json:"items"`
}
