package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"switchyard.dev/apis/kueue/v1beta2"
)

// ClusterQueue is v1beta2.ClusterQueue with a list of checks beside the
// strategy, and more in its status.
//
// +kubebuilder:object:root=true
// +kubebuilder:deprecatedversion:warning="kueue.x-k8s.io/v1beta1 ClusterQueue is deprecated; use kueue.x-k8s.io/v1beta2 ClusterQueue"
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=cq
// +kubebuilder:printcolumn:name="Cohort",JSONPath=".spec.cohort",type=string,description="Cohort that the queue belongs to"
// +kubebuilder:printcolumn:name="Strategy",JSONPath=".spec.queueingStrategy",type=string,priority=1,description="Order in which workloads are tried"
// +kubebuilder:printcolumn:name="Pending Workloads",JSONPath=".status.pendingWorkloads",type=integer,description="Number of waiting workloads"
// +kubebuilder:printcolumn:name="Admitted Workloads",JSONPath=".status.admittedWorkloads",type=integer,priority=1,description="Number of admitted workloads that have not finished"
type ClusterQueue struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the pool and its rules.
	// +optional
	Spec ClusterQueueSpec `json:"spec,omitempty"`
	// status is the present use of the pool.
	// +optional
	Status ClusterQueueStatus `json:"status,omitempty"`
}

// ClusterQueueList is a list of ClusterQueues.
//
// +kubebuilder:object:root=true
type ClusterQueueList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterQueue `json:"items"`
}

// ClusterQueueSpec is a pool of quota and its rules.
//
// +kubebuilder:validation:XValidation:rule="has(self.cohort) || !has(self.resourceGroups) || self.resourceGroups.all(rg, rg.flavors.all(f, f.resources.all(r, !has(r.borrowingLimit))))",message="borrowingLimit must be nil when cohort is empty"
type ClusterQueueSpec struct {
	// resourceGroups are the quotas; at most 256 flavors in all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	ResourceGroups []ResourceGroup `json:"resourceGroups,omitempty"`
	// cohort to borrow from and lend to; without it there is neither.
	// +optional
	Cohort v1beta2.CohortReference `json:"cohort,omitempty"`
	// queueingStrategy is the order in which workloads are tried.
	// +optional
	// +kubebuilder:default=BestEffortFIFO
	QueueingStrategy v1beta2.QueueingStrategy `json:"queueingStrategy,omitempty"`
	// namespaceSelector selects the namespaces whose workloads may be admitted:
	// absent none, empty all.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// flavorFungibility says when to try the next flavor.
	// +optional
	// +kubebuilder:default={}
	FlavorFungibility *FlavorFungibility `json:"flavorFungibility,omitempty"`
	// preemption says which workloads those of the queue may preempt.
	// +optional
	// +kubebuilder:default={}
	Preemption *v1beta2.ClusterQueuePreemption `json:"preemption,omitempty"`
	// admissionChecks that apply to all flavors; it wins over admissionChecksStrategy.
	// +optional
	AdmissionChecks []AdmissionCheckReference `json:"admissionChecks,omitempty"`
	// admissionChecksStrategy are the checks that gate admission.
	// +optional
	AdmissionChecksStrategy *AdmissionChecksStrategy `json:"admissionChecksStrategy,omitempty"`
	// stopPolicy stops the queue.
	// +optional
	// +kubebuilder:default=None
	StopPolicy v1beta2.StopPolicy `json:"stopPolicy,omitempty"`
	// fairSharing are the settings of the queue in fair sharing.
	// +optional
	FairSharing *v1beta2.FairSharing `json:"fairSharing,omitempty"`
	// admissionScope turns ordering by past use on for this queue.
	// +optional
	AdmissionScope *AdmissionScope `json:"admissionScope,omitempty"`
}

// ResourceGroup is a set of resources that get their flavors together.
//
// +kubebuilder:validation:XValidation:rule="self.flavors.all(x, size(x.resources) == size(self.coveredResources))",message="flavors must have the same number of resources as the coveredResources"
type ResourceGroup struct {
	// coveredResources are the resources of the group; no other group has them.
	// +required
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	CoveredResources []corev1.ResourceName `json:"coveredResources"`
	// flavors in the order in which they are tried; no other group has them.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Flavors []v1beta2.FlavorQuotas `json:"flavors"`
}

