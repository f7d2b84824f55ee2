package features

// Stage is how mature a feature is.
type Stage string

// The stages. Only Alpha and Beta can be switched as a group, by AllAlpha and AllBeta.
const (
	Alpha      Stage = "Alpha"
	Beta       Stage = "Beta"
	GA         Stage = "GA"
	Deprecated Stage = "Deprecated"
)

// Gate is what is known of one feature gate.
type Gate struct {
	// Default is whether it is on when nobody says anything.
	Default bool
	// Stage is how mature it is.
	Stage Stage
	// Locked gates accept no value but their default.
	Locked bool
	// Since is the history of stages by minor version of the public API's
	// reference implementation, for clients that ask.
	Since string
	// Requires are gates that must be on as well.
	Requires []Name
}

// known are all gates. It is data, never written to.
var known = map[Name]Gate{
	AdmissionFairSharing:                              {Default: true, Stage: Beta, Since: "0.12 Alpha off to 0.15 Beta"},
	AdmissionGatedBy:                                  {Default: true, Stage: Beta, Since: "0.17 Alpha off to 0.19 Beta"},
	AssignQueueLabelsForPods:                          {Default: true, Stage: Beta, Since: "0.17 Beta"},
	CleanupProvisioningRequestsOnEviction:             {Default: true, Stage: Beta, Since: "0.19 Beta"},
	ConcurrentAdmission:                               {Stage: Alpha, Since: "0.18 Alpha off"},
	CustomMetricLabels:                                {Stage: Alpha, Since: "0.17 Alpha off"},
	DeferRayServiceFinalizationForRedisCleanup:        {Default: true, Stage: Beta, Since: "0.19 Beta"},
	DisableWaitForPodsReady:                           {Stage: Alpha, Since: "0.19 Alpha off"},
	ElasticJobsViaWorkloadSlices:                      {Default: true, Stage: Beta, Since: "0.13 Alpha off to 0.18 Beta"},
	ElasticJobsViaWorkloadSlicesWithTAS:               {Stage: Alpha, Since: "0.17 Alpha off", Requires: []Name{ElasticJobsViaWorkloadSlices, TopologyAwareScheduling}},
	FailureRecoveryPolicy:                             {Stage: Alpha, Since: "0.15 Alpha off"},
	FairSharingPreemptWithinNominal:                   {Default: true, Stage: Beta, Since: "0.17 Beta"},
	FairSharingPrioritizeNonBorrowing:                 {Default: true, Stage: Beta, Since: "0.17 Beta"},
	FastQuotaReleaseInPodIntegration:                  {Stage: Alpha, Since: "0.17 Alpha off"},
	FinishOrphanedWorkloads:                           {Default: true, Stage: Beta, Since: "0.18 Beta"},
	FlavorFungibility:                                 {Default: true, Stage: Beta, Since: "0.5 Beta"},
	FlavorFungibilityPreserveScanProgress:             {Default: true, Stage: Beta, Since: "0.20 Beta", Requires: []Name{FlavorFungibility}},
	KueueDRAIntegration:                               {Default: true, Stage: Beta, Since: "0.18 Beta"},
	KueueDRAIntegrationConsumableCapacity:             {Stage: Alpha, Since: "0.19 Alpha off", Requires: []Name{KueueDRAIntegration}},
	KueueDRAIntegrationExtendedResource:               {Default: true, Stage: Beta, Since: "0.18 Alpha off to 0.19 Beta", Requires: []Name{KueueDRAIntegration}},
	KueueDRAIntegrationPartitionableDevices:           {Default: true, Stage: Beta, Since: "0.18 Alpha off to 0.19 Beta", Requires: []Name{KueueDRAIntegration}},
	KueueDRARejectWorkloadsWhenDRADisabled:            {Default: true, Stage: Beta, Since: "0.18 Beta"},
	LWSImmutableGroupSize:                             {Default: true, Stage: Beta, Since: "0.20 Beta"},
	LocalQueueMetrics:                                 {Default: true, Stage: Beta, Since: "0.10 Alpha off to 0.17 Beta"},
	ManagedJobsNamespaceSelectorAlwaysRespected:       {Default: true, Stage: GA, Locked: true, Since: "0.13 Alpha off to 0.15 Beta to 0.19 GA"},
	MetricForWorkloadCreationLatency:                  {Default: true, Stage: Beta, Since: "0.18 Beta"},
	MetricsForCohorts:                                 {Default: true, Stage: Beta, Since: "0.18 Beta"},
	MultiKueue:                                        {Default: true, Stage: Beta, Since: "0.6 Alpha off to 0.9 Beta"},
	MultiKueueAdaptersForCustomJobs:                   {Default: true, Stage: Beta, Since: "0.14 Alpha off to 0.15 Beta"},
	MultiKueueClusterProfile:                          {Stage: Alpha, Since: "0.15 Alpha off"},
	MultiKueueIncrementalDispatcherConfig:             {Default: true, Stage: Beta, Since: "0.19 Beta"},
	MultiKueueIncrementalDispatcherRespectConfigOrder: {Default: true, Stage: Beta, Since: "0.19 Beta"},
	MultiKueueKubeConfigPathValidation:                {Default: true, Stage: Beta, Since: "0.19 Alpha off to 0.20 Beta"},
	MultiKueueManagerQuotaAutomation:                  {Stage: Alpha, Since: "0.18 Alpha off"},
	MultiKueueOrchestratedPreemption:                  {Stage: Alpha, Since: "0.17 Alpha off"},
	MultiKueueRemoteSpecSync:                          {Default: true, Stage: Beta, Since: "0.20 Beta"},
	PartialAdmission:                                  {Default: true, Stage: Beta, Since: "0.4 Alpha off to 0.5 Beta"},
	PodIntegrationValidateGroupOwner:                  {Default: true, Stage: Beta, Since: "0.18 Beta"},
	PrioritizePreemptorWorkloads:                      {Stage: Alpha, Since: "0.20 Alpha off"},
	PriorityBoost:                                     {Stage: Alpha, Since: "0.17 Alpha off"},
	PrioritySortingWithinCohort:                       {Default: true, Stage: Beta, Since: "0.6 Beta"},
	QuotaCheckStrategy:                                {Default: true, Stage: Beta, Since: "0.18 Alpha off to 0.19 Beta"},
	ReclaimablePods:                                   {Default: true, Stage: Beta, Since: "0.15 Beta"},
	RecomputeAssignmentUponPreemptionTargetsOverlap:   {Default: true, Stage: Beta, Since: "0.20 Beta"},
	RejectUpdatesToCQWithInvalidOnFlavors:             {Stage: Alpha, Since: "0.18 Alpha off"},
	RemoveFinalizersWithStrictPatch:                   {Default: true, Stage: Beta, Since: "0.17 Beta"},
	SchedulerLibraryIntegration:                       {Stage: Alpha, Since: "0.19 Alpha off"},
	SchedulingEquivalenceHashing:                      {Default: true, Stage: Beta, Since: "0.17 Beta off to 0.18 Beta"},
	ShortWorkloadNames:                                {Stage: Alpha, Since: "0.17 Alpha off"},
	SkipAncestorCheckForDeletedWorkloads:              {Default: true, Stage: Beta, Since: "0.20 Beta"},
	SkipReassignmentForPodOwnedWorkloads:              {Default: true, Stage: Beta, Since: "0.19 Beta"},
	SparkApplicationIntegration:                       {Stage: Alpha, Since: "0.17 Alpha off"},
	TASAssignmentsEncodingByHostnamePrefix:            {Default: true, Stage: Beta, Since: "0.19 Beta"},
	TASBalancedPlacement:                              {Stage: Alpha, Since: "0.15 Alpha off", Requires: []Name{TopologyAwareScheduling}},
	TASCacheNodeMatchResults:                          {Default: true, Stage: Beta, Since: "0.19 Beta"},
	TASCacheTopologyTree:                              {Default: true, Stage: Beta, Since: "0.20 Beta"},
	TASCachingRemainingResources:                      {Default: true, Stage: Beta, Since: "0.19 Beta"},
	TASFailedNodeReplacement:                          {Default: true, Stage: Beta, Since: "0.12 Alpha off to 0.14 Beta", Requires: []Name{TopologyAwareScheduling}},
	TASFailedNodeReplacementFailFast:                  {Default: true, Stage: Beta, Since: "0.13 Alpha off to 0.14 Beta", Requires: []Name{TopologyAwareScheduling, TASFailedNodeReplacement}},
	TASHandleOverlappingFlavors:                       {Default: true, Stage: Beta, Since: "0.18 Beta", Requires: []Name{TopologyAwareScheduling}},
	TASMultiLayerTopology:                             {Default: true, Stage: Beta, Since: "0.17 Alpha off to 0.19 Beta", Requires: []Name{TopologyAwareScheduling}},
	TASProfileMixed:                                   {Default: true, Stage: Beta, Since: "0.10 Alpha off to 0.15 Beta", Requires: []Name{TopologyAwareScheduling}},
	TASRecomputeAssignmentWithinSchedulingCycle:       {Default: true, Stage: Beta, Since: "0.19 Beta", Requires: []Name{TopologyAwareScheduling}},
	TASReplaceNodeDueToNotReadyOverFixedTime:          {Stage: Deprecated, Since: "0.17 Beta to 0.19 Deprecated off", Requires: []Name{TopologyAwareScheduling, TASFailedNodeReplacement}},
	TASReplaceNodeOnNodeTaints:                        {Default: true, Stage: Beta, Since: "0.17 Beta", Requires: []Name{TopologyAwareScheduling}},
	TASReplaceNodeOnPodTermination:                    {Default: true, Stage: Beta, Since: "0.13 Alpha off to 0.14 Beta", Requires: []Name{TopologyAwareScheduling, TASFailedNodeReplacement}},
	TASRespectNodeAffinityPreferred:                   {Stage: Alpha, Since: "0.18 Alpha off", Requires: []Name{TopologyAwareScheduling}},
	TASValidateWorkloadSliceSize:                      {Default: true, Stage: Beta, Since: "0.20 Beta"},
	TLSOptions:                                        {Default: true, Stage: GA, Locked: true, Since: "0.16 Beta to 0.20 GA"},
	TopologyAwareScheduling:                           {Default: true, Stage: Beta, Since: "0.9 Alpha off to 0.14 Beta"},
	UnadmittedWorkloadsExplicitStatus:                 {Stage: Beta, Since: "0.19 Beta off", Requires: []Name{UnadmittedWorkloadsObservability}},
	UnadmittedWorkloadsObservability:                  {Default: true, Stage: Beta, Since: "0.19 Beta"},
	ValidateRayAndSparkJobUpdates:                     {Default: true, Stage: Beta, Since: "0.18 Beta"},
	VectorizedResourceRequests:                        {Default: true, Stage: Beta, Since: "0.19 Beta"},
	VisibilityOnDemand:                                {Default: true, Stage: Beta, Since: "0.6 Alpha off to 0.9 Beta"},
	WorkloadIdentifierAnnotations:                     {Default: true, Stage: Beta, Since: "0.18 Beta"},
	WorkloadPriorityClassDefaulting:                   {Default: true, Stage: Beta, Since: "0.18 Alpha off to 0.20 Beta"},
	WorkloadRequestUseMergePatch:                      {Stage: Alpha, Since: "0.14 Alpha off"},
	WorkloadValidateResourcesAreNonNegative:           {Default: true, Stage: Beta, Since: "0.20 Beta"},
	WorkloadValidationForPodSetMetadata:               {Default: true, Stage: Beta, Since: "0.20 Beta"},
}
