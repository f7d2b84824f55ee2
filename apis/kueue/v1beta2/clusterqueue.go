package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterQueue governs a pool of quota (contract: kueue-api.md 1.3).
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=cq
// +kubebuilder:printcolumn:name="Cohort",JSONPath=".spec.cohortName",type=string,description="Cohort that the queue belongs to"
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
// +kubebuilder:validation:XValidation:rule="has(self.cohortName) || !has(self.resourceGroups) || self.resourceGroups.all(rg, rg.flavors.all(f, f.resources.all(r, !has(r.borrowingLimit))))",message="borrowingLimit must be nil when cohort is empty"
type ClusterQueueSpec struct {
	// resourceGroups are the quotas; at most 256 flavors in all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	ResourceGroups []ResourceGroup `json:"resourceGroups,omitempty"`

	// cohortName is the cohort to borrow from and lend to; without it there is neither.
	// +optional
	CohortName CohortReference `json:"cohortName,omitempty"`

	// queueingStrategy is the order in which workloads are tried.
	// +optional
	// +kubebuilder:default=BestEffortFIFO
	QueueingStrategy QueueingStrategy `json:"queueingStrategy,omitempty"`

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
	Preemption *ClusterQueuePreemption `json:"preemption,omitempty"`

	// admissionChecksStrategy are the checks that gate admission.
	// +optional
	AdmissionChecksStrategy *AdmissionChecksStrategy `json:"admissionChecksStrategy,omitempty"`

	// stopPolicy stops the queue.
	// +optional
	// +kubebuilder:default=None
	StopPolicy StopPolicy `json:"stopPolicy,omitempty"`

	// fairSharing are the settings of the queue in fair sharing.
	// +optional
	FairSharing *FairSharing `json:"fairSharing,omitempty"`

	// admissionScope turns ordering by past use on for this queue.
	// +optional
	AdmissionScope *AdmissionScope `json:"admissionScope,omitempty"`

	// concurrentAdmissionPolicy races one workload in several flavors; immutable.
	// +optional
	ConcurrentAdmissionPolicy *ConcurrentAdmissionPolicy `json:"concurrentAdmissionPolicy,omitempty"`
}

// QueueingStrategy is the order in which the workloads of a ClusterQueue are tried.
//
// +kubebuilder:validation:Enum=StrictFIFO;BestEffortFIFO
type QueueingStrategy string

const (
	// StrictFIFO lets no workload overtake one that does not fit.
	StrictFIFO QueueingStrategy = "StrictFIFO"
	// BestEffortFIFO tries younger workloads when an older one does not fit; also what empty means.
	BestEffortFIFO QueueingStrategy = "BestEffortFIFO"
)

// FlavorFungibility says when to try the next flavor.
//
// +kubebuilder:validation:XValidation:rule="!has(self.preference) || (has(self.whenCanBorrow) && self.whenCanBorrow == 'TryNextFlavor' && has(self.whenCanPreempt) && self.whenCanPreempt == 'TryNextFlavor')",message="preference can only be set when both whenCanBorrow and whenCanPreempt are TryNextFlavor"
type FlavorFungibility struct {
	// whenCanBorrow says what to do when the workload fits by borrowing.
	// +optional
	// +kubebuilder:default=MayStopSearch
	WhenCanBorrow FlavorFungibilityPolicy `json:"whenCanBorrow,omitempty"`
	// whenCanPreempt says what to do when the workload fits by preempting.
	// +optional
	// +kubebuilder:default=TryNextFlavor
	WhenCanPreempt FlavorFungibilityPolicy `json:"whenCanPreempt,omitempty"`
	// preference decides between flavors that all need borrowing or preemption;
	// unset it is BorrowingOverPreemption.
	// +optional
	Preference FlavorFungibilityPreference `json:"preference,omitempty"`
}

// FlavorFungibilityPolicy says whether a search for flavors may stop.
//
// +kubebuilder:validation:Enum=MayStopSearch;TryNextFlavor
type FlavorFungibilityPolicy string

const (
	// MayStopSearch takes the flavor.
	MayStopSearch FlavorFungibilityPolicy = "MayStopSearch"
	// TryNextFlavor looks on, and comes back only if nothing better is found.
	TryNextFlavor FlavorFungibilityPolicy = "TryNextFlavor"
)

// FlavorFungibilityPreference is which of two evils is the lesser.
//
// +kubebuilder:validation:Enum=BorrowingOverPreemption;PreemptionOverBorrowing
type FlavorFungibilityPreference string

const (
	// BorrowingOverPreemption borrows rather than preempts.
	BorrowingOverPreemption FlavorFungibilityPreference = "BorrowingOverPreemption"
	// PreemptionOverBorrowing preempts rather than borrows.
	PreemptionOverBorrowing FlavorFungibilityPreference = "PreemptionOverBorrowing"
)

// PreemptionPolicy says which workloads may be preempted.
type PreemptionPolicy string

