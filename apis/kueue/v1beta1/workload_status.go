package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"switchyard.dev/apis/kueue/v1beta2"
)

// WorkloadStatus is what has been decided about a workload and observed of it.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.clusterName) || !has(self.clusterName) || oldSelf.clusterName == self.clusterName",message="clusterName is immutable once set"
// +kubebuilder:validation:XValidation:rule="!has(self.clusterName) || !has(self.nominatedClusterNames) || size(self.nominatedClusterNames) == 0",message="clusterName and nominatedClusterNames are mutually exclusive"
type WorkloadStatus struct {
	// conditions are the latest observations.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// admission is what was reserved; present exactly while quota is reserved.
	// +optional
	Admission *Admission `json:"admission,omitempty"`
	// requeueState says when the workload may be queued again after its pods did not get ready.
	// +optional
	RequeueState *v1beta2.RequeueState `json:"requeueState,omitempty"`
	// reclaimablePods counts pods that no longer need their quota.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=18
	ReclaimablePods []v1beta2.ReclaimablePod `json:"reclaimablePods,omitempty"`
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
	ResourceRequests []v1beta2.PodSetRequest `json:"resourceRequests,omitempty"`
	// accumulatedPastExexcutionTimeSeconds (so spelled) is the time spent admitted,
	// in seconds, in admissions before the present one.
	// +optional
	AccumulatedPastExexcutionTimeSeconds *int32 `json:"accumulatedPastExexcutionTimeSeconds,omitempty"`
	// schedulingStats counts what happened to the workload.
	// +optional
	SchedulingStats *SchedulingStats `json:"schedulingStats,omitempty"`
	// nominatedClusterNames are the worker clusters to which a copy may be created.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	NominatedClusterNames []string `json:"nominatedClusterNames,omitempty"`
	// clusterName is the worker cluster that runs the workload.
	// +optional
	ClusterName *string `json:"clusterName,omitempty"`
	// unhealthyNodes are nodes whose pods need another place.
	// +optional
	UnhealthyNodes []UnhealthyNode `json:"unhealthyNodes,omitempty"`
}

// Admission is what was reserved for a workload and where.
type Admission struct {
	// clusterQueue is the ClusterQueue whose quota is reserved.
	// +required
	ClusterQueue v1beta2.ClusterQueueReference `json:"clusterQueue"`
	// podSetAssignments has one entry for each pod set of the spec.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=18
	PodSetAssignments []PodSetAssignment `json:"podSetAssignments"`
}

// PodSetAssignment is what was reserved for one pod set.
type PodSetAssignment struct {
	// name of the pod set.
	// +required
	// +kubebuilder:default=main
	Name v1beta2.PodSetReference `json:"name"`
	// flavors maps each resource to the flavor it was reserved in.
	// +optional
	Flavors map[corev1.ResourceName]v1beta2.ResourceFlavorReference `json:"flavors,omitempty"`
	// resourceUsage is the total of the pod set.
	// +optional
	ResourceUsage corev1.ResourceList `json:"resourceUsage,omitempty"`
	// count is the number of pods admitted.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Count *int32 `json:"count,omitempty"`
	// topologyAssignment says in which domains the pods are to be placed.
	// +optional
	TopologyAssignment *TopologyAssignment `json:"topologyAssignment,omitempty"`
	// delayedTopologyRequest is set when the topology is computed in a second pass.
	// +optional
	DelayedTopologyRequest string `json:"delayedTopologyRequest,omitempty"`
}

// TopologyAssignment lists domains one by one.
type TopologyAssignment struct {
	// levels are the node labels of the levels, top to bottom.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Levels []string `json:"levels"`
	// domains in the order in which pods are placed.
	// +required
	Domains []TopologyDomainAssignment `json:"domains"`
}

// TopologyDomainAssignment is the number of pods in one domain.
type TopologyDomainAssignment struct {
	// values of the node labels of the levels.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Values []string `json:"values"`
	// count of pods.
	// +required
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count"`
}

// UnhealthyNode is a node whose pods need another place.
type UnhealthyNode struct {
	// name of the node.
	// +required
	Name string `json:"name"`
}

// SchedulingStats counts what happened to a workload.
type SchedulingStats struct {
	// evictions has one counter for each pair of reason and underlying cause.
	// +optional
	// +listType=map
	// +listMapKey=reason
	// +listMapKey=underlyingCause
	Evictions []v1beta2.WorkloadSchedulingStatsEviction `json:"evictions,omitempty"`
}

// AdmissionCheckState is the state of one admission check for one workload.
type AdmissionCheckState struct {
	// name of the AdmissionCheck.
	// +required
	Name AdmissionCheckReference `json:"name"`
	// state is the answer of the check.
	// +required
	State v1beta2.CheckState `json:"state"`
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
	// podSetUpdates are merged into the pods when the job starts.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=18
	PodSetUpdates []PodSetUpdate `json:"podSetUpdates,omitempty"`
}

// PodSetUpdate is what a check adds to the pods of one pod set.
type PodSetUpdate struct {
	// name of the pod set.
	// +required
	Name v1beta2.PodSetReference `json:"name"`
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
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(x, (has(x.key) && x.key != '') || (has(x.operator) && x.operator == 'Exists'))",message="operator must be Exists when 'key' is empty, which means 'match all values and all keys'"
	// +kubebuilder:validation:XValidation:rule="self.all(x, !has(x.tolerationSeconds) || (has(x.effect) && x.effect == 'NoExecute'))",message="effect must be 'NoExecute' when 'tolerationSeconds' is set"
	// +kubebuilder:validation:XValidation:rule="self.all(x, !has(x.operator) || x.operator in ['', 'Equal', 'Exists'])",message="supported toleration values: 'Equal'(default), 'Exists'"
	// +kubebuilder:validation:XValidation:rule="self.all(x, !has(x.operator) || x.operator != 'Exists' || !has(x.value) || x.value == '')",message="a value must be empty when 'operator' is 'Exists'"
	// +kubebuilder:validation:XValidation:rule="self.all(x, !has(x.effect) || x.effect in ['', 'NoSchedule', 'PreferNoSchedule', 'NoExecute'])",message="supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'"
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}

// AdmissionCheckReference is the name of an AdmissionCheck.
//
// +kubebuilder:validation:MaxLength=316
type AdmissionCheckReference string
