package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AdmissionCheck is v1beta2.AdmissionCheck with weaker bounds and a delay that
// is ignored.
//
// +kubebuilder:object:root=true
// +kubebuilder:deprecatedversion:warning="kueue.x-k8s.io/v1beta1 AdmissionCheck is deprecated; use kueue.x-k8s.io/v1beta2 AdmissionCheck"
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=ac
type AdmissionCheck struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec names the controller and its parameters.
	// +optional
	Spec AdmissionCheckSpec `json:"spec,omitempty"`
	// status says whether the check can be used.
	// +optional
	Status AdmissionCheckStatus `json:"status,omitempty"`
}

// AdmissionCheckList is a list of AdmissionChecks.
//
// +kubebuilder:object:root=true
type AdmissionCheckList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AdmissionCheck `json:"items"`
}

// AdmissionCheckSpec names the controller of a check and its parameters.
type AdmissionCheckSpec struct {
	// controllerName is the controller that processes the check; immutable.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="field is immutable"
	ControllerName string `json:"controllerName"`
	// retryDelayMinutes is ignored.
	// +optional
	// +kubebuilder:default=15
	RetryDelayMinutes *int64 `json:"retryDelayMinutes,omitempty"`
	// parameters refers to an object that configures the controller for this check.
	// +optional
	Parameters *AdmissionCheckParametersReference `json:"parameters,omitempty"`
}

// AdmissionCheckParametersReference refers to an object of any kind.
type AdmissionCheckParametersReference struct {
	// apiGroup of the object.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
	APIGroup string `json:"apiGroup"`
	// kind of the object.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern="^(?i)[a-z]([-a-z0-9]*[a-z0-9])?$"
	Kind string `json:"kind"`
	// name of the object.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
	Name string `json:"name"`
}

// AdmissionCheckStatus says whether a check can be used.
type AdmissionCheckStatus struct {
	// conditions are the latest observations.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
