package resource

import (
	"context"
	"encoding/json"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/kubeclient"
	"switchyard.dev/cmd/switchctl/show"
)

// readPositions are those of the pending workloads in their ClusterQueues, by namespace/name. A hub that does not serve them, or
// not to this user, leaves the column empty.
func readPositions(ctx context.Context, a *cli.App, hub *kubeclient.Client, workloads []kueue.Workload, queues show.Queues) map[string]int {
	found, asked := map[string]int{}, map[string]bool{}
	for i := range workloads {
		queue := queues.ClusterQueueFor(&workloads[i])
		if queue == "" || asked[queue] || show.WorkloadStatus(&workloads[i]) != show.Pending {
			continue
		}
		asked[queue] = true
		raw, err := a.PendingWorkloads(ctx, hub, queue)
		if err != nil {
			return nil
		}
		for name, at := range parsePending(raw) {
			found[name] = at
		}
	}
	return found
}

// parsePending reads an answer of the visibility API; nothing if it cannot be read. Positions count from 0.
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