const (
	// PreemptionPolicyNever preempts none; also what empty means.
	PreemptionPolicyNever PreemptionPolicy = "Never"
	// PreemptionPolicyLowerPriority preempts workloads of lower priority.
	PreemptionPolicyLowerPriority PreemptionPolicy = "LowerPriority"
	// PreemptionPolicyLowerOrNewerEqualPriority preempts workloads of lower
	// priority and younger ones of the same priority.
	PreemptionPolicyLowerOrNewerEqualPriority PreemptionPolicy = "LowerOrNewerEqualPriority"
	// PreemptionPolicyAny preempts workloads of any priority.
	PreemptionPolicyAny PreemptionPolicy = "Any"
)

// ClusterQueuePreemption says which workloads those of a queue may preempt.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.reclaimWithinCohort) && self.reclaimWithinCohort == 'Never' && has(self.borrowWithinCohort) && has(self.borrowWithinCohort.policy) && self.borrowWithinCohort.policy != 'Never')",message="reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never"
type ClusterQueuePreemption struct {
	// reclaimWithinCohort: workloads of other queues of the cohort that borrow,
	// preempted to get the own nominal quota back.
	// +optional
	// +kubebuilder:default=Never
	// +kubebuilder:validation:Enum=Never;LowerPriority;Any
	ReclaimWithinCohort PreemptionPolicy `json:"reclaimWithinCohort,omitempty"`
	// borrowWithinCohort: workloads of other queues of the cohort, preempted in
	// order to borrow.
	// +optional
	// +kubebuilder:default={}
	BorrowWithinCohort *BorrowWithinCohort `json:"borrowWithinCohort,omitempty"`
	// withinClusterQueue: workloads of the same queue.
	// +optional
	// +kubebuilder:default=Never
	// +kubebuilder:validation:Enum=Never;LowerPriority;LowerOrNewerEqualPriority
	WithinClusterQueue PreemptionPolicy `json:"withinClusterQueue,omitempty"`
}

// BorrowWithinCohort says which workloads one that borrows may preempt.
type BorrowWithinCohort struct {
	// policy is Never or LowerPriority.
	// +optional
	// +kubebuilder:default=Never
	// +kubebuilder:validation:Enum=Never;LowerPriority
	Policy PreemptionPolicy `json:"policy,omitempty"`
	// maxPriorityThreshold spares workloads of a higher priority than this.
	// +optional
	MaxPriorityThreshold *int32 `json:"maxPriorityThreshold,omitempty"`
}

// AdmissionChecksStrategy are the checks that gate admission.
type AdmissionChecksStrategy struct {
	// admissionChecks are the checks and the flavors they apply to.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	AdmissionChecks []AdmissionCheckStrategyRule `json:"admissionChecks"`
}

// AdmissionCheckStrategyRule says when one check applies.
type AdmissionCheckStrategyRule struct {
	// name of the AdmissionCheck.
	// +required
	Name AdmissionCheckReference `json:"name"`
	// onFlavors restricts the check to workloads that got one of these flavors; empty, all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	OnFlavors []ResourceFlavorReference `json:"onFlavors,omitempty"`
}

// AdmissionScope turns ordering by past use on or off.
type AdmissionScope struct {
	// admissionMode of the queue.
	// +required
	AdmissionMode AdmissionMode `json:"admissionMode"`
}

// AdmissionMode is whether past use orders the LocalQueues of a ClusterQueue.
//
// +kubebuilder:validation:Enum=UsageBasedAdmissionFairSharing;NoAdmissionFairSharing
type AdmissionMode string

const (
	// UsageBasedAdmissionFairSharing lets the LocalQueue that used least go first.
	UsageBasedAdmissionFairSharing AdmissionMode = "UsageBasedAdmissionFairSharing"
	// NoAdmissionFairSharing ignores past use.
	NoAdmissionFairSharing AdmissionMode = "NoAdmissionFairSharing"
)

// ConcurrentAdmissionPolicy races one workload in several flavors.
type ConcurrentAdmissionPolicy struct {
	// migration says what happens after a flavor has admitted.
	// +required
	Migration ConcurrentAdmissionMigration `json:"migration"`
}

// ConcurrentAdmissionMigration says what happens after a flavor has admitted.
type ConcurrentAdmissionMigration struct {
	// mode of migration.
	// +required
	Mode ConcurrentAdmissionMigrationMode `json:"mode"`
	// constraints limit which flavors go on racing.
	// +optional
	Constraints *ConcurrentAdmissionMigrationConstraints `json:"constraints,omitempty"`
}

// ConcurrentAdmissionMigrationMode is whether better flavors go on racing.
//
// +kubebuilder:validation:Enum=TryPreferredFlavors;RetainFirstAdmission
// +kubebuilder:validation:MaxLength=253
type ConcurrentAdmissionMigrationMode string

const (
	// TryPreferredFlavors keeps racing better flavors.
	TryPreferredFlavors ConcurrentAdmissionMigrationMode = "TryPreferredFlavors"
	// RetainFirstAdmission stops the race.
	RetainFirstAdmission ConcurrentAdmissionMigrationMode = "RetainFirstAdmission"
)

// ConcurrentAdmissionMigrationConstraints limit which flavors go on racing.
type ConcurrentAdmissionMigrationConstraints struct {
	// lastAcceptableFlavorName is the worst flavor still raced.
	// +optional
	LastAcceptableFlavorName ResourceFlavorReference `json:"lastAcceptableFlavorName,omitempty"`
}
