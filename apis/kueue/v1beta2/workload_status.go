package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WorkloadStatus is what has been decided about a workload and observed of it.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.clusterName) || !has(self.clusterName) || oldSelf.clusterName == self.clusterName",message="clusterName is immutable once set"
// +kubebuilder:validation:XValidation:rule="!has(self.clusterName) || !has(self.nominatedClusterNames) || size(self.nominatedClusterNames) == 0",message="clusterName and nominatedClusterNames are mutually exclusive"
type WorkloadStatus struct {
	// conditions are the latest observations; see the Workload... condition types.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// admission is what was reserved; present exactly while quota is reserved.
	// +optional
	Admission *Admission `json:"admission,omitempty"`

	// requeueState says when the workload may be queued again after its pods did not get ready.
	// +optional
	RequeueState *RequeueState `json:"requeueState,omitempty"`

	// reclaimablePods counts pods that no longer need their quota.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=18
	ReclaimablePods []ReclaimablePod `json:"reclaimablePods,omitempty"`

	// admissionChecks has one entry for each check that applies to the workload.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	AdmissionChecks []AdmissionCheckState `json:"admissionChecks,omitempty"`

	// resourceRequests are the effective requests of a workload without reservation.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=18
	ResourceRequests []PodSetRequest `json:"resourceRequests,omitempty"`

	// accumulatedPastExecutionTimeSeconds is the time spent admitted, in seconds, in
	// admissions before the present one.
	// +optional
	AccumulatedPastExecutionTimeSeconds *int32 `json:"accumulatedPastExecutionTimeSeconds,omitempty"`

	// schedulingStats counts what happened to the workload.
	// +optional
	SchedulingStats *SchedulingStats `json:"schedulingStats,omitempty"`

	// nominatedClusterNames are the worker clusters to which a copy may be created.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=256
	NominatedClusterNames []string `json:"nominatedClusterNames,omitempty"`

	// clusterName is the worker cluster that runs the workload. It can be set once
	// and removed, not replaced.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	ClusterName *string `json:"clusterName,omitempty"`

	// unhealthyNodes are nodes whose pods need another place.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	UnhealthyNodes []UnhealthyNode `json:"unhealthyNodes,omitempty"`

	// preemptionGates are the positions of the gates of the spec.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	PreemptionGates []PreemptionGateState `json:"preemptionGates,omitempty"`
}

// Admission is what was reserved for a workload and where.
type Admission struct {
	// clusterQueue is the ClusterQueue whose quota is reserved.
	// +optional
	ClusterQueue ClusterQueueReference `json:"clusterQueue,omitempty"`

	// podSetAssignments has one entry for each pod set of the spec.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=18
	PodSetAssignments []PodSetAssignment `json:"podSetAssignments,omitempty"`
}

// PodSetAssignment is what was reserved for one pod set.
type PodSetAssignment struct {
	// name of the pod set.
	// +optional
	// +kubebuilder:default=main
	Name PodSetReference `json:"name,omitempty"`

	// flavors maps each resource to the flavor it was reserved in.
	// +optional
	Flavors map[corev1.ResourceName]ResourceFlavorReference `json:"flavors,omitempty"`

	// resourceUsage is the total of the pod set: count times the request of one pod.
	// +optional
	ResourceUsage corev1.ResourceList `json:"resourceUsage,omitempty"`

	// count is the number of pods admitted; less than asked for with partial admission.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Count *int32 `json:"count,omitempty"`

	// topologyAssignment says in which domains the pods are to be placed.
	// +optional
	TopologyAssignment *TopologyAssignment `json:"topologyAssignment,omitempty"`

	// delayedTopologyRequest is set when the topology is computed in a second pass.
	// +optional
	DelayedTopologyRequest DelayedTopologyRequestState `json:"delayedTopologyRequest,omitempty"`
}

// DelayedTopologyRequestState says how far a second pass of placement has come.
//
// +kubebuilder:validation:Enum=Pending;Ready
// +kubebuilder:validation:MaxLength=7
type DelayedTopologyRequestState string

const (
	// DelayedTopologyRequestStatePending means the topology is still to be computed.
	DelayedTopologyRequestStatePending DelayedTopologyRequestState = "Pending"
	// DelayedTopologyRequestStateReady means the topology has been computed.
	DelayedTopologyRequestStateReady DelayedTopologyRequestState = "Ready"
)

// RequeueState says when a workload may be queued again.
type RequeueState struct {
	// count is how often the workload was requeued because its pods did not get ready.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Count *int32 `json:"count,omitempty"`
	// requeueAt is the time before which the workload is not queued.
	// +optional
	RequeueAt *metav1.Time `json:"requeueAt,omitempty"`
}

// ReclaimablePod counts the pods of one pod set that no longer need their quota.
type ReclaimablePod struct {
	// name of the pod set.
	// +required
	Name PodSetReference `json:"name"`
	// count of pods; it only grows while quota is reserved.
	// +required
	// +kubebuilder:validation:Minimum=0
	Count int32 `json:"count"`
}

// PodSetRequest is the effective request of one pod set.
type PodSetRequest struct {
	// name of the pod set.
	// +required
	Name PodSetReference `json:"name"`
	// resources is the total of the pod set after all transformations.
	// +optional
	Resources corev1.ResourceList `json:"resources,omitempty"`
}

// UnhealthyNode is a node whose pods need another place.
type UnhealthyNode struct {
	// name of the node.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
}

// SchedulingStats counts what happened to a workload.
type SchedulingStats struct {
	// evictions has one counter for each pair of reason and underlying cause.
	// +optional
	// +listType=map
	// +listMapKey=reason
	// +listMapKey=underlyingCause
	// +kubebuilder:validation:MaxItems=256
	Evictions []WorkloadSchedulingStatsEviction `json:"evictions,omitempty"`
}

// WorkloadSchedulingStatsEviction counts evictions for one reason.
type WorkloadSchedulingStatsEviction struct {
	// reason of the Evicted condition.
	// +required
	// +kubebuilder:validation:MaxLength=316
	Reason string `json:"reason"`
	// underlyingCause tells evictions of one reason apart; empty when there is nothing more to say.
	// +required
	// +kubebuilder:validation:MaxLength=316
	UnderlyingCause string `json:"underlyingCause"`
	// count of evictions.
	// +required
	// +kubebuilder:validation:Minimum=0
	Count int32 `json:"count"`
}

// GatePosition is the position of a preemption gate.
//
// +kubebuilder:validation:Enum=Closed;Open
type GatePosition string

const (
	// GateClosed keeps the workload from preempting.
	GateClosed GatePosition = "Closed"
	// GateOpen lets the workload preempt as far as this gate is concerned.
	GateOpen GatePosition = "Open"
)

// PreemptionGateState is the position of one preemption gate.
type PreemptionGateState struct {
	// name of the gate.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// position of the gate.
	// +required
	Position GatePosition `json:"position"`
	// lastTransitionTime is when the gate took its position.
	// +required
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
}
