package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WaitForPodsReady watches over the start of jobs.
type WaitForPodsReady struct {
	// Disabled switches the feature off. This version of the file has no word for
	// it: it is set for a v1beta1 file that does not enable the feature, and by the
	// gate DisableWaitForPodsReady.
	Disabled bool `json:"-"`
	// Timeout from admission until all pods are ready. Never nil after defaulting.
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// BlockAdmission admits nothing while an admitted workload has pods that are
	// not ready. Never nil after defaulting.
	BlockAdmission *bool `json:"blockAdmission,omitempty"`
	// RecoveryTimeout from the loss of a ready pod until all are ready again.
	// Never nil after defaulting.
	RecoveryTimeout *metav1.Duration `json:"recoveryTimeout,omitempty"`
	// RequeuingStrategy of workloads evicted for their pods. Never nil after defaulting.
	RequeuingStrategy *RequeuingStrategy `json:"requeuingStrategy,omitempty"`
}

// RequeuingStrategy says how workloads evicted for their pods are queued again.
type RequeuingStrategy struct {
	// Timestamp that places them in the queue. Never nil after defaulting.
	Timestamp *RequeuingTimestamp `json:"timestamp,omitempty"`
	// BackoffLimitCount is how often they are; nil, without limit.
	BackoffLimitCount *int32 `json:"backoffLimitCount,omitempty"`
	// BackoffBaseSeconds is the first delay; it doubles. Never nil after defaulting.
	BackoffBaseSeconds *int32 `json:"backoffBaseSeconds,omitempty"`
	// BackoffMaxSeconds bounds the delay. Never nil after defaulting.
	BackoffMaxSeconds *int32 `json:"backoffMaxSeconds,omitempty"`
}

// RequeuingTimestamp is the time that places a workload in its queue again.
type RequeuingTimestamp string

const (
	// CreationTimestamp keeps its old place.
	CreationTimestamp RequeuingTimestamp = "Creation"
	// EvictionTimestamp sends it to the end.
	EvictionTimestamp RequeuingTimestamp = "Eviction"
)

// FairSharing turns fair sharing on.
type FairSharing struct {
	// PreemptionStrategies in the order in which they are tried.
	PreemptionStrategies []PreemptionStrategy `json:"preemptionStrategies,omitempty"`
}

// PreemptionStrategy says when fair sharing may preempt.
type PreemptionStrategy string

const (
	// LessThanOrEqualToFinalShare preempts while the preemptor's share, with the
	// workload, is at most the share of the victim's queue without the victim.
	LessThanOrEqualToFinalShare PreemptionStrategy = "LessThanOrEqualToFinalShare"
	// LessThanInitialShare preempts while the preemptor's share, with the
	// workload, is less than the share of the victim's queue with the victim.
	LessThanInitialShare PreemptionStrategy = "LessThanInitialShare"
)

// AdmissionFairSharing orders LocalQueues by past use.
type AdmissionFairSharing struct {
	// UsageHalfLifeTime is when usage counts half; 0 has no memory.
	UsageHalfLifeTime metav1.Duration `json:"usageHalfLifeTime,omitempty"`
	// UsageSamplingInterval is the time between samples; 0 is defaulted.
	UsageSamplingInterval metav1.Duration `json:"usageSamplingInterval,omitempty"`
	// ResourceWeights of resources; one that is not named has weight 1.
	ResourceWeights map[corev1.ResourceName]float64 `json:"resourceWeights,omitempty"`
}

// ObjectRetentionPolicies says when objects are deleted.
type ObjectRetentionPolicies struct {
	// Workloads says when Workloads are deleted; nil keeps them.
	Workloads *WorkloadRetentionPolicy `json:"workloads,omitempty"`
}

// WorkloadRetentionPolicy says when Workloads are deleted.
type WorkloadRetentionPolicy struct {
	// AfterFinished is the time from the end; nil keeps them.
	AfterFinished *metav1.Duration `json:"afterFinished,omitempty"`
	// AfterDeactivatedByKueue is the time from a deactivation by the system; nil
	// keeps them. The job goes with the Workload.
	AfterDeactivatedByKueue *metav1.Duration `json:"afterDeactivatedByKueue,omitempty"`
}
