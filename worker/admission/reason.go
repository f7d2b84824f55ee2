package admission

import "switchyard.dev/worker/admission/order"

// Reason says why a workload is where it is. It is the reason of the condition, of the event and of the metric label, so
// the set is small and closed (contract: kueue-api.md 1.13).
type Reason = order.Reason

// Reasons of QuotaReserved=True and Admitted=True.
const (
	// QuotaReserved: the cycle found room and reserved it.
	QuotaReserved Reason = "QuotaReserved"
	// Admitted: quota is reserved and every admission check is Ready.
	Admitted Reason = "Admitted"
)

// Reasons of QuotaReserved=False.
const (
	// PendingEvaluation: not looked at yet, or a check is not resolved, or evicted and waiting for the next cycle.
	PendingEvaluation Reason = "PendingEvaluation"
	// NoMatchingFlavor: no flavor matches taints, affinity or the resources asked for.
	NoMatchingFlavor Reason = "NoMatchingFlavor"
	// ExceedsMaxQuota: the request is larger than all the quota the queue could ever use.
	ExceedsMaxQuota Reason = "ExceedsMaxQuota"
	// WaitingForQuota: would fit in principle, not now.
	WaitingForQuota Reason = "WaitingForQuota"
	// TopologyPlacementFailed: there is quota but no place for the pods in the topology.
	TopologyPlacementFailed Reason = "TopologyPlacementFailed"
	// WaitingForPreemptedWorkloads: victims were evicted and have not released their quota yet.
	WaitingForPreemptedWorkloads Reason = "WaitingForPreemptedWorkloads"
	// Misconfigured: the ClusterQueue is missing, the namespace is not selected, or the pod template breaks a limit.
	Misconfigured Reason = "Misconfigured"
	// Suspended: the ClusterQueue or LocalQueue is inactive, stopped or held.
	Suspended Reason = "Suspended"
	// WaitingForPodsReady: admission is blocked until other workloads' pods are ready.
	WaitingForPodsReady Reason = "WaitingForPodsReady"
	// AdmissionGated: the admission-gated-by annotation names at least one gate.
	AdmissionGated Reason = "AdmissionGated"
	// OnHold: the job integration asks to hold the workload.
	OnHold Reason = "OnHold"
	// Deactivated: spec.active is false.
	Deactivated Reason = "Deactivated"
)

// Reasons of Admitted=False.
const (
	// NoReservation: the workload lost its quota reservation or never had one.
	NoReservation Reason = "NoReservation"
	// UnsatisfiedAdmissionChecks: quota is reserved but some check is not Ready.
	UnsatisfiedAdmissionChecks Reason = "UnsatisfiedAdmissionChecks"
	// PendingDelayedTopologyRequests: checks are Ready but the topology is still to be computed.
	PendingDelayedTopologyRequests Reason = "PendingDelayedTopologyRequests"
)

// Reasons of Preempted=True.
const (
	// InClusterQueue: the preemptor is in the same ClusterQueue.
	InClusterQueue Reason = "InClusterQueue"
	// InCohortReclamation: the preemptor's queue takes back quota that it owns.
	InCohortReclamation Reason = "InCohortReclamation"
	// InCohortFairSharing: the preemptor's queue has the smaller share.
	InCohortFairSharing Reason = "InCohortFairSharing"
	// InCohortReclaimWhileBorrowing: the preemptor has the higher priority and borrows itself.
	InCohortReclaimWhileBorrowing Reason = "InCohortReclaimWhileBorrowing"
)

// Block is something that keeps a workload or a queue from being considered, found outside the core (a namespace that is
// not selected, a LimitRange that is violated, a stopped queue).
type Block struct {
	Reason Reason
	// Message is one human sentence without a final period.
	Message string
	// LetsOthersPass lets the workloads behind it pass even in a StrictFIFO queue. True for a namespace mismatch only
	// (contract: kueue-api.md 4.2).
	LetsOthersPass bool
}
