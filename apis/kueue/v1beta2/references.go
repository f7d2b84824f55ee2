package v1beta2

// ClusterQueueReference is the name of a ClusterQueue.
//
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
type ClusterQueueReference string

// CohortReference is the name of a cohort; no Cohort object need exist for it.
//
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
type CohortReference string

// LocalQueueName is the name of a LocalQueue in the namespace of the object that names it.
//
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
type LocalQueueName string

// ResourceFlavorReference is the name of a ResourceFlavor.
//
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
type ResourceFlavorReference string

// TopologyReference is the name of a Topology.
//
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
type TopologyReference string

// AdmissionCheckReference is the name of an AdmissionCheck.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=316
type AdmissionCheckReference string

// PodSetReference is the name of a pod set, unique within one Workload.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
type PodSetReference string

// DefaultPodSetName is the name that a pod set gets when none is given.
const DefaultPodSetName PodSetReference = "main"

// StopPolicy says whether and how a queue is stopped.
//
// +kubebuilder:validation:Enum=None;Hold;HoldAndDrain
type StopPolicy string

const (
	// None lets the queue admit; it is also what an empty policy means.
	None StopPolicy = "None"
	// Hold stops new reservations and cancels those not yet admitted; admitted workloads run on.
	Hold StopPolicy = "Hold"
	// HoldAndDrain stops new reservations and evicts admitted workloads too.
	HoldAndDrain StopPolicy = "HoldAndDrain"
)

// Stops tells whether the policy keeps a queue from reserving quota.
func (p StopPolicy) Stops() bool { return p == Hold || p == HoldAndDrain }
