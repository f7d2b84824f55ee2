package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"switchyard.dev/apis/kueue/v1beta2"
)

// Workload is v1beta2.Workload with the priority class in two strings, a
// misspelled counter and topology assignments that are not compact.
//
// +kubebuilder:object:root=true
// +kubebuilder:deprecatedversion:warning="kueue.x-k8s.io/v1beta1 Workload is deprecated; use kueue.x-k8s.io/v1beta2 Workload"
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName={kwl,kueueworkload,kueueworkloads}
// +kubebuilder:printcolumn:name="Queue",JSONPath=".spec.queueName",type=string,description="Queue the workload was submitted to"
// +kubebuilder:printcolumn:name="Reserved in",JSONPath=".status.admission.clusterQueue",type=string,description="ClusterQueue in which quota is reserved"
// +kubebuilder:printcolumn:name="Admitted",JSONPath=".status.conditions[?(@.type=='Admitted')].status",type=string,description="Whether the workload is admitted"
// +kubebuilder:printcolumn:name="Finished",JSONPath=".status.conditions[?(@.type=='Finished')].status",type=string,description="Whether the workload has finished"
// +kubebuilder:printcolumn:name="Age",JSONPath=".metadata.creationTimestamp",type=date,description="Time since the workload was created"
// +kubebuilder:validation:XValidation:rule="!has(self.status) || !has(self.status.admission) || size(self.spec.podSets) == size(self.status.admission.podSetAssignments) || !has(self.status.conditions) || !self.status.conditions.exists(c, c.type == 'QuotaReserved' && c.status == 'True')",message="podSetAssignments must have the same number of podSets as the spec"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || (has(oldSelf.spec.priorityClassSource) && size(oldSelf.spec.priorityClassSource) > 0 ? oldSelf.spec.priorityClassSource : 'none') == (has(self.spec.priorityClassSource) && size(self.spec.priorityClassSource) > 0 ? self.spec.priorityClassSource : 'none') || !has(oldSelf.status.conditions) || !oldSelf.status.conditions.exists(c, c.type == 'QuotaReserved' && c.status == 'True')",message="priorityClassSource is immutable while workload quota reserved"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.spec.priorityClassSource) || oldSelf.spec.priorityClassSource != 'scheduling.k8s.io/priorityclass' || (has(oldSelf.spec.priorityClassName) && size(oldSelf.spec.priorityClassName) > 0 ? oldSelf.spec.priorityClassName : 'none') == (has(self.spec.priorityClassName) && size(self.spec.priorityClassName) > 0 ? self.spec.priorityClassName : 'none') || !has(oldSelf.status) || !has(oldSelf.status.conditions) || !oldSelf.status.conditions.exists(c, c.type == 'QuotaReserved' && c.status == 'True')",message="priorityClassName is immutable for scheduling.k8s.io/priorityclass while workload quota reserved"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || (has(oldSelf.spec.queueName) == has(self.spec.queueName) && (!has(self.spec.queueName) || oldSelf.spec.queueName == self.spec.queueName)) || !has(oldSelf.status.conditions) || !oldSelf.status.conditions.exists(c, c.type == 'QuotaReserved' && c.status == 'True') || !has(self.status) || !has(self.status.conditions) || !self.status.conditions.exists(c, c.type == 'QuotaReserved' && c.status == 'True')",message="queueName is immutable while workload quota reserved"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || (has(oldSelf.spec.maximumExecutionTimeSeconds) == has(self.spec.maximumExecutionTimeSeconds) && (!has(self.spec.maximumExecutionTimeSeconds) || oldSelf.spec.maximumExecutionTimeSeconds == self.spec.maximumExecutionTimeSeconds)) || !has(oldSelf.status.conditions) || !oldSelf.status.conditions.exists(c, c.type == 'Admitted' && c.status == 'True') || !has(self.status) || !has(self.status.conditions) || !self.status.conditions.exists(c, c.type == 'Admitted' && c.status == 'True')",message="maximumExecutionTimeSeconds is immutable while workload quota reserved"
type Workload struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the job asks for.
	// +optional
	Spec WorkloadSpec `json:"spec,omitempty"`
	// status is what has been decided and observed.
	// +optional
	Status WorkloadStatus `json:"status,omitempty"`
}

