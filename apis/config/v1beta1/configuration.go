// Package v1beta1 is the older version of the configuration file: what differs
// from v1beta2 and how it is turned into that (contract: kueue-api.md 7, last
// paragraphs). Stanzas that did not change are those of v1beta2.
//
// Invariant: Convert also fills the defaults that are this version's own, so
// that an absent field keeps the meaning it had when the file was written.
package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	componentconfig "k8s.io/component-base/config/v1alpha1"

	"switchyard.dev/apis/config/v1beta2"
)

// GroupVersion names the group and version of the file.
var GroupVersion = schema.GroupVersion{Group: "config.kueue.x-k8s.io", Version: "v1beta1"}

// Configuration is the whole file.
type Configuration struct {
	metav1.TypeMeta `json:",inline"`

	// Fields that mean the same in v1beta2.

	Namespace                    *string                                      `json:"namespace,omitempty"`
	Webhook                      v1beta2.Webhook                              `json:"webhook,omitempty"`
	Health                       v1beta2.Health                               `json:"health,omitempty"`
	PprofBindAddress             string                                       `json:"pprofBindAddress,omitempty"`
	LeaderElection               *componentconfig.LeaderElectionConfiguration `json:"leaderElection,omitempty"`
	Controller                   *v1beta2.Controller                          `json:"controller,omitempty"`
	TLS                          *v1beta2.TLS                                 `json:"tls,omitempty"`
	ManageJobsWithoutQueueName   bool                                         `json:"manageJobsWithoutQueueName,omitempty"`
	ManagedJobsNamespaceSelector *metav1.LabelSelector                        `json:"managedJobsNamespaceSelector,omitempty"`
	InternalCertManagement       *v1beta2.InternalCertManagement              `json:"internalCertManagement,omitempty"`
	ClientConnection             *v1beta2.ClientConnection                    `json:"clientConnection,omitempty"`
	AdmissionFairSharing         *v1beta2.AdmissionFairSharing                `json:"admissionFairSharing,omitempty"`
	FeatureGates                 map[string]bool                              `json:"featureGates,omitempty"`
	ObjectRetentionPolicies      *v1beta2.ObjectRetentionPolicies             `json:"objectRetentionPolicies,omitempty"`

	// Metrics without the parts of custom labels that came later.
	Metrics Metrics `json:"metrics,omitempty"`
	// WaitForPodsReady is off unless enabled.
	WaitForPodsReady *WaitForPodsReady `json:"waitForPodsReady,omitempty"`
	// Integrations with options of the pod integration.
	Integrations *Integrations `json:"integrations,omitempty"`
	// QueueVisibility is read and has no effect: the feature is gone.
	QueueVisibility *QueueVisibility `json:"queueVisibility,omitempty"`
	// MultiKueue without what came later.
	MultiKueue *MultiKueue `json:"multiKueue,omitempty"`
	// FairSharing is off unless enabled.
	FairSharing *FairSharing `json:"fairSharing,omitempty"`
	// Resources without what came later.
	Resources *Resources `json:"resources,omitempty"`
}

// Metrics is what is measured and where it is served.
type Metrics struct {
	BindAddress                 string                     `json:"bindAddress,omitempty"`
	EnableClusterQueueResources bool                       `json:"enableClusterQueueResources,omitempty"`
	CustomLabels                []CustomLabel              `json:"customLabels,omitempty"`
	LocalQueueMetrics           *v1beta2.LocalQueueMetrics `json:"localQueueMetrics,omitempty"`
}

// CustomLabel is a metric label that is taken from a ClusterQueue.
type CustomLabel struct {
	Name                string `json:"name"`
	SourceLabelKey      string `json:"sourceLabelKey,omitempty"`
	SourceAnnotationKey string `json:"sourceAnnotationKey,omitempty"`
}

// WaitForPodsReady watches over the start of jobs.
type WaitForPodsReady struct {
	// Enable it; absent, it is off.
	Enable bool `json:"enable,omitempty"`
	// Timeout as in v1beta2; absent, 5 minutes.
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// BlockAdmission as in v1beta2; absent, true.
	BlockAdmission    *bool                      `json:"blockAdmission,omitempty"`
	RequeuingStrategy *v1beta2.RequeuingStrategy `json:"requeuingStrategy,omitempty"`
	// RecoveryTimeout as in v1beta2; absent, Timeout.
	RecoveryTimeout *metav1.Duration `json:"recoveryTimeout,omitempty"`
}

// Integrations are the kinds of job.
type Integrations struct {
	Frameworks         []string `json:"frameworks,omitempty"`
	ExternalFrameworks []string `json:"externalFrameworks,omitempty"`
	// PodOptions restricts the pod integration.
	PodOptions      *PodIntegrationOptions `json:"podOptions,omitempty"`
	LabelKeysToCopy []string               `json:"labelKeysToCopy,omitempty"`
}

// PodIntegrationOptions restricts the pod integration.
type PodIntegrationOptions struct {
	// NamespaceSelector becomes the ManagedJobsNamespaceSelector when that is absent.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// PodSelector is read and has no effect: v1beta2 has no word for it.
	PodSelector *metav1.LabelSelector `json:"podSelector,omitempty"`
}

// QueueVisibility is a feature that is gone.
type QueueVisibility struct {
	ClusterQueues         *ClusterQueueVisibility `json:"clusterQueues,omitempty"`
	UpdateIntervalSeconds int32                   `json:"updateIntervalSeconds,omitempty"`
}

// ClusterQueueVisibility is a feature that is gone.
type ClusterQueueVisibility struct {
	MaxCount int32 `json:"maxCount,omitempty"`
}

// MultiKueue is the dispatch to worker clusters.
type MultiKueue struct {
	GCInterval         *metav1.Duration                      `json:"gcInterval,omitempty"`
	Origin             *string                               `json:"origin,omitempty"`
	WorkerLostTimeout  *metav1.Duration                      `json:"workerLostTimeout,omitempty"`
	DispatcherName     *string                               `json:"dispatcherName,omitempty"`
	ExternalFrameworks []v1beta2.MultiKueueExternalFramework `json:"externalFrameworks,omitempty"`
}

// FairSharing is on when it is enabled.
type FairSharing struct {
	Enable               bool                         `json:"enable"`
	PreemptionStrategies []v1beta2.PreemptionStrategy `json:"preemptionStrategies,omitempty"`
}

// Resources says how requests are counted.
type Resources struct {
	ExcludeResourcePrefixes []string                         `json:"excludeResourcePrefixes,omitempty"`
	Transformations         []v1beta2.ResourceTransformation `json:"transformations,omitempty"`
	DeviceClassMappings     []DeviceClassMapping             `json:"deviceClassMappings,omitempty"`
}

// DeviceClassMapping counts devices of some classes as one resource.
type DeviceClassMapping struct {
	Name             corev1.ResourceName   `json:"name"`
	DeviceClassNames []corev1.ResourceName `json:"deviceClassNames"`
}
