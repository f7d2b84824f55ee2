package kubeclient

import (
	"context"

	"k8s.io/client-go/rest"
)

// pendingPath is where a hub that serves the visibility API lists the pending workloads of a ClusterQueue (contract:
// kueue-api.md 1.17).
const pendingPath = "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/"

// RequestPendingWorkloads asks the visibility API.
func RequestPendingWorkloads(ctx context.Context, hub *Client, queue string) ([]byte, error) {
	api, ok := hub.Kube.CoreV1().RESTClient().(*rest.RESTClient)
	if !ok || api == nil {
		return nil, context.Canceled
	}
	return api.Get().AbsPath(pendingPath + queue + "/pendingworkloads").DoRaw(ctx)
}
