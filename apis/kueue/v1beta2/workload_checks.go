package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CheckState is the answer of one admission check.
//
// +kubebuilder:validation:Enum=Pending;Ready;Retry;Rejected
type CheckState string

const (
	// CheckStatePending means the check has not answered yet.
	CheckStatePending CheckState = "Pending"
	// CheckStateReady means the check lets the workload be admitted.
	CheckStateReady CheckState = "Ready"
	// CheckStateRetry means the workload must give its quota back and may try again.
	CheckStateRetry CheckState = "Retry"
	// CheckStateRejected means the workload will never pass and is deactivated.
	CheckStateRejected CheckState = "Rejected"
)

// AdmissionCheckState is the state of one admission check for one workload.
type AdmissionCheckState struct {
	// name of the AdmissionCheck.
	// +required
	Name AdmissionCheckReference `json:"name"`
	// state is the answer of the check.
	// +required
	State CheckState `json:"state"`
	// lastTransitionTime is when state changed last.
	// +required
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
	// message explains the state; it may be empty.
	// +required
	// +kubebuilder:validation:MaxLength=32768
	Message string `json:"message"`
	// requeueAfterSeconds is, with state Retry, the least delay in seconds before
	// the workload is queued again.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RequeueAfterSeconds *int32 `json:"requeueAfterSeconds,omitempty"`
	// retryCount is how often the check has answered Retry.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RetryCount *int32 `json:"retryCount,omitempty"`
	// podSetUpdates are merged into the pods when the job starts; they cannot
	// change while the check stays Ready.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=18
	PodSetUpdates []PodSetUpdate `json:"podSetUpdates,omitempty"`
}

// PodSetUpdate is what a check adds to the pods of one pod set.
type PodSetUpdate struct {
	// name of the pod set.
	// +required
	Name PodSetReference `json:"name"`
	// labels to add.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// annotations to add.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// nodeSelector entries to add.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// tolerations to add.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(x, (has(x.key) && x.key != '') || (has(x.operator) && x.operator == 'Exists'))",message="operator must be Exists when 'key' is empty, which means 'match all values and all keys'"
	// +kubebuilder:validation:XValidation:rule="self.all(x, !has(x.tolerationSeconds) || (has(x.effect) && x.effect == 'NoExecute'))",message="effect must be 'NoExecute' when 'tolerationSeconds' is set"
	// +kubebuilder:validation:XValidation:rule="self.all(x, !has(x.operator) || x.operator in ['', 'Equal', 'Exists'])",message="supported toleration values: 'Equal'(default), 'Exists'"
	// +kubebuilder:validation:XValidation:rule="self.all(x, !has(x.operator) || x.operator != 'Exists' || !has(x.value) || x.value == '')",message="a value must be empty when 'operator' is 'Exists'"
	// +kubebuilder:validation:XValidation:rule="self.all(x, !has(x.effect) || x.effect in ['', 'NoSchedule', 'PreferNoSchedule', 'NoExecute'])",message="supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'"
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}
