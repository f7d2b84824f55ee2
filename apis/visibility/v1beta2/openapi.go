package v1beta2

// modelPrefix begins the names of the types in OpenAPI.
const modelPrefix = "io.x-k8s.kueue.visibility.v1beta2."

// OpenAPIModelName is the name of the type in OpenAPI.
func (ClusterQueue) OpenAPIModelName() string { return modelPrefix + "ClusterQueue" }

// OpenAPIModelName is the name of the type in OpenAPI.
func (ClusterQueueList) OpenAPIModelName() string { return modelPrefix + "ClusterQueueList" }

// OpenAPIModelName is the name of the type in OpenAPI.
func (LocalQueue) OpenAPIModelName() string { return modelPrefix + "LocalQueue" }

// OpenAPIModelName is the name of the type in OpenAPI.
func (LocalQueueList) OpenAPIModelName() string { return modelPrefix + "LocalQueueList" }

// OpenAPIModelName is the name of the type in OpenAPI.
func (PendingWorkload) OpenAPIModelName() string { return modelPrefix + "PendingWorkload" }

// OpenAPIModelName is the name of the type in OpenAPI.
func (PendingWorkloadsSummary) OpenAPIModelName() string {
	return modelPrefix + "PendingWorkloadsSummary"
}

// OpenAPIModelName is the name of the type in OpenAPI.
func (PendingWorkloadOptions) OpenAPIModelName() string {
	return modelPrefix + "PendingWorkloadOptions"
}
