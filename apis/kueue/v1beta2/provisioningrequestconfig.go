package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ProvisioningRequestConfig says how a check makes ProvisioningRequests (contract: kueue-api.md 1.12).
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
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
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
	ProvisioningClassName string `json:"provisioningClassName"`
	// parameters are passed to the class.
	// +optional
	// +kubebuilder:validation:MaxProperties=100
	Parameters map[string]Parameter `json:"parameters,omitempty"`
	// managedResources restricts requests to pod sets that ask for one of these; empty, all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	ManagedResources []corev1.ResourceName `json:"managedResources,omitempty"`
	// retryStrategy is what happens after a failed request.
	// +optional
	// +kubebuilder:default={backoffLimitCount:3,backoffBaseSeconds:60,backoffMaxSeconds:1800}
	RetryStrategy *ProvisioningRequestRetryStrategy `json:"retryStrategy,omitempty"`
	// podSetUpdates are added to pods from the details of a provisioned request.
	// +optional
	PodSetUpdates *ProvisioningRequestPodSetUpdates `json:"podSetUpdates,omitempty"`
	// podSetMergePolicy says which pod sets share an entry of the request; unset, none.
	// +optional
	PodSetMergePolicy ProvisioningRequestConfigPodSetMergePolicy `json:"podSetMergePolicy,omitempty"`
}

// Parameter is the value of a parameter of a provisioning class.
//
// +kubebuilder:validation:MaxLength=255
type Parameter string

// ProvisioningRequestRetryStrategy is what happens after a failed request.
type ProvisioningRequestRetryStrategy struct {
	// backoffLimitCount is the number of attempts after the first; 0 for none.
	// +optional
	// +kubebuilder:default=3
	BackoffLimitCount *int32 `json:"backoffLimitCount,omitempty"`
	// backoffBaseSeconds is the delay, in seconds, before the second attempt; it
	// doubles with each.
	// +optional
	// +kubebuilder:default=60
	BackoffBaseSeconds *int32 `json:"backoffBaseSeconds,omitempty"`
	// backoffMaxSeconds bounds the delay, in seconds.
	// +optional
	// +kubebuilder:default=1800
	BackoffMaxSeconds *int32 `json:"backoffMaxSeconds,omitempty"`
}

// ProvisioningRequestPodSetUpdates are added to pods after provisioning.
type ProvisioningRequestPodSetUpdates struct {
	// nodeSelector entries to add.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MaxItems=8
	NodeSelector []ProvisioningRequestPodSetUpdatesNodeSelector `json:"nodeSelector,omitempty"`
}

// ProvisioningRequestPodSetUpdatesNodeSelector is one entry of a node selector.
type ProvisioningRequestPodSetUpdatesNodeSelector struct {
	// key of the entry.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern="^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
	Key string `json:"key"`
	// valueFromProvisioningClassDetail is the detail of the request that holds the value.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	ValueFromProvisioningClassDetail string `json:"valueFromProvisioningClassDetail"`
}

// ProvisioningRequestConfigPodSetMergePolicy is which pod sets share an entry of a request.
//
// +kubebuilder:validation:Enum=IdenticalPodTemplates;IdenticalWorkloadSchedulingRequirements
type ProvisioningRequestConfigPodSetMergePolicy string

const (
	// IdenticalPodTemplates merges pod sets whose templates are equal.
	IdenticalPodTemplates ProvisioningRequestConfigPodSetMergePolicy = "IdenticalPodTemplates"
	// IdenticalWorkloadSchedulingRequirements merges pod sets that ask the same of the scheduler.
	IdenticalWorkloadSchedulingRequirements ProvisioningRequestConfigPodSetMergePolicy = "IdenticalWorkloadSchedulingRequirements"
)
