package features

import "k8s.io/component-base/featuregate"

// specs are all gates, each with its stages by minor version of the public API's reference implementation. It is data, never
// written to.
var specs = map[Name]featuregate.FeatureSpec{
	AdmissionFairSharing:                              {Default: true, PreRelease: featuregate.Beta},                    // 0.12 Alpha off to 0.15 Beta
	AdmissionGatedBy:                                  {Default: true, PreRelease: featuregate.Beta},                    // 0.17 Alpha off to 0.19 Beta
	AssignQueueLabelsForPods:                          {Default: true, PreRelease: featuregate.Beta},                    // 0.17 Beta
	CleanupProvisioningRequestsOnEviction:             {Default: true, PreRelease: featuregate.Beta},                    // 0.19 Beta
	ConcurrentAdmission:                               {PreRelease: featuregate.Alpha},                                  // 0.18 Alpha off
	CustomMetricLabels:                                {PreRelease: featuregate.Alpha},                                  // 0.17 Alpha off
	DeferRayServiceFinalizationForRedisCleanup:        {Default: true, PreRelease: featuregate.Beta},                    // 0.19 Beta
	DisableWaitForPodsReady:                           {PreRelease: featuregate.Alpha},                                  // 0.19 Alpha off
	ElasticJobsViaWorkloadSlices:                      {Default: true, PreRelease: featuregate.Beta},                    // 0.13 Alpha off to 0.18 Beta
	ElasticJobsViaWorkloadSlicesWithTAS:               {PreRelease: featuregate.Alpha},                                  // 0.17 Alpha off
	FailureRecoveryPolicy:                             {PreRelease: featuregate.Alpha},                                  // 0.15 Alpha off
	FairSharingPreemptWithinNominal:                   {Default: true, PreRelease: featuregate.Beta},                    // 0.17 Beta
	FairSharingPrioritizeNonBorrowing:                 {Default: true, PreRelease: featuregate.Beta},                    // 0.17 Beta
	FastQuotaReleaseInPodIntegration:                  {PreRelease: featuregate.Alpha},                                  // 0.17 Alpha off
	FinishOrphanedWorkloads:                           {Default: true, PreRelease: featuregate.Beta},                    // 0.18 Beta
	FlavorFungibility:                                 {Default: true, PreRelease: featuregate.Beta},                    // 0.5 Beta
	FlavorFungibilityPreserveScanProgress:             {Default: true, PreRelease: featuregate.Beta},                    // 0.20 Beta
	KueueDRAIntegration:                               {Default: true, PreRelease: featuregate.Beta},                    // 0.18 Beta
	KueueDRAIntegrationConsumableCapacity:             {PreRelease: featuregate.Alpha},                                  // 0.19 Alpha off
	KueueDRAIntegrationExtendedResource:               {Default: true, PreRelease: featuregate.Beta},                    // 0.18 Alpha off to 0.19 Beta
	KueueDRAIntegrationPartitionableDevices:           {Default: true, PreRelease: featuregate.Beta},                    // 0.18 Alpha off to 0.19 Beta
	KueueDRARejectWorkloadsWhenDRADisabled:            {Default: true, PreRelease: featuregate.Beta},                    // 0.18 Beta
	LWSImmutableGroupSize:                             {Default: true, PreRelease: featuregate.Beta},                    // 0.20 Beta
	LocalQueueMetrics:                                 {Default: true, PreRelease: featuregate.Beta},                    // 0.10 Alpha off to 0.17 Beta
	ManagedJobsNamespaceSelectorAlwaysRespected:       {Default: true, LockToDefault: true, PreRelease: featuregate.GA}, // 0.13 Alpha off to 0.15 Beta to 0.19 GA
	MetricForWorkloadCreationLatency:                  {Default: true, PreRelease: featuregate.Beta},                    // 0.18 Beta
	MetricsForCohorts:                                 {Default: true, PreRelease: featuregate.Beta},                    // 0.18 Beta
	MultiKueue:                                        {Default: true, PreRelease: featuregate.Beta},                    // 0.6 Alpha off to 0.9 Beta
	MultiKueueAdaptersForCustomJobs:                   {Default: true, PreRelease: featuregate.Beta},                    // 0.14 Alpha off to 0.15 Beta
	MultiKueueClusterProfile:                          {PreRelease: featuregate.Alpha},                                  // 0.15 Alpha off
	MultiKueueIncrementalDispatcherConfig:             {Default: true, PreRelease: featuregate.Beta},                    // 0.19 Beta
	MultiKueueIncrementalDispatcherRespectConfigOrder: {Default: true, PreRelease: featuregate.Beta},                    // 0.19 Beta
	MultiKueueKubeConfigPathValidation:                {Default: true, PreRelease: featuregate.Beta},                    // 0.19 Alpha off to 0.20 Beta
	MultiKueueManagerQuotaAutomation:                  {PreRelease: featuregate.Alpha},                                  // 0.18 Alpha off
	MultiKueueOrchestratedPreemption:                  {PreRelease: featuregate.Alpha},                                  // 0.17 Alpha off
	MultiKueueRemoteSpecSync:                          {Default: true, PreRelease: featuregate.Beta},                    // 0.20 Beta
	PartialAdmission:                                  {Default: true, PreRelease: featuregate.Beta},                    // 0.4 Alpha off to 0.5 Beta
	PodIntegrationValidateGroupOwner:                  {Default: true, PreRelease: featuregate.Beta},                    // 0.18 Beta
	PrioritizePreemptorWorkloads:                      {PreRelease: featuregate.Alpha},                                  // 0.20 Alpha off
	PriorityBoost:                                     {PreRelease: featuregate.Alpha},                                  // 0.17 Alpha off
	PrioritySortingWithinCohort:                       {Default: true, PreRelease: featuregate.Beta},                    // 0.6 Beta
	QuotaCheckStrategy:                                {Default: true, PreRelease: featuregate.Beta},                    // 0.18 Alpha off to 0.19 Beta
	ReclaimablePods:                                   {Default: true, PreRelease: featuregate.Beta},                    // 0.15 Beta
	RecomputeAssignmentUponPreemptionTargetsOverlap:   {Default: true, PreRelease: featuregate.Beta},                    // 0.20 Beta
	RejectUpdatesToCQWithInvalidOnFlavors:             {PreRelease: featuregate.Alpha},                                  // 0.18 Alpha off
	RemoveFinalizersWithStrictPatch:                   {Default: true, PreRelease: featuregate.Beta},                    // 0.17 Beta
	SchedulerLibraryIntegration:                       {PreRelease: featuregate.Alpha},                                  // 0.19 Alpha off
	SchedulingEquivalenceHashing:                      {Default: true, PreRelease: featuregate.Beta},                    // 0.17 Beta off to 0.18 Beta
	ShortWorkloadNames:                                {PreRelease: featuregate.Alpha},                                  // 0.17 Alpha off
	SkipAncestorCheckForDeletedWorkloads:              {Default: true, PreRelease: featuregate.Beta},                    // 0.20 Beta
	SkipReassignmentForPodOwnedWorkloads:              {Default: true, PreRelease: featuregate.Beta},                    // 0.19 Beta
	SparkApplicationIntegration:                       {PreRelease: featuregate.Alpha},                                  // 0.17 Alpha off
	TASAssignmentsEncodingByHostnamePrefix:            {Default: true, PreRelease: featuregate.Beta},                    // 0.19 Beta
	TASBalancedPlacement:                              {PreRelease: featuregate.Alpha},                                  // 0.15 Alpha off
	TASCacheNodeMatchResults:                          {Default: true, PreRelease: featuregate.Beta},                    // 0.19 Beta
	TASCacheTopologyTree:                              {Default: true, PreRelease: featuregate.Beta},                    // 0.20 Beta
	TASCachingRemainingResources:                      {Default: true, PreRelease: featuregate.Beta},                    // 0.19 Beta
	TASFailedNodeReplacement:                          {Default: true, PreRelease: featuregate.Beta},                    // 0.12 Alpha off to 0.14 Beta
	TASFailedNodeReplacementFailFast:                  {Default: true, PreRelease: featuregate.Beta},                    // 0.13 Alpha off to 0.14 Beta
	TASHandleOverlappingFlavors:                       {Default: true, PreRelease: featuregate.Beta},                    // 0.18 Beta
	TASMultiLayerTopology:                             {Default: true, PreRelease: featuregate.Beta},                    // 0.17 Alpha off to 0.19 Beta
	TASProfileMixed:                                   {Default: true, PreRelease: featuregate.Beta},                    // 0.10 Alpha off to 0.15 Beta
	TASRecomputeAssignmentWithinSchedulingCycle:       {Default: true, PreRelease: featuregate.Beta},                    // 0.19 Beta
	TASReplaceNodeDueToNotReadyOverFixedTime:          {PreRelease: featuregate.Deprecated},                             // 0.17 Beta to 0.19 Deprecated off
	TASReplaceNodeOnNodeTaints:                        {Default: true, PreRelease: featuregate.Beta},                    // 0.17 Beta
	TASReplaceNodeOnPodTermination:                    {Default: true, PreRelease: featuregate.Beta},                    // 0.13 Alpha off to 0.14 Beta
	TASRespectNodeAffinityPreferred:                   {PreRelease: featuregate.Alpha},                                  // 0.18 Alpha off
	TASValidateWorkloadSliceSize:                      {Default: true, PreRelease: featuregate.Beta},                    // 0.20 Beta
	TLSOptions:                                        {Default: true, LockToDefault: true, PreRelease: featuregate.GA}, // 0.16 Beta to 0.20 GA
	TopologyAwareScheduling:                           {Default: true, PreRelease: featuregate.Beta},                    // 0.9 Alpha off to 0.14 Beta
	UnadmittedWorkloadsExplicitStatus:                 {PreRelease: featuregate.Beta},                                   // 0.19 Beta off
	UnadmittedWorkloadsObservability:                  {Default: true, PreRelease: featuregate.Beta},                    // 0.19 Beta
	ValidateRayAndSparkJobUpdates:                     {Default: true, PreRelease: featuregate.Beta},                    // 0.18 Beta
	VectorizedResourceRequests:                        {Default: true, PreRelease: featuregate.Beta},                    // 0.19 Beta
	VisibilityOnDemand:                                {Default: true, PreRelease: featuregate.Beta},                    // 0.6 Alpha off to 0.9 Beta
	WorkloadIdentifierAnnotations:                     {Default: true, PreRelease: featuregate.Beta},                    // 0.18 Beta
	WorkloadPriorityClassDefaulting:                   {Default: true, PreRelease: featuregate.Beta},                    // 0.18 Alpha off to 0.20 Beta
	WorkloadRequestUseMergePatch:                      {PreRelease: featuregate.Alpha},                                  // 0.14 Alpha off
	WorkloadValidateResourcesAreNonNegative:           {Default: true, PreRelease: featuregate.Beta},                    // 0.20 Beta
	WorkloadValidationForPodSetMetadata:               {Default: true, PreRelease: featuregate.Beta},                    // 0.20 Beta
}

