package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterQueue is what one may ask about a ClusterQueue. It has no verbs of its own: see its subresource pendingworkloads.
//
// +kubebuilder:object:root=true
type ClusterQueue struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Summary is what waits in it.
	Summary PendingWorkloadsSummary `json:"pendingWorkloadsSummary"`
}

// ClusterQueueList is a list of ClusterQueues.
//
// +kubebuilder:object:root=true
type ClusterQueueList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ClusterQueue `json:"items"`
}

// LocalQueue is what one may ask about a LocalQueue. It has no verbs of its own: see its subresource pendingworkloads.
//
// +kubebuilder:object:root=true
type LocalQueue struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Summary is what waits in it.
	Summary PendingWorkloadsSummary `json:"pendingWorkloadsSummary"`
}

// LocalQueueList is a list of LocalQueues.
//
// +kubebuilder:object:root=true
type LocalQueueList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []LocalQueue `json:"items"`
}

// PendingWorkloadsSummary is part of what waits in a queue, in its order.
//
// +kubebuilder:object:root=true
type PendingWorkloadsSummary struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Items is never nil in an answer.
	Items []PendingWorkload `json:"items"`
}

// PendingWorkload is a workload that waits.
type PendingWorkload struct {
	// ObjectMeta has the name, namespace, creation time and owners of the workload, and no more.
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Priority is that of the specification, without a boost.
	Priority int32 `json:"priority"`
	// LocalQueueName is the LocalQueue that it came through.
	LocalQueueName string `json:"localQueueName"`
	// PositionInClusterQueue is how many wait before it in its ClusterQueue.
	PositionInClusterQueue int32 `json:"positionInClusterQueue"`
	// PositionInLocalQueue is how many of the same LocalQueue wait before it.
	PositionInLocalQueue int32 `json:"positionInLocalQueue"`
}

// PendingWorkloadOptions say which part of a queue is asked for.
//
// +kubebuilder:object:root=true
type PendingWorkloadOptions struct {
	metav1.TypeMeta `json:",inline"`

	// Offset is how many workloads to skip.
	Offset int64 `json:"offset"`
	// Limit is how many workloads to answer with at most; 0 stands for DefaultLimit.
	Limit int64 `json:"limit,omitempty"`
}
