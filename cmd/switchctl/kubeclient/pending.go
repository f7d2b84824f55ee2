package kubeclient

import (
	"context"
	"strconv"

	"k8s.io/client-go/rest"

	visibility "switchyard.dev/apis/visibility/v1beta2"
)

// pendingPath is where a hub that serves the visibility API lists the pending workloads of queues (contract: kueue-api.md 1.17).
const pendingPath = "/apis/visibility.kueue.x-k8s.io/v1beta2"

// PendingInClusterQueue is the path of what waits in a ClusterQueue.
func PendingInClusterQueue(name string) []string {
	return []string{"clusterqueues", name, "pendingworkloads"}
}

// PendingInLocalQueue is the path of what waits in a LocalQueue.
func PendingInLocalQueue(namespace, name string) []string {
	return []string{"namespaces", namespace, "localqueues", name, "pendingworkloads"}
}

// RequestPendingWorkloads asks the visibility API for what waits in a queue, as much as it gives at a time.
func RequestPendingWorkloads(ctx context.Context, hub *Client, path ...string) ([]byte, error) {
	api, ok := hub.Kube.CoreV1().RESTClient().(*rest.RESTClient)
	if !ok || api == nil {
		return nil, context.Canceled
	}
	return api.Get().AbsPath(append([]string{pendingPath}, path...)...).Param("limit", strconv.Itoa(visibility.MaxLimit)).DoRaw(ctx)
}
