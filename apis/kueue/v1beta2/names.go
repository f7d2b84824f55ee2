package v1beta2

// Finalizers, gates, controllers and field managers (contract: kueue-api.md 2.3 to 2.5).
const (
	// ResourceInUseFinalizer keeps a Workload, ClusterQueue, ResourceFlavor,
	// AdmissionCheck or Topology until nothing needs it any more.
	ResourceInUseFinalizer = "kueue.x-k8s.io/resource-in-use"
	// ManagedFinalizer keeps a pod until its group needs it no more.
	ManagedFinalizer = "kueue.x-k8s.io/managed"

	// AdmissionSchedulingGate keeps a pod from being scheduled until it is admitted.
	AdmissionSchedulingGate = "kueue.x-k8s.io/admission"
	// TopologySchedulingGate keeps a pod from being scheduled until it has a place.
	TopologySchedulingGate = "kueue.x-k8s.io/topology"
	// ElasticJobSchedulingGate keeps a pod of an elastic job from being scheduled
	// until its slice is admitted.
	ElasticJobSchedulingGate = "kueue.x-k8s.io/elastic-job"
	// MultiKueuePreemptionGate keeps a remote workload from preempting until the hub opens it.
	MultiKueuePreemptionGate = "kueue.x-k8s.io/multikueue"
	// ConcurrentAdmissionPreemptionGate keeps a variant from preempting.
	ConcurrentAdmissionPreemptionGate = "kueue.x-k8s.io/concurrent-admission"

	// MultiKueueControllerName names the multikueue check: as controllerName of an
	// AdmissionCheck, as managedBy of a job, as manager of the check's state.
	MultiKueueControllerName = "kueue.x-k8s.io/multikueue"
	// ProvisioningRequestControllerName names the provisioning check in the same places.
	ProvisioningRequestControllerName = "kueue.x-k8s.io/provisioning-request"
	// AllAtOnceDispatcherName nominates all clusters together; it is the default.
	AllAtOnceDispatcherName = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once"
	// IncrementalDispatcherName nominates more and more clusters.
	IncrementalDispatcherName = "kueue.x-k8s.io/multikueue-dispatcher-incremental"
	// ManagerName is the manager of an entry in a TrainJob's spec.runtimePatches.
	ManagerName = "kueue.x-k8s.io/manager"

	// AdmissionManager is the field manager of the admission status of a Workload (forced).
	AdmissionManager = "kueue-admission"
	// ReclaimablePodsManager is the field manager of reclaimablePods.
	ReclaimablePodsManager = "kueue-reclaimable-pods"
	// JobControllerManagerPrefix and a condition type are the field manager of a
	// condition that is fed by a job.
	JobControllerManagerPrefix = "kueue-job-controller-"
	// WorkloadControllerManager is the event source of the Workload controller.
	WorkloadControllerManager = "kueue-workload-controller"
	// PodTerminationControllerManager is the event source of the pod termination controller.
	PodTerminationControllerManager = "kueue-pod-termination-controller"
	// KueueManager is the field manager and event source of everything else.
	KueueManager = "kueue"
	// LeaderElectionID is the name of the Lease that leaders hold.
	LeaderElectionID = "c1f6bfd2.kueue.x-k8s.io"

	// MultiKueueConfigSecretKey is the key of a kubeconfig in a Secret.
	MultiKueueConfigSecretKey = "kubeconfig"
	// MultiKueueKubeConfigPathPrefix is the directory below which kubeconfig files are allowed.
	MultiKueueKubeConfigPathPrefix = "/etc/multikueue/kubeconfigs"
	// UntrackedMetricLabelValue stands for a custom metric label that is not tracked.
	UntrackedMetricLabelValue = "kueue.x-k8s.io/_UNTRACKED_VALUE_"
)
