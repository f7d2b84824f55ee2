package main

import (
	"context"
	"encoding/json"

	"k8s.io/client-go/rest"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/show"
)

// pendingPath is where a hub that serves the visibility API lists the pending workloads of a ClusterQueue (contract:
// kueue-api.md 1.17).
const pendingPath = "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/"

// readPositions are those of the pending workloads in their ClusterQueues, by namespace/name. A hub that does not serve them, or
// not to this user, leaves the column empty.
func (a *app) readPositions(ctx context.Context, hub *kubeClient, workloads []kueue.Workload, queues show.Queues) map[string]int {
	found, asked := map[string]int{}, map[string]bool{}
	for i := range workloads {
		queue := queues.ClusterQueueFor(&workloads[i])
		if queue == "" || asked[queue] || show.WorkloadStatus(&workloads[i]) != show.Pending {
			continue
		}
		asked[queue] = true
		raw, err := a.pendingIn(ctx, hub, queue)
		if err != nil {
			return nil
		}
		for name, at := range parsePending(raw) {
			found[name] = at
		}
	}
	return found
}

// requestPending asks the visibility API.
func requestPending(ctx context.Context, hub *kubeClient, queue string) ([]byte, error) {
	api, ok := hub.kube.CoreV1().RESTClient().(*rest.RESTClient)
	if !ok || api == nil {
		return nil, context.Canceled
	}
	return api.Get().AbsPath(pendingPath + queue + "/pendingworkloads").DoRaw(ctx)
}

func parsePending(raw []byte) map[string]int {
	var summary struct {
		Items []struct {
			Metadata struct {
				Namespace string `json:"namespace"`
				Name      string `json:"name"`
			} `json:"metadata"`
			Position int `json:"positionInClusterQueue"`
		} `json:"items"`
	}
	found := map[string]int{}
	if err := json.Unmarshal(raw, &summary); err != nil {
		return found
	}
	for _, item := range summary.Items {
		found[item.Metadata.Namespace+"/"+item.Metadata.Name] = item.Position
	}
	return found
}
