package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Workload is one unit of admission: the pod sets of a job, the queue they wait
// in and, in its status, what has been decided about them (contract: kueue-api.md 1.2).
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName={kwl,kueueworkload,kueueworkloads}
// +kubebuilder:selectablefield:JSONPath=".status.admission.clusterQueue"
// +kubebuilder:printcolumn:name="Queue",JSONPath=".spec.queueName",type=string,description="Queue the workload was submitted to"
// +kubebuilder:printcolumn:name="Reserved in",JSONPath=".status.admission.clusterQueue",type=string,description="ClusterQueue in which quota is reserved"
// +kubebuilder:printcolumn:name="Admitted",JSONPath=".status.conditions[?(@.type=='Admitted')].status",type=string,description="Whether the workload is admitted"
// +kubebuilder:printcolumn:name="Finished",JSONPath=".status.conditions[?(@.type=='Finished')].status",type=string,description="Whether the workload has finished"
// +kubebuilder:printcolumn:name="Age",JSONPath=".metadata.creationTimestamp",type=date,description="Time since the workload was created"
// +kubebuilder:validation:XValidation:rule="!has(self.status) || !has(self.status.admission) || (has(self.spec.podSets) ? size(self.spec.podSets) : 0) == (has(self.status.admission.podSetAssignments) ? size(self.status.admission.podSetAssignments) : 0) || !has(self.status.conditions) || !self.status.conditions.exists(c, c.type == 'QuotaReserved' && c.status == 'True')",message="podSetAssignments must have the same number of podSets as the spec"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || has(oldSelf.spec.priorityClassRef) == has(self.spec.priorityClassRef) || !has(oldSelf.status.conditions) || !oldSelf.status.conditions.exists(c, c.type == 'QuotaReserved' && c.status == 'True')",message="priorityClassRef is immutable while workload quota reserved"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.spec.priorityClassRef) || !has(self.spec.priorityClassRef) || oldSelf.spec.priorityClassRef.group == self.spec.priorityClassRef.group || !has(oldSelf.status) || !has(oldSelf.status.conditions) || !oldSelf.status.conditions.exists(c, c.type == 'QuotaReserved' && c.status == 'True')",message="priorityClassRef.group is immutable while workload quota reserved"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.spec.priorityClassRef) || !has(self.spec.priorityClassRef) || oldSelf.spec.priorityClassRef.kind == self.spec.priorityClassRef.kind || !has(oldSelf.status) || !has(oldSelf.status.conditions) || !oldSelf.status.conditions.exists(c, c.type == 'QuotaReserved' && c.status == 'True')",message="priorityClassRef.kind is immutable while workload quota reserved"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.spec.priorityClassRef) || !has(self.spec.priorityClassRef) || oldSelf.spec.priorityClassRef.kind != 'PriorityClass' || oldSelf.spec.priorityClassRef.name == self.spec.priorityClassRef.name || !has(oldSelf.status) || !has(oldSelf.status.conditions) || !oldSelf.status.conditions.exists(c, c.type == 'QuotaReserved' && c.status == 'True')",message="priorityClassRef.name is immutable for scheduling.k8s.io/priorityclass while workload quota reserved"
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
// +kubebuilder:validation:XValidation:rule="!has(self.priorityClassRef) || has(self.priority)",message="priority should not be nil when priorityClassRef is set"
type WorkloadSpec struct {
	// podSets are the groups of identical pods that are admitted together.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=18
	PodSets []PodSet `json:"podSets,omitempty"`

	// queueName is the LocalQueue, in the same namespace, that the workload waits in.
	// It cannot change while quota is reserved.
	// +optional
	QueueName LocalQueueName `json:"queueName,omitempty"`

	// priorityClassRef names the class that priority was read from; without it,
	// priority is not tied to a class.
	// +optional
	PriorityClassRef *PriorityClassRef `json:"priorityClassRef,omitempty"`

	// priority orders the workload within its queues; higher is sooner.
	// +optional
	Priority *int32 `json:"priority,omitempty"`

	// active is false for a workload that must not be queued; an admitted one is evicted.
	// +optional
	// +kubebuilder:default=true
	Active *bool `json:"active,omitempty"`

	// maximumExecutionTimeSeconds is how long the workload may be admitted, in
	// seconds summed over all its admissions, before it is deactivated.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaximumExecutionTimeSeconds *int32 `json:"maximumExecutionTimeSeconds,omitempty"`

	// preemptionGates must all be Open in the status before the workload may preempt.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	PreemptionGates []PreemptionGate `json:"preemptionGates,omitempty"`
}

