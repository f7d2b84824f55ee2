package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"switchyard.dev/apis/kueue/v1beta2"
)

// ProvisioningRequestConfig is v1beta2.ProvisioningRequestConfig with weaker bounds.
//
// +kubebuilder:object:root=true
// +kubebuilder:deprecatedversion:warning="kueue.x-k8s.io/v1beta1 ProvisioningRequestConfig is deprecated; use kueue.x-k8s.io/v1beta2 ProvisioningRequestConfig"
// +kubebuilder:resource:scope=Cluster,shortName=prc
type ProvisioningRequestConfig struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what to request and how often.
	// +optional
	Spec ProvisioningRequestConfigSpec `json:"spec,omitempty"`
}

// ProvisioningRequestConfigList is a list of ProvisioningRequestConfigs.
//
// +kubebuilder:object:root=true
type ProvisioningRequestConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ProvisioningRequestConfig `json:"items"`
}

// ProvisioningRequestConfigSpec says what to request and how often.
type ProvisioningRequestConfigSpec struct {
	// provisioningClassName is the class of the requests.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
	ProvisioningClassName string `json:"provisioningClassName"`
	// parameters are passed to the class.
	// +optional
	// +kubebuilder:validation:MaxProperties=100
	Parameters map[string]v1beta2.Parameter `json:"parameters,omitempty"`
	// managedResources restricts requests to pod sets that ask for one of these; empty, all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	ManagedResources []corev1.ResourceName `json:"managedResources,omitempty"`
	// retryStrategy is what happens after a failed request.
	// +optional
	// +kubebuilder:default={backoffLimitCount:3,backoffBaseSeconds:60,backoffMaxSeconds:1800}
	RetryStrategy *v1beta2.ProvisioningRequestRetryStrategy `json:"retryStrategy,omitempty"`
	// podSetUpdates are added to pods from the details of a provisioned request.
	// +optional
	PodSetUpdates *ProvisioningRequestPodSetUpdates `json:"podSetUpdates,omitempty"`
	// podSetMergePolicy says which pod sets share an entry of the request; unset, none.
	// +optional
	PodSetMergePolicy v1beta2.ProvisioningRequestConfigPodSetMergePolicy `json:"podSetMergePolicy,omitempty"`
}

// ProvisioningRequestPodSetUpdates are added to pods after provisioning.
type ProvisioningRequestPodSetUpdates struct {
	// nodeSelector entries to add.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	NodeSelector []v1beta2.ProvisioningRequestPodSetUpdatesNodeSelector `json:"nodeSelector,omitempty"`
}
