package v1beta2

// Annotations (contract: kueue-api.md 2.2).
const (
	// PodGroupTotalCountAnnotation on a pod is the expected size of its group.
	PodGroupTotalCountAnnotation = "kueue.x-k8s.io/pod-group-total-count"
	// PodGroupFastAdmissionAnnotation admits a group when its first pod is seen.
	PodGroupFastAdmissionAnnotation = "kueue.x-k8s.io/pod-group-fast-admission"
	// PodGroupServingAnnotation marks a group that never finishes.
	PodGroupServingAnnotation = "kueue.x-k8s.io/pod-group-serving"
	// PodGroupPodIndexLabelAnnotation names the label that holds the rank of a pod.
	PodGroupPodIndexLabelAnnotation = "kueue.x-k8s.io/pod-group-pod-index-label"
	// PodSuspendingParentAnnotation names the integration that gates a pod.
	PodSuspendingParentAnnotation = "kueue.x-k8s.io/pod-suspending-parent"
	// RoleHashAnnotation on a pod is a hash of its shape and the name of its pod set.
	RoleHashAnnotation = "kueue.x-k8s.io/role-hash"
	// RetriableInGroupAnnotation = "false": the group ends when this pod terminates.
	RetriableInGroupAnnotation = "kueue.x-k8s.io/retriable-in-group"
	// IsGroupWorkloadAnnotation = "true" marks the Workload of a pod group.
	IsGroupWorkloadAnnotation = "kueue.x-k8s.io/is-group-workload"
	// AdmissionGatedByAnnotation lists, separated by commas, gates that keep a
	// workload from being queued. It can be emptied but not added to.
	AdmissionGatedByAnnotation = "kueue.x-k8s.io/admission-gated-by"
	// ElasticJobAnnotation = "true" allows a job to be scaled while it runs.
	ElasticJobAnnotation = "kueue.x-k8s.io/elastic-job"
	// WorkloadSliceNameAnnotation is the first slice of a chain.
	WorkloadSliceNameAnnotation = "kueue.x-k8s.io/workload-slice-name"
	// WorkloadSliceReplacementForAnnotation is the slice, as namespace/name, that this one replaces.
	WorkloadSliceReplacementForAnnotation = "kueue.x-k8s.io/workload-slice-replacement-for"
	// WorkloadAnnotation on a pod template is the name of the Workload.
	WorkloadAnnotation = "kueue.x-k8s.io/workload"
	// PodIndexOffsetAnnotation on a pod template is where ranks start.
	PodIndexOffsetAnnotation = "kueue.x-k8s.io/pod-index-offset"
	// PodSetRequiredTopologyAnnotation is a level that all pods must share a domain of.
	PodSetRequiredTopologyAnnotation = "kueue.x-k8s.io/podset-required-topology"
	// PodSetPreferredTopologyAnnotation is a level that all pods should share a domain of.
	PodSetPreferredTopologyAnnotation = "kueue.x-k8s.io/podset-preferred-topology"
	// PodSetUnconstrainedTopologyAnnotation = "true" asks for placement without a level.
	PodSetUnconstrainedTopologyAnnotation = "kueue.x-k8s.io/podset-unconstrained-topology"
	// PodSetSliceRequiredTopologyAnnotation is a level that the pods of a slice must share a domain of.
	PodSetSliceRequiredTopologyAnnotation = "kueue.x-k8s.io/podset-slice-required-topology"
	// PodSetSliceSizeAnnotation is the number of pods in a slice.
	PodSetSliceSizeAnnotation = "kueue.x-k8s.io/podset-slice-size"
	// PodSetSliceRequiredTopologyConstraintsAnnotation is a JSON array of
	// {topology,size}, one to three layers, outer to inner.
	PodSetSliceRequiredTopologyConstraintsAnnotation = "kueue.x-k8s.io/podset-slice-required-topology-constraints"
	// PodSetGroupNameAnnotation places two pod sets together.
	PodSetGroupNameAnnotation = "kueue.x-k8s.io/podset-group-name"
	// JobMinParallelismAnnotation on a batch Job is the least parallelism it can run with.
	JobMinParallelismAnnotation = "kueue.x-k8s.io/job-min-parallelism"
	// JobCompletionsEqualParallelismAnnotation = "true" keeps completions equal to parallelism.
	JobCompletionsEqualParallelismAnnotation = "kueue.x-k8s.io/job-completions-equal-parallelism"
	// StoppingAnnotation = "true" marks a batch Job between the two steps of a stop.
	StoppingAnnotation = "kueue.x-k8s.io/stopping"
	// JobOwnerGVKAnnotation on a Workload is the kind of an owner with several Workloads.
	JobOwnerGVKAnnotation = "kueue.x-k8s.io/job-owner-gvk"
	// JobOwnerNameAnnotation on a Workload is the name of an owner with several Workloads.
	JobOwnerNameAnnotation = "kueue.x-k8s.io/job-owner-name"
	// ComponentWorkloadIndexAnnotation on a Workload is its index among those of its owner.
	ComponentWorkloadIndexAnnotation = "kueue.x-k8s.io/component-workload-index"
	// RayClusterPodSetReplicaSizesAnnotation holds the sizes set by an autoscaler.
	RayClusterPodSetReplicaSizesAnnotation = "kueue.x-k8s.io/raycluster-podset-replica-sizes"
	// RayClusterGenerationAnnotation is the generation of the RayCluster behind a job.
	RayClusterGenerationAnnotation = "kueue.x-k8s.io/raycluster-generation"
	// PriorityBoostAnnotation on a Workload is a signed number added to its priority.
	PriorityBoostAnnotation = "kueue.x-k8s.io/priority-boost"
	// WorkloadAllowedResourceFlavorsAnnotation on a variant lists its flavors.
	WorkloadAllowedResourceFlavorsAnnotation = "kueue.x-k8s.io/workload-allowed-resource-flavors"
	// MultiKueueOriginUIDAnnotation on a remote object is the UID of the hub's object.
	MultiKueueOriginUIDAnnotation = "kueue.x-k8s.io/multikueue-origin-uid"
	// SafeToForcefullyDeleteAnnotation = "true" allows a pod to be deleted by force.
	SafeToForcefullyDeleteAnnotation = "kueue.x-k8s.io/safe-to-forcefully-delete"
	// ProvReqAnnotationPrefix on a job passes a parameter to its ProvisioningRequest.
	ProvReqAnnotationPrefix = "provreq.kueue.x-k8s.io/"
	// ConsumeProvisioningRequestAnnotation on a pod names its ProvisioningRequest.
	ConsumeProvisioningRequestAnnotation = "autoscaling.x-k8s.io/consume-provisioning-request"
	// ProvisioningClassNameAnnotation on a pod names the class of its ProvisioningRequest.
	ProvisioningClassNameAnnotation = "autoscaling.x-k8s.io/provisioning-class-name"
)