// required are the gates that must be on as well.
var required = map[Name][]Name{
	ElasticJobsViaWorkloadSlicesWithTAS:         {ElasticJobsViaWorkloadSlices, TopologyAwareScheduling},
	FlavorFungibilityPreserveScanProgress:       {FlavorFungibility},
	KueueDRAIntegrationConsumableCapacity:       {KueueDRAIntegration},
	KueueDRAIntegrationExtendedResource:         {KueueDRAIntegration},
	KueueDRAIntegrationPartitionableDevices:     {KueueDRAIntegration},
	TASBalancedPlacement:                        {TopologyAwareScheduling},
	TASFailedNodeReplacement:                    {TopologyAwareScheduling},
	TASFailedNodeReplacementFailFast:            {TopologyAwareScheduling, TASFailedNodeReplacement},
	TASHandleOverlappingFlavors:                 {TopologyAwareScheduling},
	TASMultiLayerTopology:                       {TopologyAwareScheduling},
	TASProfileMixed:                             {TopologyAwareScheduling},
	TASRecomputeAssignmentWithinSchedulingCycle: {TopologyAwareScheduling},
	TASReplaceNodeDueToNotReadyOverFixedTime:    {TopologyAwareScheduling, TASFailedNodeReplacement},
	TASReplaceNodeOnNodeTaints:                  {TopologyAwareScheduling},
	TASReplaceNodeOnPodTermination:              {TopologyAwareScheduling, TASFailedNodeReplacement},
	TASRespectNodeAffinityPreferred:             {TopologyAwareScheduling},
	UnadmittedWorkloadsExplicitStatus:           {UnadmittedWorkloadsObservability},
}