// FlavorFungibility says when to try the next flavor.
//
// +kubebuilder:validation:XValidation:rule="!has(self.preference) || (has(self.whenCanBorrow) && self.whenCanBorrow == 'TryNextFlavor' && has(self.whenCanPreempt) && self.whenCanPreempt == 'TryNextFlavor')",message="preference can only be set when both whenCanBorrow and whenCanPreempt are TryNextFlavor"
type FlavorFungibility struct {
	// whenCanBorrow says what to do when the workload fits by borrowing; Borrow is MayStopSearch.
	// +optional
	// +kubebuilder:default=MayStopSearch
	// +kubebuilder:validation:Enum=MayStopSearch;TryNextFlavor;Borrow
	WhenCanBorrow FlavorFungibilityPolicy `json:"whenCanBorrow,omitempty"`
	// whenCanPreempt says what to do when the workload fits by preempting; Preempt is MayStopSearch.
	// +optional
	// +kubebuilder:default=TryNextFlavor
	// +kubebuilder:validation:Enum=MayStopSearch;TryNextFlavor;Preempt
	WhenCanPreempt FlavorFungibilityPolicy `json:"whenCanPreempt,omitempty"`
	// preference decides between flavors that all need borrowing or preemption.
	// +optional
	Preference v1beta2.FlavorFungibilityPreference `json:"preference,omitempty"`
}

// FlavorFungibilityPolicy says whether a search for flavors may stop.
type FlavorFungibilityPolicy string

const (
	// Borrow is the old name of MayStopSearch for whenCanBorrow.
	Borrow FlavorFungibilityPolicy = "Borrow"
	// Preempt is the old name of MayStopSearch for whenCanPreempt.
	Preempt FlavorFungibilityPolicy = "Preempt"
)

// AdmissionChecksStrategy are the checks that gate admission.
type AdmissionChecksStrategy struct {
	// admissionChecks are the checks and the flavors they apply to.
	// +optional
	AdmissionChecks []AdmissionCheckStrategyRule `json:"admissionChecks,omitempty"`
}

// AdmissionCheckStrategyRule says when one check applies.
type AdmissionCheckStrategyRule struct {
	// name of the AdmissionCheck.
	// +required
	Name AdmissionCheckReference `json:"name"`
	// onFlavors restricts the check to workloads that got one of these flavors; empty, all.
	// +optional
	OnFlavors []v1beta2.ResourceFlavorReference `json:"onFlavors,omitempty"`
}

// AdmissionScope turns ordering by past use on or off.
type AdmissionScope struct {
	// admissionMode of the queue.
	// +required
	AdmissionMode string `json:"admissionMode"`
}

// ClusterQueueStatus is the present use of a ClusterQueue.
type ClusterQueueStatus struct {
	// conditions are the latest observations.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// flavorsReservation is the usage of all workloads that hold quota.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	FlavorsReservation []v1beta2.FlavorUsage `json:"flavorsReservation,omitempty"`
	// flavorsUsage is the usage of admitted workloads.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	FlavorsUsage []v1beta2.FlavorUsage `json:"flavorsUsage,omitempty"`
	// pendingWorkloads is the number of workloads that wait.
	// +optional
	PendingWorkloads int32 `json:"pendingWorkloads"`
	// reservingWorkloads is the number of workloads that hold quota.
	// +optional
	ReservingWorkloads int32 `json:"reservingWorkloads"`
	// admittedWorkloads is the number of admitted workloads that have not finished.
	// +optional
	AdmittedWorkloads int32 `json:"admittedWorkloads"`
	// pendingWorkloadsStatus is kept for old clients and always empty.
	// +optional
	PendingWorkloadsStatus *ClusterQueuePendingWorkloadsStatus `json:"pendingWorkloadsStatus,omitempty"`
	// fairSharing is the present share.
	// +optional
	FairSharing *FairSharingStatus `json:"fairSharing,omitempty"`
}

// ClusterQueuePendingWorkloadsStatus listed the heads of a queue.
type ClusterQueuePendingWorkloadsStatus struct {
	// clusterQueuePendingWorkload were the heads.
	// +optional
	// +listType=atomic
	Head []ClusterQueuePendingWorkload `json:"clusterQueuePendingWorkload,omitempty"`
	// lastChangeTime is when they changed.
	// +required
	LastChangeTime metav1.Time `json:"lastChangeTime"`
}

// ClusterQueuePendingWorkload named a waiting workload.
type ClusterQueuePendingWorkload struct {
	// name of the workload.
	// +required
	Name string `json:"name"`
	// namespace of the workload.
	// +required
	Namespace string `json:"namespace"`
}

// FairSharingStatus is the present share of a queue or cohort.
type FairSharingStatus struct {
	// weightedShare as in v1beta2.
	// +required
	WeightedShare int64 `json:"weightedShare"`
	// admissionFairSharingStatus has a meaning on LocalQueues only.
	// +optional
	AdmissionFairSharingStatus *v1beta2.AdmissionFairSharingStatus `json:"admissionFairSharingStatus,omitempty"`
}