// PriorityClassRef names a class of one of two kinds.
//
// +kubebuilder:validation:XValidation:rule="self.group != 'kueue.x-k8s.io' || self.kind == 'WorkloadPriorityClass'",message="only the WorkloadPriorityClass kind is allowed for the kueue.x-k8s.io group"
// +kubebuilder:validation:XValidation:rule="self.group != 'scheduling.k8s.io' || self.kind == 'PriorityClass'",message="only the PriorityClass kind is allowed for the scheduling.k8s.io group"
type PriorityClassRef struct {
	// group is the API group of the class.
	// +required
	// +kubebuilder:validation:Enum=kueue.x-k8s.io;scheduling.k8s.io
	Group string `json:"group"`
	// kind is the kind of the class.
	// +required
	// +kubebuilder:validation:Enum=WorkloadPriorityClass;PriorityClass
	Kind string `json:"kind"`
	// name is the name of the class.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
	Name string `json:"name"`
}

const (
	// WorkloadPriorityClassGroup is the group of a WorkloadPriorityClass in a PriorityClassRef.
	WorkloadPriorityClassGroup = GroupName
	// WorkloadPriorityClassKind is the kind of a WorkloadPriorityClass in a PriorityClassRef.
	WorkloadPriorityClassKind = "WorkloadPriorityClass"
	// PodPriorityClassGroup is the group of a pod PriorityClass in a PriorityClassRef.
	PodPriorityClassGroup = "scheduling.k8s.io"
	// PodPriorityClassKind is the kind of a pod PriorityClass in a PriorityClassRef.
	PodPriorityClassKind = "PriorityClass"
)

// PodSet is a number of identical pods.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minCount) || self.minCount <= self.count",message="minCount should be positive and less or equal to count"
type PodSet struct {
	// name tells the pod set from the others of the workload.
	// +optional
	// +kubebuilder:default=main
	Name PodSetReference `json:"name,omitempty"`

	// template describes each pod.
	// +required
	Template corev1.PodTemplateSpec `json:"template"`

	// count is the number of pods.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Count int32 `json:"count"`

	// minCount is the least number of pods with which the job can run (partial
	// admission); absent, all of them are needed.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MinCount *int32 `json:"minCount,omitempty"`

	// topologyRequest says where the pods want to be placed relative to each other.
	// +optional
	TopologyRequest *PodSetTopologyRequest `json:"topologyRequest,omitempty"`
}

// PodSetTopologyRequest says where the pods of a pod set want to be placed.
type PodSetTopologyRequest struct {
	// required is the node label of the level within one domain of which all pods must fit.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Required *string `json:"required,omitempty"`
	// preferred is the node label of the level within one domain of which all pods should fit.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Preferred *string `json:"preferred,omitempty"`
	// unconstrained asks for topology aware placement without demanding a level.
	// +optional
	Unconstrained *bool `json:"unconstrained,omitempty"`
	// podIndexLabel is the pod label that holds the rank of a pod.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	PodIndexLabel *string `json:"podIndexLabel,omitempty"`
	// subGroupIndexLabel is the pod label that holds the index of the replicated job.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	SubGroupIndexLabel *string `json:"subGroupIndexLabel,omitempty"`
	// subGroupCount is the number of replicated jobs in the pod set.
	// +optional
	// +kubebuilder:validation:Minimum=0
	SubGroupCount *int32 `json:"subGroupCount,omitempty"`
	// podSetGroupName is shared by pod sets that must get the same flavor and domain.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	PodSetGroupName *string `json:"podSetGroupName,omitempty"`
	// podSetSliceRequiredTopology is the node label of the level within one domain
	// of which each slice must fit.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	PodSetSliceRequiredTopology *string `json:"podSetSliceRequiredTopology,omitempty"`
	// podSetSliceSize is the number of pods in a slice.
	// +optional
	// +kubebuilder:validation:Minimum=1
	PodSetSliceSize *int32 `json:"podSetSliceSize,omitempty"`
	// podsetSliceRequiredTopologyConstraints are layers of slices, outer to inner.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=3
	PodsetSliceRequiredTopologyConstraints []PodsetSliceRequiredTopologyConstraint `json:"podsetSliceRequiredTopologyConstraints,omitempty"`
}

// PodsetSliceRequiredTopologyConstraint is one layer of slices.
type PodsetSliceRequiredTopologyConstraint struct {
	// topology is the node label of the level within one domain of which a slice must fit.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Topology string `json:"topology"`
	// size is the number of pods in a slice of this layer.
	// +required
	// +kubebuilder:validation:Minimum=1
	Size int32 `json:"size"`
}

// PreemptionGate is a gate that must be open before a workload may preempt.
type PreemptionGate struct {
	// name of the gate.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
}
