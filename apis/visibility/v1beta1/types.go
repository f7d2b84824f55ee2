// Package v1beta1 is the older version of the API for pending workloads, for older clients. It differs from v1beta2 in name only,
// so that there is nothing to convert.
package v1beta1

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"switchyard.dev/apis/visibility/v1beta2"
)

// GroupVersion names the group and version under which the kinds are registered.
var GroupVersion = schema.GroupVersion{Group: v1beta2.GroupName, Version: "v1beta1"}

// The kinds of this version.
type (
	// ClusterQueue is that of v1beta2.
	ClusterQueue = v1beta2.ClusterQueue
	// ClusterQueueList is that of v1beta2.
	ClusterQueueList = v1beta2.ClusterQueueList
	// LocalQueue is that of v1beta2.
	LocalQueue = v1beta2.LocalQueue
	// LocalQueueList is that of v1beta2.
	LocalQueueList = v1beta2.LocalQueueList
	// PendingWorkload is that of v1beta2.
	PendingWorkload = v1beta2.PendingWorkload
	// PendingWorkloadsSummary is that of v1beta2.
	PendingWorkloadsSummary = v1beta2.PendingWorkloadsSummary
	// PendingWorkloadOptions is that of v1beta2.
	PendingWorkloadOptions = v1beta2.PendingWorkloadOptions
)

// AddToScheme registers all kinds of this version in a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	v1beta2.AddKnownTypes(scheme, GroupVersion)
	return nil
}
