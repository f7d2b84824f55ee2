package features

import "k8s.io/component-base/featuregate"

// Name is the name of a feature gate (contract: kueue-api.md 6).
type Name = featuregate.Feature

// The gates and what they switch.
const (
	// AdmissionFairSharing: admission fair sharing.
	AdmissionFairSharing Name = "AdmissionFairSharing"
	// AdmissionGatedBy: admission-gated-by annotation.
	AdmissionGatedBy Name = "AdmissionGatedBy"
	// AssignQueueLabelsForPods: queue labels on pods.
	AssignQueueLabelsForPods Name = "AssignQueueLabelsForPods"
	// CleanupProvisioningRequestsOnEviction: delete ProvisioningRequests on eviction.
	CleanupProvisioningRequestsOnEviction Name = "CleanupProvisioningRequestsOnEviction"
	// ConcurrentAdmission: variants per flavor.
	ConcurrentAdmission Name = "ConcurrentAdmission"
	// CustomMetricLabels: user metric labels.
	CustomMetricLabels Name = "CustomMetricLabels"
	// DeferRayServiceFinalizationForRedisCleanup: wait for Redis cleanup.
	DeferRayServiceFinalizationForRedisCleanup Name = "DeferRayServiceFinalizationForRedisCleanup"
	// DisableWaitForPodsReady: temporary opt-out of default WaitForPodsReady (removal planned 0.21).
	DisableWaitForPodsReady Name = "DisableWaitForPodsReady"
	// ElasticJobsViaWorkloadSlices: workload slices.
	ElasticJobsViaWorkloadSlices Name = "ElasticJobsViaWorkloadSlices"
	// ElasticJobsViaWorkloadSlicesWithTAS: slices + topology aware scheduling.
	ElasticJobsViaWorkloadSlicesWithTAS Name = "ElasticJobsViaWorkloadSlicesWithTAS"
	// FailureRecoveryPolicy: force delete stuck pods.
	FailureRecoveryPolicy Name = "FailureRecoveryPolicy"
	// FairSharingPreemptWithinNominal: preemptor inside nominal skips share test.
	FairSharingPreemptWithinNominal Name = "FairSharingPreemptWithinNominal"
	// FairSharingPrioritizeNonBorrowing: non-borrowing subtree first in fair sharing ordering.
	FairSharingPrioritizeNonBorrowing Name = "FairSharingPrioritizeNonBorrowing"
	// FastQuotaReleaseInPodIntegration: terminating pods are inactive.
	FastQuotaReleaseInPodIntegration Name = "FastQuotaReleaseInPodIntegration"
	// FinishOrphanedWorkloads: Finished OwnerNotFound.
	FinishOrphanedWorkloads Name = "FinishOrphanedWorkloads"
	// FlavorFungibility: whenCanBorrow/whenCanPreempt honoured.
	FlavorFungibility Name = "FlavorFungibility"
	// FlavorFungibilityPreserveScanProgress: keep LastTriedFlavorIdx.
	FlavorFungibilityPreserveScanProgress Name = "FlavorFungibilityPreserveScanProgress"
	// KueueDRAIntegration: DRA quota.
	KueueDRAIntegration Name = "KueueDRAIntegration"
	// KueueDRAIntegrationConsumableCapacity: capacity based quota.
	KueueDRAIntegrationConsumableCapacity Name = "KueueDRAIntegrationConsumableCapacity"
	// KueueDRAIntegrationExtendedResource: extended resource → DeviceClass quota.
	KueueDRAIntegrationExtendedResource Name = "KueueDRAIntegrationExtendedResource"
	// KueueDRAIntegrationPartitionableDevices: counter based quota.
	KueueDRAIntegrationPartitionableDevices Name = "KueueDRAIntegrationPartitionableDevices"
	// KueueDRARejectWorkloadsWhenDRADisabled: reject DRA Workloads if DRA gate off.
	KueueDRARejectWorkloadsWhenDRADisabled Name = "KueueDRARejectWorkloadsWhenDRADisabled"
	// LWSImmutableGroupSize: LWS size immutable.
	LWSImmutableGroupSize Name = "LWSImmutableGroupSize"
	// LocalQueueMetrics: per-LocalQueue metrics.
	LocalQueueMetrics Name = "LocalQueueMetrics"
	// ManagedJobsNamespaceSelectorAlwaysRespected: selector applies even with queue label.
	ManagedJobsNamespaceSelectorAlwaysRespected Name = "ManagedJobsNamespaceSelectorAlwaysRespected"
	// MetricForWorkloadCreationLatency: workload_creation_latency_seconds.
	MetricForWorkloadCreationLatency Name = "MetricForWorkloadCreationLatency"
	// MetricsForCohorts: cohort metrics + info.
	MetricsForCohorts Name = "MetricsForCohorts"
	// MultiKueue: multi-cluster dispatch.
	MultiKueue Name = "MultiKueue"
	// MultiKueueAdaptersForCustomJobs: generic external MultiKueue adapter.
	MultiKueueAdaptersForCustomJobs Name = "MultiKueueAdaptersForCustomJobs"
	// MultiKueueClusterProfile: ClusterProfile credentials.
	MultiKueueClusterProfile Name = "MultiKueueClusterProfile"
	// MultiKueueIncrementalDispatcherConfig: stepSize config.
	MultiKueueIncrementalDispatcherConfig Name = "MultiKueueIncrementalDispatcherConfig"
	// MultiKueueIncrementalDispatcherRespectConfigOrder: config order vs alphabetical.
	MultiKueueIncrementalDispatcherRespectConfigOrder Name = "MultiKueueIncrementalDispatcherRespectConfigOrder"
	// MultiKueueKubeConfigPathValidation: kubeconfig files only under /etc/multikueue/kubeconfigs.
	MultiKueueKubeConfigPathValidation Name = "MultiKueueKubeConfigPathValidation"
	// MultiKueueManagerQuotaAutomation: manager quota = sum of workers.
	MultiKueueManagerQuotaAutomation Name = "MultiKueueManagerQuotaAutomation"
	// MultiKueueOrchestratedPreemption: one worker preempts at a time.
	MultiKueueOrchestratedPreemption Name = "MultiKueueOrchestratedPreemption"
	// MultiKueueRemoteSpecSync: forward spec edits after admission.
	MultiKueueRemoteSpecSync Name = "MultiKueueRemoteSpecSync"
	// PartialAdmission: allow minCount-based reduction.
	PartialAdmission Name = "PartialAdmission"
	// PodIntegrationValidateGroupOwner: no adoption of foreign Workload by group name.
	PodIntegrationValidateGroupOwner Name = "PodIntegrationValidateGroupOwner"
	// PrioritizePreemptorWorkloads: pending preemptors first.
	PrioritizePreemptorWorkloads Name = "PrioritizePreemptorWorkloads"
	// PriorityBoost: priority-boost annotation.
	PriorityBoost Name = "PriorityBoost"
	// PrioritySortingWithinCohort: priority before timestamp across CQs.
	PrioritySortingWithinCohort Name = "PrioritySortingWithinCohort"
	// QuotaCheckStrategy: BlockUndeclared/IgnoreUndeclared.
	QuotaCheckStrategy Name = "QuotaCheckStrategy"
	// ReclaimablePods: count reclaimable pods.
	ReclaimablePods Name = "ReclaimablePods"
	// RecomputeAssignmentUponPreemptionTargetsOverlap: in-cycle victim recompute.
	RecomputeAssignmentUponPreemptionTargetsOverlap Name = "RecomputeAssignmentUponPreemptionTargetsOverlap"
	// RejectUpdatesToCQWithInvalidOnFlavors: strict onFlavors on update.
	RejectUpdatesToCQWithInvalidOnFlavors Name = "RejectUpdatesToCQWithInvalidOnFlavors"
	// RemoveFinalizersWithStrictPatch: resourceVersion-guarded finalizer removal.
	RemoveFinalizersWithStrictPatch Name = "RemoveFinalizersWithStrictPatch"
	// SchedulerLibraryIntegration: use sig scheduler-library simulator.
	SchedulerLibraryIntegration Name = "SchedulerLibraryIntegration"
	// SchedulingEquivalenceHashing: park equal Workloads together.
	SchedulingEquivalenceHashing Name = "SchedulingEquivalenceHashing"
	// ShortWorkloadNames: Workload names at most 63.
	ShortWorkloadNames Name = "ShortWorkloadNames"
	// SkipAncestorCheckForDeletedWorkloads: tolerate missing owner while deleting.
	SkipAncestorCheckForDeletedWorkloads Name = "SkipAncestorCheckForDeletedWorkloads"
	// SkipReassignmentForPodOwnedWorkloads: single-pod Workloads keep their node assignment.
	SkipReassignmentForPodOwnedWorkloads Name = "SkipReassignmentForPodOwnedWorkloads"
	// SparkApplicationIntegration: SparkApplication.
	SparkApplicationIntegration Name = "SparkApplicationIntegration"
	// TASAssignmentsEncodingByHostnamePrefix: slice encoding by host prefix.
	TASAssignmentsEncodingByHostnamePrefix Name = "TASAssignmentsEncodingByHostnamePrefix"
	// TASBalancedPlacement: balanced placement algorithm.
	TASBalancedPlacement Name = "TASBalancedPlacement"
	// TASCacheNodeMatchResults: speed.
	TASCacheNodeMatchResults Name = "TASCacheNodeMatchResults"
	// TASCacheTopologyTree: speed: reuse topology tree.
	TASCacheTopologyTree Name = "TASCacheTopologyTree"
	// TASCachingRemainingResources: speed.
	TASCachingRemainingResources Name = "TASCachingRemainingResources"
	// TASFailedNodeReplacement: replace failed node in assignment.
	TASFailedNodeReplacement Name = "TASFailedNodeReplacement"
	// TASFailedNodeReplacementFailFast: evict if first replacement attempt fails.
	TASFailedNodeReplacementFailFast Name = "TASFailedNodeReplacementFailFast"
	// TASHandleOverlappingFlavors: cross-flavor node usage.
	TASHandleOverlappingFlavors Name = "TASHandleOverlappingFlavors"
	// TASMultiLayerTopology: up to 3 slice layers.
	TASMultiLayerTopology Name = "TASMultiLayerTopology"
	// TASProfileMixed: LeastFreeCapacity for unconstrained, BestFit otherwise.
	TASProfileMixed Name = "TASProfileMixed"
	// TASRecomputeAssignmentWithinSchedulingCycle: in-cycle topology aware scheduling retry.
	TASRecomputeAssignmentWithinSchedulingCycle Name = "TASRecomputeAssignmentWithinSchedulingCycle"
	// TASReplaceNodeDueToNotReadyOverFixedTime: 30 s NotReady timer (sunset).
	TASReplaceNodeDueToNotReadyOverFixedTime Name = "TASReplaceNodeDueToNotReadyOverFixedTime"
	// TASReplaceNodeOnNodeTaints: taint triggers node replacement.
	TASReplaceNodeOnNodeTaints Name = "TASReplaceNodeOnNodeTaints"
	// TASReplaceNodeOnPodTermination: NotReady node counts as failed once its pods end.
	TASReplaceNodeOnPodTermination Name = "TASReplaceNodeOnPodTermination"
	// TASRespectNodeAffinityPreferred: preferred affinity in topology aware scheduling.
	TASRespectNodeAffinityPreferred Name = "TASRespectNodeAffinityPreferred"
	// TASValidateWorkloadSliceSize: validation.
	TASValidateWorkloadSliceSize Name = "TASValidateWorkloadSliceSize"
	// TLSOptions: TLS min version/ciphers/curves config.
	TLSOptions Name = "TLSOptions"
	// TopologyAwareScheduling: topology aware scheduling.
	TopologyAwareScheduling Name = "TopologyAwareScheduling"
	// UnadmittedWorkloadsExplicitStatus: conditions False from first reconcile.
	UnadmittedWorkloadsExplicitStatus Name = "UnadmittedWorkloadsExplicitStatus"
	// UnadmittedWorkloadsObservability: fine reasons + unadmitted metrics.
	UnadmittedWorkloadsObservability Name = "UnadmittedWorkloadsObservability"
	// ValidateRayAndSparkJobUpdates: validate updates when old object had queue label.
	ValidateRayAndSparkJobUpdates Name = "ValidateRayAndSparkJobUpdates"
	// VectorizedResourceRequests: speed.
	VectorizedResourceRequests Name = "VectorizedResourceRequests"
	// VisibilityOnDemand: aggregated pending-workloads API.
	VisibilityOnDemand Name = "VisibilityOnDemand"
	// WorkloadIdentifierAnnotations: pod-group/prebuilt ids as annotations.
	WorkloadIdentifierAnnotations Name = "WorkloadIdentifierAnnotations"
	// WorkloadPriorityClassDefaulting: WorkloadPriorityClass "default" applied.
	WorkloadPriorityClassDefaulting Name = "WorkloadPriorityClassDefaulting"
	// WorkloadRequestUseMergePatch: merge patch instead of server-side apply for Workload.
	WorkloadRequestUseMergePatch Name = "WorkloadRequestUseMergePatch"
	// WorkloadValidateResourcesAreNonNegative: validation.
	WorkloadValidateResourcesAreNonNegative Name = "WorkloadValidateResourcesAreNonNegative"
	// WorkloadValidationForPodSetMetadata: validation.
	WorkloadValidationForPodSetMetadata Name = "WorkloadValidationForPodSetMetadata"
)
