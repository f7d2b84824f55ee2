package v1beta2

// Reasons of Active on a ClusterQueue, a LocalQueue, an AdmissionCheck and a
// MultiKueueCluster (contract: kueue-api.md 1.13).
const (
	// ReasonReady: the queue can admit.
	ReasonReady Reason = "Ready"
	// ReasonTerminating: the queue is being deleted.
	ReasonTerminating Reason = "Terminating"
	// ReasonStopped: the stop policy stops the queue.
	ReasonStopped Reason = "Stopped"
	// ReasonFlavorNotFound: a flavor of the queue does not exist.
	ReasonFlavorNotFound Reason = "FlavorNotFound"
	// ReasonTopologyNotFound: the topology of a flavor of the queue does not exist.
	ReasonTopologyNotFound Reason = "TopologyNotFound"
	// ReasonAdmissionCheckNotFound: a check of the queue does not exist.
	ReasonAdmissionCheckNotFound Reason = "AdmissionCheckNotFound"
	// ReasonAdmissionCheckInactive: a check of the queue cannot be used.
	ReasonAdmissionCheckInactive Reason = "AdmissionCheckInactive"
	// ReasonMultipleMultiKueueAdmissionChecks: the queue has more than one multikueue check.
	ReasonMultipleMultiKueueAdmissionChecks Reason = "MultipleMultiKueueAdmissionChecks"
	// ReasonMultiKueueAdmissionCheckAppliedPerFlavor: a multikueue check is restricted to flavors.
	ReasonMultiKueueAdmissionCheckAppliedPerFlavor Reason = "MultiKueueAdmissionCheckAppliedPerFlavor"
	// ReasonMultiKueueWithProvisioningRequest: the queue has both kinds of check.
	ReasonMultiKueueWithProvisioningRequest Reason = "MultiKueueWithProvisioningRequest"
	// ReasonNotFound: something the queue needs does not exist.
	ReasonNotFound Reason = "NotFound"
	// ReasonUnknown: why the queue cannot admit is not known.
	ReasonUnknown Reason = "Unknown"

	// ReasonClusterQueueIsInactive: the ClusterQueue behind the LocalQueue cannot admit.
	ReasonClusterQueueIsInactive Reason = "ClusterQueueIsInactive"
	// ReasonClusterQueueDoesNotExist: there is no ClusterQueue behind the LocalQueue.
	ReasonClusterQueueDoesNotExist Reason = "ClusterQueueDoesNotExist"

	// ReasonActive: the check, or the connection to the cluster, works.
	ReasonActive Reason = "Active"
	// ReasonSomeActiveClusters: some clusters of the check work and some do not.
	ReasonSomeActiveClusters Reason = "SomeActiveClusters"
	// ReasonNoUsableClusters: no cluster of the check works.
	ReasonNoUsableClusters Reason = "NoUsableClusters"
	// ReasonBadConfig: the config of the check is missing or wrong.
	ReasonBadConfig Reason = "BadConfig"
	// ReasonBadParametersRef: the parameters of the check are missing or wrong.
	ReasonBadParametersRef Reason = "BadParametersRef"

	// ReasonClientConnectionFailed: the cluster could not be reached.
	ReasonClientConnectionFailed Reason = "ClientConnectionFailed"
	// ReasonBadKubeConfig: the kubeconfig is missing or cannot be read.
	ReasonBadKubeConfig Reason = "BadKubeConfig"
	// ReasonInsecureKubeConfig: the kubeconfig holds what is not allowed.
	ReasonInsecureKubeConfig Reason = "InsecureKubeConfig"
	// ReasonBadClusterProfile: the cluster profile is missing or gives no access.
	ReasonBadClusterProfile Reason = "BadClusterProfile"
	// ReasonBadRestConfig: what the cluster profile gives cannot be used.
	ReasonBadRestConfig Reason = "BadRestConfig"
	// ReasonMultiKueueClusterProfileFeatureDisabled: cluster profiles are switched off.
	ReasonMultiKueueClusterProfileFeatureDisabled Reason = "MultiKueueClusterProfileFeatureDisabled"

	// ReasonQuotaAutomated: the quota is the sum of the workers' quotas.
	ReasonQuotaAutomated Reason = "QuotaAutomated"
	// ReasonNotRequested: the quota is kept by hand.
	ReasonNotRequested Reason = "NotRequested"
	// ReasonUnsupportedConfiguration: the quota cannot be derived from the workers.
	ReasonUnsupportedConfiguration Reason = "UnsupportedConfiguration"
)

// Reasons of conditions on objects of other groups.
const (
	// ReasonUnschedulableOnAssignedNode: a pod waits for a node that cannot take it.
	ReasonUnschedulableOnAssignedNode Reason = "UnschedulableOnAssignedNode"
	// ReasonKueueForcefullyDeleted: a pod was deleted by force.
	ReasonKueueForcefullyDeleted Reason = "KueueForcefullyDeleted"
	// ReasonMultiKueueAdapter: the hub says that a mirrored job is suspended.
	ReasonMultiKueueAdapter Reason = "MultiKueueAdapter"
)