// WorkloadList is a list of Workloads.
//
// +kubebuilder:object:root=true
type WorkloadList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Workload `json:"items"`
}

// WorkloadSpec is what a job asks for.
//
// +kubebuilder:validation:XValidation:rule="!has(self.priorityClassName) || has(self.priority)",message="priority should not be nil when priorityClassName is set"
type WorkloadSpec struct {
	// podSets are the groups of identical pods that are admitted together.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=18
	PodSets []PodSet `json:"podSets"`

	// queueName is the LocalQueue, in the same namespace, that the workload waits in.
	// +optional
	QueueName v1beta2.LocalQueueName `json:"queueName,omitempty"`

	// priorityClassName is the class that priority was read from.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// priority orders the workload within its queues; higher is sooner.
	// +optional
	Priority *int32 `json:"priority,omitempty"`

	// priorityClassSource is the kind of the class; empty, priority is not tied to a class.
	// +optional
	// +kubebuilder:default=""
	// +kubebuilder:validation:Enum=kueue.x-k8s.io/workloadpriorityclass;scheduling.k8s.io/priorityclass;""
	PriorityClassSource string `json:"priorityClassSource,omitempty"`

	// active is false for a workload that must not be queued; an admitted one is evicted.
	// +optional
	// +kubebuilder:default=true
	Active *bool `json:"active,omitempty"`

	// maximumExecutionTimeSeconds is how long the workload may be admitted, in
	// seconds summed over all its admissions, before it is deactivated.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaximumExecutionTimeSeconds *int32 `json:"maximumExecutionTimeSeconds,omitempty"`
}

const (
	// WorkloadPriorityClassSource says that the class is a WorkloadPriorityClass.
	WorkloadPriorityClassSource = "kueue.x-k8s.io/workloadpriorityclass"
	// PodPriorityClassSource says that the class is a pod PriorityClass.
	PodPriorityClassSource = "scheduling.k8s.io/priorityclass"
)

// PodSet is a number of identical pods.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minCount) || self.minCount <= self.count",message="minCount should be positive and less or equal to count"
type PodSet struct {
	// name tells the pod set from the others of the workload.
	// +optional
	// +kubebuilder:default=main
	Name v1beta2.PodSetReference `json:"name,omitempty"`
	// template describes each pod.
	// +required
	Template corev1.PodTemplateSpec `json:"template"`
	// count is the number of pods.
	// +required
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Count int32 `json:"count"`
	// minCount is the least number of pods with which the job can run.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MinCount *int32 `json:"minCount,omitempty"`
	// topologyRequest says where the pods want to be placed relative to each other.
	// +optional
	TopologyRequest *PodSetTopologyRequest `json:"topologyRequest,omitempty"`
}

// PodSetTopologyRequest says where the pods of a pod set want to be placed.
type PodSetTopologyRequest struct {
	// required is the level within one domain of which all pods must fit.
	// +optional
	Required *string `json:"required,omitempty"`
	// preferred is the level within one domain of which all pods should fit.
	// +optional
	Preferred *string `json:"preferred,omitempty"`
	// unconstrained asks for topology aware placement without demanding a level.
	// +optional
	Unconstrained *bool `json:"unconstrained,omitempty"`
	// podIndexLabel is the pod label that holds the rank of a pod.
	// +optional
	PodIndexLabel *string `json:"podIndexLabel,omitempty"`
	// subGroupIndexLabel is the pod label that holds the index of the replicated job.
	// +optional
	SubGroupIndexLabel *string `json:"subGroupIndexLabel,omitempty"`
	// subGroupCount is the number of replicated jobs in the pod set.
	// +optional
	SubGroupCount *int32 `json:"subGroupCount,omitempty"`
	// podSetGroupName is shared by pod sets that must get the same flavor and domain.
	// +optional
	PodSetGroupName *string `json:"podSetGroupName,omitempty"`
	// podSetSliceRequiredTopology is the level within one domain of which each slice must fit.
	// +optional
	PodSetSliceRequiredTopology *string `json:"podSetSliceRequiredTopology,omitempty"`
	// podSetSliceSize is the number of pods in a slice.
	// +optional
	// +kubebuilder:validation:Minimum=1
	PodSetSliceSize *int32 `json:"podSetSliceSize,omitempty"`
}
