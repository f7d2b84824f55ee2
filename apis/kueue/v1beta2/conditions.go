package v1beta2

// Condition types of a Workload (contract: kueue-api.md 1.13).
const (
	// WorkloadQuotaReserved is True while quota is reserved in a ClusterQueue.
	WorkloadQuotaReserved = "QuotaReserved"
	// WorkloadAdmitted is True while quota is reserved and every gate is open.
	WorkloadAdmitted = "Admitted"
	// WorkloadFinished is True, for good, once the job has ended.
	WorkloadFinished = "Finished"
	// WorkloadPodsReady is True while all pods of the job are ready.
	WorkloadPodsReady = "PodsReady"
	// WorkloadEvicted is True from an eviction to the next reservation.
	WorkloadEvicted = "Evicted"
	// WorkloadPreempted is True, beside Evicted, for the victim of a preemption.
	WorkloadPreempted = "Preempted"
	// WorkloadRequeued says whether an evicted workload may be queued.
	WorkloadRequeued = "Requeued"
	// WorkloadDeactivationTarget is True for a moment, to ask for spec.active=false.
	WorkloadDeactivationTarget = "DeactivationTarget"
	// WorkloadWaitingForReplacementPods is True while a pod group lacks pods.
	WorkloadWaitingForReplacementPods = "WaitingForReplacementPods"
	// WorkloadBlockedOnPreemptionGates is True while a closed gate forbids a
	// preemption that the workload needs.
	WorkloadBlockedOnPreemptionGates = "BlockedOnPreemptionGates"
)

// Condition types of the other kinds and of what jobs are made of.
const (
	// ClusterQueueActive is True while the queue can admit.
	ClusterQueueActive = "Active"
	// ClusterQueueMultiKueueManagerQuotaAutomation is True while the hub derives
	// the quota of the queue from the workers.
	ClusterQueueMultiKueueManagerQuotaAutomation = "MultiKueueManagerQuotaAutomation"
	// LocalQueueActive is True while the queue can admit.
	LocalQueueActive = "Active"
	// AdmissionCheckActive is True while the check can be used.
	AdmissionCheckActive = "Active"
	// MultiKueueClusterActive is True while the cluster is connected.
	MultiKueueClusterActive = "Active"

	// PodTerminationTarget is set on a pod before it is deleted to stop its job.
	PodTerminationTarget = "TerminationTarget"
	// PodTerminatedByKueue is set on a pending pod that is failed because of its node.
	PodTerminatedByKueue = "TerminatedByKueue"
	// PodKueueFailureRecovery is set on a pod that is deleted by force.
	PodKueueFailureRecovery = "KueueFailureRecovery"
)
