package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Metrics is what is measured and where it is served.
type Metrics struct {
	// BindAddress is where it is served; "0" for nowhere.
	BindAddress string `json:"bindAddress,omitempty"`
	// EnableClusterQueueResources adds metrics of quotas and usages.
	EnableClusterQueueResources bool `json:"enableClusterQueueResources,omitempty"`
	// CustomLabels adds labels taken from objects (gate CustomMetricLabels).
	CustomLabels []CustomLabel `json:"customLabels,omitempty"`
	// LocalQueueMetrics are metrics of LocalQueues. Never nil after defaulting.
	LocalQueueMetrics *LocalQueueMetrics `json:"localQueueMetrics,omitempty"`
}

// LocalQueueMetrics are metrics of LocalQueues.
type LocalQueueMetrics struct {
	// Enable them. Never nil after defaulting.
	Enable *bool `json:"enable,omitempty"`
	// LocalQueueSelector selects LocalQueues; nil, all.
	LocalQueueSelector *metav1.LabelSelector `json:"localQueueSelector,omitempty"`
}

// CustomLabel is a metric label that is taken from an object.
type CustomLabel struct {
	// Name of the label.
	Name string `json:"name"`
	// SourceLabelKey is the label it is taken from.
	SourceLabelKey string `json:"sourceLabelKey,omitempty"`
	// SourceAnnotationKey is the annotation it is taken from.
	SourceAnnotationKey string `json:"sourceAnnotationKey,omitempty"`
	// SourceKind is the kind of the object.
	SourceKind SourceKind `json:"sourceKind,omitempty"`
	// TrackedValues are the values kept apart; all others are one.
	TrackedValues []string `json:"trackedValues,omitempty"`
}

// SourceKind is the kind of object that a custom label is taken from.
type SourceKind string

const (
	// SourceKindClusterQueue is also what empty means.
	SourceKindClusterQueue SourceKind = "ClusterQueue"
	// SourceKindLocalQueue takes the label from the LocalQueue.
	SourceKindLocalQueue SourceKind = "LocalQueue"
	// SourceKindCohort takes the label from the Cohort.
	SourceKindCohort SourceKind = "Cohort"
	// SourceKindWorkload takes the label from the Workload.
	SourceKindWorkload SourceKind = "Workload"
)
