package features

// Why a gate changes nothing.
const (
	noTopologies = "no places are chosen for pods in topologies yet"
	noDevices    = "resource claims and device classes are not counted against quota yet"
	noSlices     = "slices of elastic jobs have no places in topologies yet"
	cachesOnly   = "it would only choose between ways to get to the same result"
	alwaysSo     = "it is always so"
)

// idle has every gate that nothing reads: they are accepted, so that configurations of the public API start, and change nothing.
var idle = map[Name]string{
	CleanupProvisioningRequestsOnEviction:           "there is no check for ProvisioningRequests yet",
	ElasticJobsViaWorkloadSlicesWithTAS:             noSlices,
	FailureRecoveryPolicy:                           "pods that are stuck are not deleted yet",
	FlavorFungibilityPreserveScanProgress:           "no scan of flavors is left half done",
	KueueDRAIntegration:                             noDevices,
	KueueDRAIntegrationConsumableCapacity:           noDevices,
	KueueDRAIntegrationExtendedResource:             noDevices,
	KueueDRAIntegrationPartitionableDevices:         noDevices,
	KueueDRARejectWorkloadsWhenDRADisabled:          noDevices,
	ManagedJobsNamespaceSelectorAlwaysRespected:     alwaysSo,
	RecomputeAssignmentUponPreemptionTargetsOverlap: "victims are always chosen with those of others in view",
	RemoveFinalizersWithStrictPatch:                 alwaysSo,
	SchedulerLibraryIntegration:                     cachesOnly,
	SchedulingEquivalenceHashing:                    "workloads that ask for the same are always parked together",
	SkipAncestorCheckForDeletedWorkloads:            alwaysSo,
	TASAssignmentsEncodingByHostnamePrefix:          noTopologies,
	TASBalancedPlacement:                            noTopologies,
	TASCacheNodeMatchResults:                        noTopologies,
	TASCacheTopologyTree:                            noTopologies,
	TASCachingRemainingResources:                    noTopologies,
	TASFailedNodeReplacement:                        noTopologies,
	TASFailedNodeReplacementFailFast:                noTopologies,
	TASHandleOverlappingFlavors:                     noTopologies,
	TASProfileMixed:                                 noTopologies,
	TASRecomputeAssignmentWithinSchedulingCycle:     noTopologies,
	TASReplaceNodeDueToNotReadyOverFixedTime:        noTopologies,
	TASReplaceNodeOnNodeTaints:                      noTopologies,
	TASReplaceNodeOnPodTermination:                  noTopologies,
	TASRespectNodeAffinityPreferred:                 noTopologies,
	TLSOptions:                                      alwaysSo,
	VectorizedResourceRequests:                      cachesOnly,
	WorkloadRequestUseMergePatch:                    cachesOnly,
}

// Idle says why a gate changes nothing; empty for a gate that does.
func Idle(name Name) string { return idle[name] }

// Unheeded lists the gates that were set to another value than their default although that changes nothing, sorted.
func (s Set) Unheeded() []Name {
	var names []Name
	for _, name := range Names() {
		if Idle(name) != "" && s.Enabled(name) != specs[name].Default {
			names = append(names, name)
		}
	}
	return names
}
